/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared declarations of the OpenCL layer, an adapter of hooks/launch/launch.h. The application uses the runtime's
 * handles. For each context, program and kernel the agent has a record, found by handle. A record lives as long as the
 * runtime's object. It counts the application's references and those of other objects: kernels hold programs, programs
 * hold contexts. The agent removes a record from its table before the runtime may free the handle, because runtimes
 * reuse handles.
 */
#ifndef GPUBPF_HOOKS_OPENCL_H
#define GPUBPF_HOOKS_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <pthread.h>
#include <stdatomic.h>

#include "hooks/launch/launch.h"
#include "hooks/records.h"

extern const cl_icd_dispatch *ocl; /* platform.c: the next layer, or the loader */

#define OCL_CALL(name) extern __typeof__(name) ocl_##name;
#include "calls.def"
#undef OCL_CALL

extern struct gpubpf_records ocl_contexts, ocl_programs, ocl_kernels;

/* Extensions with a call that sets a pointer argument; these calls have the same signature. */
enum ocl_pointer_call {
	OCL_MEM_POINTER_INTEL,  /* cl_intel_unified_shared_memory */
	OCL_DEVICE_POINTER_EXT, /* cl_ext_buffer_device_address */
	OCL_SVM_POINTER_ARM,    /* cl_arm_shared_virtual_memory */
	OCL_POINTER_CALLS,
};
typedef cl_int(CL_API_CALL *ocl_set_pointer_fn)(cl_kernel, cl_uint, const void *);
extern const char *const ocl_pointer_names[OCL_POINTER_CALLS];

/* command_buffer.c: number of calls of cl_khr_command_buffer that the layer intercepts */
enum { OCL_BUFFER_CALLS = 6 };
/* clRemapCommandBufferKHR of cl_khr_command_buffer_multi_device, which Debian's headers lack */
typedef cl_command_buffer_khr(CL_API_CALL *ocl_remap_fn)(cl_command_buffer_khr, cl_bool, cl_uint,
							 const cl_command_queue *, cl_uint, const cl_mutable_command_khr *,
							 cl_mutable_command_khr *, cl_int *);
extern const struct ocl_extension_call {
	const char *name;
	void *ours;
} ocl_buffer_calls[OCL_BUFFER_CALLS];

/* memory.c: calls of cl_intel_unified_shared_memory that allocate and free */
enum { OCL_USM_CALLS = 5 };
extern const struct ocl_extension_call ocl_usm_calls[OCL_USM_CALLS];
struct ocl_usm {
	void *(CL_API_CALL *host)(cl_context, const cl_bitfield *, size_t, cl_uint, cl_int *);
	void *(CL_API_CALL *device)(cl_context, cl_device_id, const cl_bitfield *, size_t, cl_uint, cl_int *);
	void *(CL_API_CALL *shared)(cl_context, cl_device_id, const cl_bitfield *, size_t, cl_uint, cl_int *);
	cl_int(CL_API_CALL *free)(cl_context, void *);
	cl_int(CL_API_CALL *blocking_free)(cl_context, void *);
};

/* platform.c: a platform's extension functions, which the dispatch table does not contain */
struct ocl_platform {
	struct ocl_platform *next;
	cl_platform_id id;
	cl_int(CL_API_CALL *suggested)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, size_t *);
	ocl_set_pointer_fn set_pointer[OCL_POINTER_CALLS];
	struct ocl_usm usm;
	cl_program(CL_API_CALL *create_il)(cl_context, const void *, size_t, cl_int *);
	clCreateCommandBufferKHR_fn buffer_create;
	ocl_remap_fn buffer_remap;
	clRetainCommandBufferKHR_fn buffer_retain;
	clReleaseCommandBufferKHR_fn buffer_release;
	clCommandNDRangeKernelKHR_fn buffer_record;
	clEnqueueCommandBufferKHR_fn buffer_enqueue;
};

struct ocl_platform *ocl_platform_get(cl_platform_id id);
struct ocl_platform *ocl_platform_of(cl_device_id device);
/* device number for users, counted over all platforms; a sub-device has its parent's number */
uint32_t ocl_device_ordinal(cl_device_id device);

/* context.c */
struct ocl_device {
	struct ocl_device *next;
	cl_device_id handle;
	struct gpubpf_hook_device *hook;
};

struct ocl_context {
	struct gpubpf_record object;
	struct ocl_platform *platform;
	pthread_mutex_t lock;
	_Atomic(struct ocl_device *) devices;
	atomic_int held; /* references to the runtime's context that the agent holds */
};

struct ocl_context *ocl_context_hold(cl_context handle); /* adds a reference; NULL: out of memory */
void ocl_context_put(cl_context handle);
struct gpubpf_hook_device *ocl_context_device(struct ocl_context *context, cl_device_id device);
cl_uint ocl_context_references(cl_context handle);
/* Count the references to the context that objects of the agent added since the count was `before`. Returns how
 * many. */
int ocl_context_count_held(struct ocl_context *context, cl_uint before);

/* image.c: the inputs of a program; immutable, shared by reference count */
#define OCL_CWD_MAX 256             /* bytes of a folder's path, including the NUL; the session's limit */

struct ocl_code {
	atomic_uint refs;
	enum gpubpf_image_kind kind; /* OPENCL_C, SPIRV, OPENCL_BINARY (has a key), OPENCL_PARTS */
	void *data;
	size_t size;
	char *options;
	char *cwd; /* folder and (built_ns) time of the build; NULL and 0: not built yet */
	uint64_t built_ns;
	struct gpubpf_hook_header *headers;
	uint32_t nheaders;
	struct ocl_code **parts; /* inputs of clLinkProgram */
	uint32_t nparts;
	char key[65];       /* SHA-256 of a binary from the application */
	const char *reason; /* static text: why kernels of this code cannot be probed; NULL: they can */
};

struct ocl_code *ocl_code_new(enum gpubpf_image_kind kind, const void *data, size_t size, const char *options);
void ocl_code_note_build(struct ocl_code *code); /* records time and folder: they determine the files it may include */
struct ocl_code *ocl_code_ref(struct ocl_code *code);
void ocl_code_put(struct ocl_code *code);
int ocl_code_image(const struct ocl_code *code, struct gpubpf_hook_image *image);
void ocl_code_image_put(struct gpubpf_hook_image *image);

/* program.c */
struct ocl_build { /* a recorded build; in a list, newest first */
	struct ocl_build *next;
	cl_device_id *devices; /* NULL: all devices of the program */
	cl_uint ndevices;
	struct ocl_code *code;
};

struct ocl_program {
	struct gpubpf_record object;
	cl_context context_handle;
	struct ocl_context *context;
	pthread_mutex_t lock;  /* protects the members below */
	struct ocl_code *code; /* as at the program's creation; NULL: created by clLinkProgram */
	struct ocl_build *builds;
	struct gpubpf_hook_program *hook;
	/* names of the program's kernels, separated by ';'. Queried when `hook` is created: Intel's runtime does not
	 * answer after the application has released the program. */
	char *names;
	cl_device_id *devices;
	cl_uint ndevices;
	struct gpubpf_hook_device *only; /* the program's device, if it has only one */
};

struct ocl_program *ocl_program_new(cl_program handle, cl_context context, struct ocl_code *code);
void ocl_program_release(cl_program handle); /* drop one reference */
void ocl_program_note_build(struct ocl_program *program, cl_uint ndevices, const cl_device_id *devices,
			    struct ocl_code *code); /* takes ownership of a reference to `code` */
/* ocl_program_builds() returns a copy of the recorded builds. ocl_program_restore_builds() takes ownership of the copy
 * and puts it back. */
struct ocl_build *ocl_program_builds(struct ocl_program *program);
void ocl_program_restore_builds(struct ocl_program *program, struct ocl_build *builds);
void ocl_builds_drop(struct ocl_build *builds);
struct ocl_code *ocl_program_code(struct ocl_program *program, cl_device_id device); /* adds a reference */
struct gpubpf_hook_program *ocl_program_hook(struct ocl_program *program);
char *ocl_program_names(struct ocl_program *program); /* malloc'd; NULL: unknown */
struct gpubpf_hook_device *ocl_program_device(struct ocl_program *program, cl_command_queue queue);

/* binary.c */
struct ocl_code *ocl_binary_code(const char *key); /* the source of a binary; NULL: unknown */
const char *ocl_binary_reason(void);               /* why such a binary has no twins, with a remedy; static */
struct ocl_code *ocl_binary_parse(const void *bytes, size_t size); /* parses a cache file; NULL: invalid format */

/* kernel.c */
struct ocl_arg {
	/* OCL_ARG_POINTER + a value of enum ocl_pointer_call: set by that extension's call */
	enum { OCL_ARG_UNSET, OCL_ARG_VALUE, OCL_ARG_NULL, OCL_ARG_SVM, OCL_ARG_POINTER } how;
	uint32_t version;
	size_t size;
	union {
		unsigned char bytes[16];
		void *data; /* malloc'd if size > 16 */
		const void *pointer;
	};
};

struct ocl_exec_info {
	struct ocl_exec_info *next;
	cl_kernel_exec_info name;
	size_t size;
	unsigned char value[];
};

struct ocl_kernel {
	struct gpubpf_record object;
	struct ocl_program *program;
	struct gpubpf_hook_kernel *hook;
	bool recorded;        /* all its arguments are recorded; false after a failed allocation */
	pthread_mutex_t lock; /* serializes launches of a twin, which share the kernel's arguments */
	cl_uint nargs;
	struct ocl_arg *args;
	struct ocl_exec_info *infos;
	uint32_t info_version;
};

struct ocl_twin {
	cl_kernel handle;
	struct ocl_kernel *kernel;
	uint32_t *applied; /* [nargs] ocl_arg.version that is set on the twin */
	uint32_t info_applied;
	void **svm; /* [nsvm] the agent's SVM, which must be declared to the runtime */
	uint32_t nsvm;
};

/* args.c */
struct ocl_kernel *ocl_kernel_find(cl_kernel handle);
int ocl_args_copy(struct ocl_kernel *to, struct ocl_kernel *from);
void ocl_args_free(struct ocl_kernel *kernel);
cl_int ocl_args_apply(struct ocl_twin *twin);                         /* the caller holds the kernel's lock */
extern const ocl_set_pointer_fn ocl_pointer_calls[OCL_POINTER_CALLS]; /* the agent's functions */

/* memory.c: ocl_memory_query_addresses() queries the addresses of the context's buffers before a twin's launch, if a
 * program on the device looks up allocations. */
void ocl_memory_init(void);
void ocl_memory_query_addresses(struct ocl_context *context, struct gpubpf_hook_device *device);

/* enqueue.c */
void ocl_launch_describe(struct gpubpf_hook_launch *l, struct ocl_kernel *kernel, cl_command_queue queue, cl_uint dim,
			 const size_t *global, const size_t *local);

/* extension.c */
cl_program CL_API_CALL ocl_create_il_khr(cl_context context, const void *il, size_t size, cl_int *error);

void ocl_device_init(void); /* context_refs.c */
extern struct gpubpf_device_ops ocl_device_ops;
extern const struct gpubpf_hook_ops ocl_hook_ops; /* twin_load.c */

#endif
