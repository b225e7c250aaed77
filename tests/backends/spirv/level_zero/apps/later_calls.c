/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls functions that are newer than Debian's loader: launches with arguments, lists executed by an immediate list,
 * clones. The program requests the function tables from the driver like a loader of version 1.16. With "mixed" as
 * argv[2], ordinary launches follow, which use the arguments that the newer functions set. With "direct" it calls the
 * tables in handles, if the driver reports such tables.
 */
#include "app.h"

#include <dlfcn.h>
#include <string.h>

enum { N = 512, VERSION = ZE_MAKE_VERSION(1, 16), DIRECT = 0x00020027, COOPERATIVE = 0x00020036 };

struct group_size {
	uint32_t x, y, z;
};

typedef ze_result_t (*fill_fn)(uint32_t version, void **table);
typedef ze_result_t (*with_parameters_fn)(ze_command_list_handle_t, ze_kernel_handle_t, const ze_group_count_t *, const void *,
					  ze_event_handle_t, uint32_t, ze_event_handle_t *);
typedef ze_result_t (*with_arguments_fn)(ze_command_list_handle_t, ze_kernel_handle_t, ze_group_count_t, struct group_size,
					 void **, const void *, ze_event_handle_t, uint32_t, ze_event_handle_t *);
typedef ze_result_t (*lists_exp_fn)(ze_command_list_handle_t, uint32_t, ze_command_list_handle_t *, ze_event_handle_t, uint32_t,
				    ze_event_handle_t *);
typedef ze_result_t (*lists_fn)(ze_command_list_handle_t, uint32_t, ze_command_list_handle_t *, const void *,
				ze_event_handle_t, uint32_t, ze_event_handle_t *);
typedef ze_result_t (*clone_fn)(ze_command_list_handle_t, ze_command_list_handle_t *);
typedef ze_result_t (*plain_fn)(ze_command_list_handle_t, ze_kernel_handle_t, const ze_group_count_t *, ze_event_handle_t,
				uint32_t, ze_event_handle_t *);
typedef ze_result_t (*wait_fn)(ze_command_list_handle_t, uint64_t);

static void *lists[64], *more[64];

static void read_tables(void)
{
	void *driver = dlopen(getenv("ZE_ENABLE_ALT_DRIVERS"), RTLD_NOW);
	fill_fn fill = driver ? (fill_fn)dlsym(driver, "zeGetCommandListProcAddrTable") : NULL;
	fill_fn fill_more = fill ? (fill_fn)dlsym(driver, "zeGetCommandListExpProcAddrTable") : NULL;

	if (!fill_more || fill(VERSION, lists) || fill_more(VERSION, more)) {
		fprintf(stderr, "no driver that has them\n");
		exit(77);
	}
}

static void launch_with_arguments(ze_command_list_handle_t list, ze_kernel_handle_t kernel, uint32_t group, uint32_t n, void **values)
{
	CHECK(((with_arguments_fn)lists[37])(list, kernel, (ze_group_count_t){ n / group, 1, 1 },
					     (struct group_size){ group, 1, 1 }, values, NULL, NULL, 0, NULL));
}

static void scale_by(ze_command_list_handle_t list, ze_kernel_handle_t scale, uint32_t *data, uint32_t factor, uint32_t group)
{
	launch_with_arguments(list, scale, group, N, (void *[]){ &data, &factor });
}

static void arguments(ze_kernel_handle_t scale, ze_kernel_handle_t totals, uint32_t *data, uint32_t *out)
{
	for (uint32_t i = 0; i < 5; i++) {
		scale_by(app_immediate, scale, data, 3 + i, 16 << i);
		app_ran("scale", 1, N);
		app_digest(data, N * 4);
	}
	for (size_t group = 8; group <= 64; group *= 2) {
		size_t local = group * 4;

		launch_with_arguments(app_immediate, totals, group, N, (void *[]){ &data, &out, &local });
		app_ran("totals", 1, N);
		app_digest(out, N * 4);
	}
	CHECK(((wait_fn)lists[28])(app_immediate, UINT64_MAX));
}

static void parameters(ze_kernel_handle_t scale, uint32_t *data)
{
	struct {
		uint32_t stype;
		void *next;
		ze_bool_t is;
	} cooperative = { COOPERATIVE, NULL, 1 };

	CHECK(zeKernelSetGroupSize(scale, 64, 1, 1));
	app_pointer(scale, 0, data);
	app_u32(scale, 1, 11);
	for (int i = 0; i < 2; i++) {
		CHECK(((with_parameters_fn)lists[36])(app_immediate, scale, &(ze_group_count_t){ N / 64, 1, 1 },
						      i ? &cooperative : NULL, NULL, 0, NULL));
		app_ran("scale", 1, N);
	}
	app_digest(data, N * 4);
}

/* Records a list with one launch of each kind. An immediate list executes the list and its clone. */
static void recorded(ze_kernel_handle_t scale, uint32_t *data)
{
	ze_command_list_handle_t both[2] = { app_list };

	scale_by(app_list, scale, data, 5, 128);
	scale_by(app_list, scale, data, 7, 32);
	CHECK(zeKernelSetGroupSize(scale, 64, 1, 1));
	app_pointer(scale, 0, data);
	app_u32(scale, 1, 2);
	CHECK(zeCommandListAppendLaunchKernel(app_list, scale, &(ze_group_count_t){ N / 64, 1, 1 }, NULL, 0, NULL));
	CHECK(zeCommandListClose(app_list));
	CHECK(((clone_fn)more[0])(app_list, &both[1]));
	CHECK(((lists_exp_fn)more[1])(app_immediate, 2, both, NULL, 0, NULL));
	CHECK(((lists_fn)lists[40])(app_immediate, 1, both, NULL, NULL, 0, NULL));
	app_ran("scale", 9, N);
	app_digest(data, N * 4);
	CHECK(zeCommandListDestroy(both[1]));
	CHECK(zeCommandListReset(app_list));
}

/*
 * An ordinary launch uses the arguments of the last launch. Then the program sets one argument, and then all arguments.
 */
static void mixed(ze_kernel_handle_t scale, uint32_t *data)
{
	scale_by(app_immediate, scale, data, 9, 64);
	app_digest(data, N * 4);
	app_launch(app_immediate, scale, N / 64);
	app_digest(data, N * 4);
	app_u32(scale, 1, 4);
	app_launch(app_immediate, scale, N / 64);
	app_digest(data, N * 4);
	app_pointer(scale, 0, data);
	app_launch(app_immediate, scale, N / 64);
	app_digest(data, N * 4);
}

static void direct(ze_kernel_handle_t scale, uint32_t *data)
{
	struct {
		uint32_t stype;
		void *next;
		uint32_t flags;
	} handles = { DIRECT };
	ze_driver_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES, .pNext = &handles };
	/* the handle starts with a pointer to tables; the eleventh table is for lists */
	void ***tables = (void ***)app_immediate;

	CHECK(zeDriverGetProperties(app_driver, &properties));
	app_pointer(scale, 0, data);
	app_u32(scale, 1, 4);
	CHECK(((plain_fn)(handles.flags ? ((void **)tables[0][12])[22] : lists[22]))(
		app_immediate, scale, &(ze_group_count_t){ N / 64, 1, 1 }, NULL, 0, NULL));
	app_ran("scale", 1, N);
	app_digest(data, N * 4);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "";
	ze_kernel_handle_t scale, totals;
	ze_module_handle_t module;
	uint32_t *data, *out;

	read_tables();
	app_open(argc, argv);
	module = app_module("kernels.spv", NULL, NULL);
	scale = app_kernel(module, "scale", 64);
	totals = app_kernel(module, "totals", 64);
	data = app_alloc(APP_DEVICE, N * 4);
	out = app_alloc(APP_DEVICE, N * 4);
	if (!strcmp(what, "mixed")) {
		mixed(scale, data);
	} else if (!strcmp(what, "direct")) {
		direct(scale, data);
	} else {
		arguments(scale, totals, data, out);
		parameters(scale, data);
		recorded(scale, data);
	}
	CHECK(zeKernelDestroy(scale));
	CHECK(zeKernelDestroy(totals));
	CHECK(zeModuleDestroy(module));
	CHECK(zeMemFree(app_context, data));
	CHECK(zeMemFree(app_context, out));
	return app_close();
}
