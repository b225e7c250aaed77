/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake Level Zero driver for tests. Kernels run on a CPU, through the OpenCL runtime that GPUBPF_TEST_INTEL names.
 * Each call completes before it returns; nothing runs in the background. Kernels are compiled with the program's flags,
 * because -cl-denorms-are-zero changes results on Intel's runtime. Kernels see the device's memory only through
 * arguments or indirect access (memory.c).
 *
 * GPUBPF_FAKE_ZE selects the device's memory. "host" is an integrated device, "device" has separate memory. With
 * "shared" the device also accesses all of the host's memory. GPUBPF_FAKE_ZE_LAUNCHES=none lets launches do nothing,
 * for measurements. GPUBPF_FAKE_ZE_LOG names a file that gets a line per module and launch. GPUBPF_FAKE_ZE_MODULES
 * names a folder that gets each module's parts. With GPUBPF_FAKE_ZE_HANDLES the handles of command lists contain
 * function tables, and a property reports this. GPUBPF_FAKE_ZE_MEMORY is the reported memory size in bytes.
 */
#ifndef GPUBPF_TESTS_LEVELZERO_FAKE_H
#define GPUBPF_TESTS_LEVELZERO_FAKE_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_icd.h>
#include <level_zero/ze_ddi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEVICES = 2, PARTS = 2, FAKE_MAX_ARGS = 64 };

#define FAKE_CLOCK "__builtin_IB_read_cycle_counter" /* function in the library of Intel's GPU compiler */

struct _ze_device_handle_t {
	int number;                        /* number of the root device */
	int part;                          /* -1: a root device */
};

struct _ze_context_handle_t {
	int unused;
};

struct part {
	void *il;
	size_t size;
	char *flags;
	cl_program compiled;
};

struct _ze_module_handle_t {
	struct part *parts;
	uint32_t nparts;
	cl_program program;                /* NULL: unresolved functions */
	char **names;
	uint32_t nnames;
};

struct arg {
	size_t size;
	bool set, null;
	unsigned char bytes[256];
};

struct _ze_kernel_handle_t {
	struct _ze_module_handle_t *module;
	cl_kernel kernel;
	char name[256];
	uint32_t nargs;
	bool pointer[FAKE_MAX_ARGS];
	struct arg args[FAKE_MAX_ARGS];
	uint32_t group[3], offset[3];
	ze_kernel_indirect_access_flags_t indirect;
};

struct _ze_event_pool_handle_t {
	int unused;
};

struct _ze_event_handle_t {
	bool signalled;
};

struct _ze_fence_handle_t {
	bool signalled;
};

struct _ze_command_queue_handle_t {
	int unused;
};

struct command {
	enum { LAUNCH, COPY, FILL, SIGNAL, RESET, WAIT } what;
	struct _ze_kernel_handle_t kernel; /* copied when the command was appended */
	ze_group_count_t count;
	const ze_group_count_t *indirect;  /* group count in memory, or NULL */
	const uint32_t *most;              /* if not NULL, the command runs only if number < *most */
	uint32_t number;
	void *to;
	const void *from;
	size_t size, pattern;
	unsigned char fill[16];
	ze_event_handle_t event;
};

struct _ze_command_list_handle_t {
	const void *tables;                /* function tables through which newer loaders call */
	bool immediate, closed;
	struct command *commands;
	uint32_t n, room;
};

/* cl.c: the OpenCL runtime of the CPU. Functions return OpenCL errors. */
extern struct fake_cl {
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	bool idle;                         /* launches do nothing */
} fake_cl;

extern const cl_icd_dispatch *cl;

bool fake_cl_init(void);
cl_int fake_compile(struct part *part, const ze_module_constants_t *constants);
cl_int fake_link(struct part *const *parts, uint32_t n, cl_program *program);
cl_int fake_run(const struct _ze_kernel_handle_t *kernel, const ze_group_count_t *count);
size_t fake_value_size(const struct _ze_kernel_handle_t *kernel, uint32_t index); /* 0: local memory */

/* il.c: reads SPIR-V modules */
/* Do the parts call a function that none of them defines? */
bool fake_il_lacks(const struct part *parts, uint32_t nparts, uint32_t of);
/* Does the part call FAKE_CLOCK()? */
bool fake_il_reads_clock(const struct part *part);
/* Sets pointer[i] if parameter i of the kernel points to device memory. Returns false if there is no such kernel. */
bool fake_il_pointers(const struct part *part, const char *kernel, bool *pointer);

/* memory.c: fake_memory_enter() is called before a launch, fake_memory_leave() after it */
void fake_memory_enter(const struct _ze_kernel_handle_t *kernel);
void fake_memory_leave(void);
void fake_memory_copy(void *to, const void *from, size_t size);
void fake_memory_fill(void *to, size_t size, const unsigned char *pattern, size_t npattern);
void fake_memory_table(ze_mem_dditable_t *t);

/* driver.c: returns the log file, or NULL if there is none */
FILE *fake_log(void);

/* module.c, list.c: fill function tables */
void fake_module_table(ze_module_dditable_t *t);
void fake_kernel_table(ze_kernel_dditable_t *t);
void fake_list_table(ze_command_list_dditable_t *t);
void fake_queue_table(ze_command_queue_dditable_t *t);
ze_result_t ZE_APICALL fake_offset(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z);
ze_result_t ZE_APICALL fake_set_value(ze_kernel_handle_t kernel, uint32_t index, size_t size, const void *value);
ze_result_t ZE_APICALL fake_append(ze_command_list_handle_t list, ze_kernel_handle_t kernel, const ze_group_count_t *count,
				   ze_event_handle_t event, uint32_t n, ze_event_handle_t *wait);
ze_result_t fake_execute(uint32_t n, ze_command_list_handle_t *lists);

/* later_calls.c: functions that are newer than the installed headers */
void fake_newer_lists(ze_api_version_t version, void **table);
const void *fake_tables(void);
void fake_direct_handles(void *next); /* sets the property that reports tables in handles, if *next is that query */

#endif
