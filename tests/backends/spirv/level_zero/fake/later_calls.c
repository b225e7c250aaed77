/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that are newer than Debian's headers: launches with arguments, regular lists executed by an immediate list,
 * clones. Table indexes and version numbers are from the specification.
 */
#include "fake.h"

#include <string.h>

struct group_size {
	uint32_t size[3];
};

/* Sets all arguments of the kernel. The values come without sizes; for local memory the value is the size. */
static ze_result_t set_values(ze_kernel_handle_t k, void **values)
{
	for (uint32_t i = 0; i < k->nargs; i++) {
		size_t size = k->pointer[i] ? sizeof(void *) : fake_value_size(k, i);
		ze_result_t err = size ? fake_set_value(k, i, size, values[i]) :
					 fake_set_value(k, i, *(size_t *)values[i], NULL);

		if (err)
			return err;
	}
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL append_parameters(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
						const ze_group_count_t *count, const void *more, ze_event_handle_t event,
						uint32_t n, ze_event_handle_t *wait)
{
	return fake_append(list, kernel, count, event, n, wait);
}

static ze_result_t ZE_APICALL append_arguments(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
					       ze_group_count_t count, struct group_size group, void **values, const void *more,
					       ze_event_handle_t event, uint32_t n, ze_event_handle_t *wait)
{
	ze_result_t err = set_values(kernel, values);

	memcpy(kernel->group, group.size, sizeof(kernel->group));
	return err ? err : fake_append(list, kernel, &count, event, n, wait);
}

static ze_result_t ZE_APICALL append_lists(ze_command_list_handle_t list, uint32_t n, ze_command_list_handle_t *lists,
					   ze_event_handle_t event, uint32_t nwait, ze_event_handle_t *wait)
{
	return list->immediate ? fake_execute(n, lists) : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

static ze_result_t ZE_APICALL append_lists_parameters(ze_command_list_handle_t list, uint32_t n,
						      ze_command_list_handle_t *lists, const void *more,
						      ze_event_handle_t event, uint32_t nwait, ze_event_handle_t *wait)
{
	return append_lists(list, n, lists, event, nwait, wait);
}

static ze_result_t ZE_APICALL clone(ze_command_list_handle_t from, ze_command_list_handle_t *to)
{
	*to = malloc(sizeof(**to));
	**to = *from;
	(*to)->commands = malloc((from->room + 1) * sizeof(*from->commands));
	memcpy((*to)->commands, from->commands, from->n * sizeof(*from->commands));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL list_synchronize(ze_command_list_handle_t list, uint64_t timeout)
{
	return ZE_RESULT_SUCCESS;
}

void fake_newer_lists(ze_api_version_t version, void **table)
{
	if (version >= ZE_MAKE_VERSION(1, 6))
		table[28] = list_synchronize;
	if (version >= ZE_MAKE_VERSION(1, 14)) {
		table[36] = append_parameters;
		table[37] = append_arguments;
	}
	if (version >= ZE_MAKE_VERSION(1, 16))
		table[40] = append_lists_parameters;
}

__attribute__((visibility("default"))) ze_result_t ZE_APICALL zeGetCommandListExpProcAddrTable(ze_api_version_t version,
												void **table);

ze_result_t ZE_APICALL zeGetCommandListExpProcAddrTable(ze_api_version_t version, void **table)
{
	table[0] = clone;
	table[1] = append_lists;
	return ZE_RESULT_SUCCESS;
}

/* ---- handles that start with a pointer to tables; the eleventh table is for command lists ---- */

static struct tables {
	ze_api_version_t version;
	uint8_t valid;
	void *table[34];
} tables = { ZE_MAKE_VERSION(1, 14), 1, { NULL } };

const void *fake_tables(void)
{
	static ze_command_list_dditable_t lists;

	fake_list_table(&lists);
	tables.table[11] = &lists;
	return &tables;
}

void fake_direct_handles(void *next)
{
	struct {
		ze_structure_type_t stype;
		void *next;
		uint32_t flags;
	} *p = next;

	for (; p; p = p->next)
		if (p->stype == 0x00020027)
			p->flags = 1;
}
