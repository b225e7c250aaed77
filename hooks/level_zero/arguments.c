/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles launch calls that carry pointers to the argument values. Only the driver knows the sizes of these values. For
 * a twin, the agent passes these pointers and pointers to the extra arguments. Such a call also sets the arguments on
 * the kernel, for later launches without arguments. So that the original has these arguments too, the agent first
 * appends the original with them to a command list that is never executed.
 */
#include "level_zero.h"

#include <stdlib.h>
#include <string.h>

#include "core/wire/checks.h"

#define COOPERATIVE 0x00020036 /* ZE_STRUCTURE_TYPE_COMMAND_LIST_APPEND_PARAM_COOPERATIVE_DESC */

struct cooperative {
	ze_structure_type_t stype;
	const void *next;
	ze_bool_t is;
};

bool lz_append_cooperative(const void *more)
{
	const struct cooperative *c = more;

	while (c && c->stype != COOPERATIVE)
		c = c->next;
	return c && c->is;
}

ze_result_t lz_append_values(const struct lz_append *a, ze_kernel_handle_t kernel, void **values)
{
	return a->driver->next.CommandListAppendLaunchKernelWithArguments(a->list, kernel, *a->groups, *a->size, values,
									  a->more, a->event, a->nwait, a->wait);
}

static ze_result_t set_original_args(const struct lz_append *a, struct lz_list *list)
{
	ze_command_list_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
					.commandQueueGroupOrdinal = list->ordinal };
	const struct lz_driver *d = a->driver;
	ze_result_t err = ZE_RESULT_SUCCESS;

	if (!list->scratch_list)
		err = d->next.CommandListCreate(list->context, list->device, &desc, &list->scratch_list);
	if (!err)
		err = d->next.CommandListAppendLaunchKernelWithArguments(list->scratch_list, a->original, *a->groups,
									 *a->size, a->values, NULL, NULL, 0, NULL);
	return err ? err : d->next.CommandListReset(list->scratch_list);
}

ze_result_t lz_append_values_twin(const struct lz_append *a, const struct gpubpf_hook_launch *l)
{
	struct lz_twin *twin = l->twin;
	uint32_t n = twin->kernel->nargs;
	void **values = n && !a->values ? NULL : calloc(n + 3, sizeof(*values));
	ze_result_t err;

	gpubpf_assert_held(&a->kernel->lock);
	if (!values)
		/* if a->values is NULL, the original's launch fails too, and the driver reports the error */
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	if (n)
		memcpy(values, a->values, n * sizeof(*values));
	if (l->twin_flags & GPUBPF_TWIN_ARG_ARENA)
		values[n++] = (void *)&l->arena;
	if (l->twin_flags & GPUBPF_TWIN_ARG_LAUNCH)
		values[n++] = (void *)&l->number;
	if (l->twin_flags & GPUBPF_TWIN_ARG_PID)
		values[n++] = (void *)&l->pid_tgid;
	err = set_original_args(a, a->in);
	if (!err)
		err = lz_append_values(a, twin->handle, values);
	free(values);
	return err;
}
