/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared declarations of the Level Zero adapter. The adapter replaces entries in a driver's dispatch tables, below the
 * loader and its layers. Therefore the application's layers (tracing, validation) see the original kernels, and the
 * agent sees the driver's handles. The agent has a record for each context, module, kernel, command list and queue
 * until the object is destroyed. The handle is the key of the record.
 */
#ifndef GPUBPF_HOOKS_LEVELZERO_H
#define GPUBPF_HOOKS_LEVELZERO_H

#include <level_zero/ze_ddi.h>
#include <pthread.h>
#include <stdatomic.h>

#include "backends/spirv/device/level_zero/level_zero.h"
#include "hooks/launch/launch.h"
#include "hooks/records.h"

#define LZ_DRIVERS 4 /* limit per process; kernels of further drivers are not intercepted */

struct lz_group_size { /* ze_group_size_t, which the specification has since 1.14 */
	uint32_t x, y, z;
};

/* driver.c: a driver that the Level Zero loader has loaded */
struct lz_driver {
	const void *library;      /* load address of the driver's library; NULL: this slot is free */
	struct gpubpf_ze_api api; /* functions that the agent calls */
	/*
	 * the driver's functions in entries that the agent replaced; NULL: the driver or its loader does not have the
	 * function
	 */
	struct {
#define LZ_CALL(table, member, parameters, arguments) ze_result_t (ZE_APICALL *table##member)(parameters);
#include "calls.def"
#undef LZ_CALL
	} next;
	_Atomic(void *) fill[16]; /* index: enum table; the driver's functions zeGet<table>ProcAddrTable */
};

extern struct lz_driver lz_drivers[LZ_DRIVERS];

#define LZ_CALL(table, member, parameters, arguments) \
	ze_result_t lz_##table##member(struct lz_driver *d, parameters);
#include "calls.def"
#undef LZ_CALL

bool lz_active(void); /* is a session connected? the first call joins the session */

/*
 * Evaluates to the result of the driver's function. Runs the programs of section host/EVENT before and after it.
 * GPUBPF_HOST_CALL_THEN() describes `then` and the other arguments. The application may call the function before it
 * creates a module, so the process joins the session here.
 */
#define LZ_HOST_CALL_THEN(EVENT, table, member, arguments, then, ...) ({ \
	lz_active(); \
	GPUBPF_HOST_CALL_THEN(ze_result_t, d->next.table##member(arguments), result, then, .event = GPUBPF_HOST_##EVENT, \
			      .function = "ze" #table #member, ##__VA_ARGS__); \
})
#define LZ_HOST_CALL(EVENT, table, member, arguments, ...) \
	LZ_HOST_CALL_THEN(EVENT, table, member, LZ_ARGUMENTS(arguments), (void)0, ##__VA_ARGS__)
#define LZ_ARGUMENTS(...) __VA_ARGS__
/* Returns the device number that users see, counted over all drivers. A sub-device has its parent's number. */
uint32_t lz_device_ordinal(const struct lz_driver *d, ze_device_handle_t device);

extern struct gpubpf_records lz_contexts, lz_modules, lz_kernels, lz_lists;

/* context.c: returns the launch path's device for a context and a device, or NULL if out of memory. */
struct gpubpf_hook_device *lz_context_device(struct lz_driver *d, ze_context_handle_t context, ze_device_handle_t device);

/* code.c: the inputs from which a module was built; immutable */
struct lz_code {
	uint32_t nparts; /* number of IL parts, which the driver links */
	struct lz_part {
		void *data;
		size_t size;
		ze_module_constants_t constants;                /* owns copies of the values */
		const ze_module_constants_t *constants_or_null; /* &constants, or NULL */
		char *flags;
	} *parts;
};

struct lz_code *lz_code_new(const ze_module_desc_t *desc); /* returns NULL if out of memory */
void lz_code_free(struct lz_code *code);
int lz_code_image(const struct lz_code *code, struct gpubpf_hook_image *image);

/* native.c: returns the inputs from which native code was built, or NULL if unknown. */
struct lz_code *lz_native_code(const void *native, size_t size);
/* parses a cache file; returns NULL for an invalid format */
struct lz_code *lz_native_parse(const void *bytes, size_t size);

/* module.c */
struct lz_module { /* lives longer than the driver's module, because a thread may be loading its twins */
	struct gpubpf_record object;
	struct lz_driver *driver;
	ze_context_handle_t context;
	ze_device_handle_t device;
	struct gpubpf_hook_device *hook_device;
	struct gpubpf_hook_program *hook;
	pthread_mutex_t lock; /* protects the members below */
	bool dead;
	struct lz_code *code;      /* NULL: the module's IL is unknown */
	ze_module_handle_t *peers; /* npeers modules with which the application linked this module */
	uint32_t npeers;
	struct gpubpf_name_list *names; /* names of the module's kernels; NULL: unknown */
};

/* kernel.c */
struct lz_arg {
	enum { LZ_ARG_UNSET, LZ_ARG_VALUE, LZ_ARG_NULL, LZ_ARG_UNKNOWN } how;
	uint32_t version;
	size_t size;
	union {
		unsigned char bytes[16];
		void *data; /* malloc'd if size > 16 */
	};
};

struct lz_kernel {
	struct gpubpf_record object;
	struct lz_module *module;
	struct gpubpf_hook_kernel *hook;
	bool recorded;        /* all arguments and settings are recorded; false after an allocation failed */
	pthread_mutex_t lock; /* serializes launches of twins, which share the recorded arguments */
	uint32_t nargs;
	struct lz_arg *args;
	struct lz_setting { /* settings other than arguments; `set` has one bit per call that the application made */
		uint32_t set, version;
		uint32_t group[3], offset[3];
		ze_kernel_indirect_access_flags_t indirect;
		ze_cache_config_flags_t cache;
	} setting;
};

struct lz_twin {
	ze_kernel_handle_t handle;
	struct lz_kernel *kernel;
	uint32_t *applied; /* [nargs] for each argument, the version of its lz_arg that was last set on the twin */
	uint32_t setting;  /* version of the settings that were last set on the twin */
	/* indirect access flags that the twin's BPF programs need in addition to the kernel's flags */
	ze_kernel_indirect_access_flags_t indirect;
	atomic_bool is_in_list; /* a command list contains the twin */
};

/* The caller holds the kernel's lock. */
ze_result_t lz_kernel_apply(struct lz_twin *twin); /* returns 0, GPUBPF_TWIN_REPORTED or the driver's error */
ze_result_t lz_kernel_apply_setting(struct lz_twin *twin);
/*
 * Call after a launch call that has set arguments on the kernel. Only the driver knows their sizes, so the recorded
 * arguments are outdated.
 */
void lz_kernel_note_args_set(struct lz_kernel *kernel, const struct lz_group_size *size);

/* list.c */
struct lz_list {
	struct gpubpf_record object;
	struct lz_driver *driver;
	ze_context_handle_t context;
	ze_device_handle_t device;
	uint32_t ordinal; /* ordinal of the list's command queue group */
	/* immediate: appending a kernel launches it. waits: the append call returns only after the kernel has ended */
	bool immediate, waits;
	ze_command_list_handle_t scratch_list; /* arguments.c: command list that is never executed, or NULL */
	struct gpubpf_hook_record **records;
	uint32_t n, room;
};

void lz_list_add(struct lz_list *list, struct gpubpf_hook_record *record); /* takes ownership of `record` */
/*
 * Returns true if lz_queues_wait() also waits for launches in this list. It cannot wait for an asynchronous immediate
 * list of a driver before version 1.6.
 */
bool lz_list_can_be_waited_for(const struct lz_list *list);
/* Wait for all work in the queues and immediate lists of a context. Returns 0 or -ETIMEDOUT. */
int lz_queues_wait(ze_context_handle_t context, uint32_t timeout_ms);

/* launch.c */
struct lz_append {
	struct lz_driver *driver;
	/*
	 * The driver's AppendLaunchKernel, or another call with the same parameters. If NULL, the call is
	 * AppendLaunchKernelWithArguments if `size` is set, otherwise AppendLaunchKernelWithParameters.
	 */
	ze_result_t(ZE_APICALL *plain)(ze_command_list_handle_t, ze_kernel_handle_t, const ze_group_count_t *,
				       ze_event_handle_t, uint32_t, ze_event_handle_t *);
	ze_command_list_handle_t list;
	struct lz_list *in;
	struct lz_kernel *kernel;
	ze_kernel_handle_t original;
	const char *function; /* name of the called function */
	const ze_group_count_t *groups;
	bool indirect, cooperative;
	const struct lz_group_size *size;
	void **values;
	const void *more;
	ze_event_handle_t event;
	uint32_t nwait;
	ze_event_handle_t *wait;
};

/*
 * arguments.c: handles launch calls that carry the argument values, zeCommandListAppendLaunchKernelWithArguments and
 * zeCommandListAppendLaunchKernelWithParameters.
 */
ze_result_t lz_append_values(const struct lz_append *a, ze_kernel_handle_t kernel, void **values);
/* The caller holds the kernel's lock. */
ze_result_t lz_append_values_twin(const struct lz_append *a, const struct gpubpf_hook_launch *l);
bool lz_append_cooperative(const void *more);

/* twin_load.c */
void lz_device_init(void);
extern const struct gpubpf_hook_ops lz_hook_ops;

#endif
