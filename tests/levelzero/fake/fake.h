/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Level Zero driver of our own, for tests: what its programs launch runs on a CPU, by the OpenCL runtime that
 * GPUBPF_TEST_INTEL names. Everything is done when it is asked for, in the order of the calls; nothing is done behind the program's back.
 * Kernels are compiled with the program's flags, of which -cl-denorms-are-zero changes results on Intel's runtime, and
 * see the device's memory only if they are told of it (memory.c).
 * GPUBPF_FAKE_ZE: what the device's memory is, "host" (an integrated device), "shared" (and it reaches all of the
 * host's memory), "device" (memory of its own). GPUBPF_FAKE_ZE_LAUNCHES=none: launches do nothing, for who measures. GPUBPF_FAKE_ZE_LOG: a
 * file that gets a line for each module and each launch. GPUBPF_FAKE_ZE_MODULES: a folder that gets each module's parts. GPUBPF_FAKE_ZE_HANDLES: handles
 * of command lists have tables, and it says so. GPUBPF_FAKE_ZE_MEMORY: bytes of memory that the device tells of.
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

#define FAKE_CLOCK "__builtin_IB_read_cycle_counter" /* of the library of Intel's compiler for GPUs */

struct _ze_device_handle_t {
	int number;                        /* of the whole */
	int part;                          /* -1: it is whole */
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
	cl_program program;                /* NULL: functions are missing */
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
	struct _ze_kernel_handle_t kernel; /* as it was */
	ze_group_count_t count;
	const ze_group_count_t *indirect;  /* or there */
	const uint32_t *most;              /* launched where its number is less than that; NULL: always */
	uint32_t number;
	void *to;
	const void *from;
	size_t size, pattern;
	unsigned char fill[16];
	ze_event_handle_t event;
};

struct _ze_command_list_handle_t {
	const void *tables;                /* by which newer loaders call it */
	bool immediate, closed;
	struct command *commands;
	uint32_t n, room;
};

/* cl.c: the CPU's OpenCL runtime; of each the OpenCL error */
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

/* il.c: of a module in SPIR-V */
/* Does one of the parts call functions that none of them has? */
bool fake_il_lacks(const struct part *parts, uint32_t nparts, uint32_t of);
/* Does it read the clock by FAKE_CLOCK()? */
bool fake_il_reads_clock(const struct part *part);
/* Which parameters of a kernel are pointers to memory of the device; false: it has no such kernel. */
bool fake_il_pointers(const struct part *part, const char *kernel, bool *pointer);

/* memory.c: a launch between enter() and leave() */
void fake_memory_enter(const struct _ze_kernel_handle_t *kernel);
void fake_memory_leave(void);
void fake_memory_copy(void *to, const void *from, size_t size);
void fake_memory_fill(void *to, size_t size, const unsigned char *pattern, size_t npattern);
void fake_memory_table(ze_mem_dditable_t *t);

/* driver.c: to append to; NULL: none */
FILE *fake_log(void);

/* module.c, list.c: their part of the tables */
void fake_module_table(ze_module_dditable_t *t);
void fake_kernel_table(ze_kernel_dditable_t *t);
void fake_list_table(ze_command_list_dditable_t *t);
void fake_queue_table(ze_command_queue_dditable_t *t);
ze_result_t ZE_APICALL fake_offset(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z);
ze_result_t ZE_APICALL fake_set_value(ze_kernel_handle_t kernel, uint32_t index, size_t size, const void *value);
ze_result_t ZE_APICALL fake_append(ze_command_list_handle_t list, ze_kernel_handle_t kernel, const ze_group_count_t *count,
				   ze_event_handle_t event, uint32_t n, ze_event_handle_t *wait);
ze_result_t fake_execute(uint32_t n, ze_command_list_handle_t *lists);

/* later_calls.c: of later versions than the headers */
void fake_newer_lists(ze_api_version_t version, void **table);
const void *fake_tables(void);
void fake_direct_handles(void *next); /* what is asked of a driver's properties: it has them */

#endif
