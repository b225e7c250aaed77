/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared declarations of the OpenCL layer, an adapter of hooks/launch/launch.h. The application uses the runtime's
 * handles. The agent has a record for each context, program and kernel; the handle is the record's key. A record lives
 * as long as the runtime's object. It counts the references of the application and of other objects: a kernel holds its
 * program, and a program holds its context. The agent removes a record from its table before the runtime may free the
 * handle, because runtimes reuse handles.
 *
 * In an attached session (hooks/attach), the application may have created an object before the attach. The agent
 * creates the record when a call first passes the object. The agent may not know all references of such an object, so
 * the record may exist longer than the object. When the runtime reuses the handle for a new object, the agent removes
 * the old record first.
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

extern const cl_icd_dispatch *ocl; /* platform.c: dispatch table of the next layer or of the OpenCL loader */

#define OCL_CALL(name) extern __typeof__(name) ocl_##name;
#include "calls.def"
#undef OCL_CALL

extern struct gpubpf_records ocl_contexts, ocl_programs, ocl_kernels;

/* Extensions that have a call to set a pointer argument. The calls of all these extensions have the same parameters. */
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
/* Type of clRemapCommandBufferKHR (cl_khr_command_buffer_multi_device), which Debian's headers lack. */
typedef cl_command_buffer_khr(CL_API_CALL *ocl_remap_fn)(cl_command_buffer_khr, cl_bool, cl_uint,
							 const cl_command_queue *, cl_uint, const cl_mutable_command_khr *,
							 cl_mutable_command_khr *, cl_int *);
extern const struct ocl_extension_call {
	const char *name;
	void *ours;
} ocl_buffer_calls[OCL_BUFFER_CALLS];

/* memory.c: number of calls of cl_intel_unified_shared_memory that allocate or free memory */
enum { OCL_USM_CALLS = 5 };
extern const struct ocl_extension_call ocl_usm_calls[OCL_USM_CALLS];
struct ocl_usm {
	void *(CL_API_CALL *host)(cl_context, const cl_bitfield *, size_t, cl_uint, cl_int *);
	void *(CL_API_CALL *device)(cl_context, cl_device_id, const cl_bitfield *, size_t, cl_uint, cl_int *);
	void *(CL_API_CALL *shared)(cl_context, cl_device_id, const cl_bitfield *, size_t, cl_uint, cl_int *);
	cl_int(CL_API_CALL *free)(cl_context, void *);
	cl_int(CL_API_CALL *blocking_free)(cl_context, void *);
};

/* platform.c: extension functions of a platform, which are not in the dispatch table */
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
/* Returns the device number that users see, counted over all platforms. A sub-device has its parent's number. */
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
	atomic_int held; /* number of references to the runtime's context that the agent holds */
	/* `held` is too small, because other threads changed the count while the agent counted */
	atomic_bool is_inexact;
};

struct ocl_context *ocl_context_hold(cl_context handle); /* adds a reference; returns NULL if out of memory */
void ocl_context_put(cl_context handle);
void ocl_contexts_release(void); /* remove the records of all contexts, at a detach */
struct gpubpf_hook_device *ocl_context_device(struct ocl_context *context, cl_device_id device);
cl_uint ocl_context_references(cl_context handle);
/*
 * Count the references to the context that the agent's objects have added since the reference count was `before`.
 * Returns that number.
 */
int ocl_context_count_held(struct ocl_context *context, cl_uint before);

/* image.c: the inputs from which a program was built. They are immutable and shared by reference count. */
#define OCL_CWD_MAX 256             /* limit of the session for a folder's path, in bytes with the NUL */

struct ocl_code {
	atomic_uint refs;
	enum gpubpf_image_kind kind; /* OPENCL_C, SPIRV, OPENCL_BINARY (then `key` is set) or OPENCL_PARTS */
	void *data;
	size_t size;
	char *options;
	char *cwd; /* folder of the build, with built_ns as its time; NULL and 0 before the build */
	uint64_t built_ns;
	struct gpubpf_hook_header *headers;
	uint32_t nheaders;
	struct ocl_code **parts; /* inputs of clLinkProgram */
	uint32_t nparts;
	char key[65];       /* SHA-256 of a binary that the application loaded */
	const char *reason; /* static string that says why kernels of this code cannot be probed, or NULL */
};

struct ocl_code *ocl_code_new(enum gpubpf_image_kind kind, const void *data, size_t size, const char *options);
/* Query the code of a program that is older than the attach. Returns NULL if out of memory. */
struct ocl_code *ocl_code_learn(cl_program handle);
/* records the time and folder of the build, which determine the files that it may include */
void ocl_code_note_build(struct ocl_code *code);
struct ocl_code *ocl_code_ref(struct ocl_code *code);
void ocl_code_put(struct ocl_code *code);
int ocl_code_image(const struct ocl_code *code, struct gpubpf_hook_image *image);
void ocl_code_image_put(struct gpubpf_hook_image *image);

/* program.c */
struct ocl_build { /* a recorded build, in a list with the newest build first */
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
	struct ocl_code *code; /* code at the program's creation; NULL: created by clLinkProgram */
	struct ocl_build *builds;
	struct gpubpf_hook_program *hook;
	/*
	 * CL_PROGRAM_KERNEL_NAMES, queried when `hook` is created. Intel's runtime does not answer the query after the
	 * application has released the program.
	 */
	char *names;
	cl_device_id *devices;
	cl_uint ndevices;
	struct gpubpf_hook_device *only; /* the launch path's device of the program, if it has only one device */
};

struct ocl_program *ocl_program_new(cl_program handle, cl_context context, struct ocl_code *code);
void ocl_program_release(cl_program handle); /* drop one reference */
/*
 * Returns the program's record, or NULL. In an attached session, creates the record of a program that is older than the
 * attach.
 */
struct ocl_program *ocl_program_find(cl_program handle);
/* Remove the records of a context's programs and their kernels; NULL: of all contexts. */
void ocl_programs_forget(const struct ocl_context *context);
void ocl_program_note_build(struct ocl_program *program, cl_uint ndevices, const cl_device_id *devices,
			    struct ocl_code *code); /* takes ownership of a reference to `code` */
/*
 * ocl_program_builds() returns a copy of the list of recorded builds. ocl_program_restore_builds() takes ownership of
 * the copy and makes it the program's list again.
 */
struct ocl_build *ocl_program_builds(struct ocl_program *program);
void ocl_program_restore_builds(struct ocl_program *program, struct ocl_build *builds);
void ocl_builds_drop(struct ocl_build *builds);
struct ocl_code *ocl_program_code(struct ocl_program *program, cl_device_id device); /* adds a reference */
struct gpubpf_hook_program *ocl_program_hook(struct ocl_program *program);
char *ocl_program_names(struct ocl_program *program); /* malloc'd; NULL: unknown */
struct gpubpf_hook_device *ocl_program_device(struct ocl_program *program, cl_command_queue queue);

/* binary.c */
struct ocl_code *ocl_binary_code(const char *key); /* returns the source of a binary, or NULL if unknown */
/* returns a static string: why a binary without source has no twins, and the remedy */
const char *ocl_binary_reason(void);
/* parses a cache file; returns NULL for an invalid format */
struct ocl_code *ocl_binary_parse(const void *bytes, size_t size);

/* kernel.c */
struct ocl_arg {
	/*
	 * OCL_ARG_POINTER plus a value of enum ocl_pointer_call means that this extension's call has set the argument
	 */
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
	bool is_learned;      /* the application created it before the attach */
	bool recorded;        /* all arguments are recorded; false after an allocation failed */
	pthread_mutex_t lock; /* serializes launches of twins, which share the kernel's recorded arguments */
	cl_uint nargs;
	struct ocl_arg *args;
	struct ocl_exec_info *infos;
	uint32_t info_version;
};

struct ocl_twin {
	cl_kernel handle;
	struct ocl_kernel *kernel;
	uint32_t *applied; /* [nargs] for each argument, the ocl_arg.version that was last set on the twin */
	uint32_t info_applied;
	void **svm; /* nsvm SVM allocations of the agent, which must be declared to the runtime */
	uint32_t nsvm;
};

/* args.c */
struct ocl_kernel *ocl_kernel_find(cl_kernel handle);
void ocl_kernels_forget(const struct ocl_program *program); /* remove the records of the program's kernels */
bool ocl_args_are_known(const struct ocl_kernel *kernel);   /* has the agent recorded each argument? */
int ocl_args_copy(struct ocl_kernel *to, struct ocl_kernel *from);
/* Copy the arguments that the idle library has recorded. No other thread may see the record yet. */
void ocl_args_take_recorded(struct ocl_kernel *kernel, cl_kernel handle);
void ocl_args_free(struct ocl_kernel *kernel);
/* Operation `argument` of struct gpubpf_hook_ops; l->call is the kernel. */
int ocl_argument(const struct gpubpf_hook_launch *l, uint32_t index, uint64_t *value);
cl_int ocl_args_apply(struct ocl_twin *twin);                         /* requires the kernel's lock */
extern const ocl_set_pointer_fn ocl_pointer_calls[OCL_POINTER_CALLS]; /* the agent's functions */

/*
 * memory.c: ocl_memory_query_addresses() queries the addresses of the context's buffers. It is called before a twin's
 * launch, and acts only if a BPF program on the device looks up allocations.
 */
void ocl_memory_init(void);
void ocl_memory_forget(void); /* remove the records of all buffers, at a detach */
void ocl_memory_query_addresses(struct ocl_context *context, struct gpubpf_hook_device *device);

/*
 * enqueue.c: ocl_callbacks_wait() waits until no event callback of the layer is pending, so no twin of an attached
 * session runs. Returns false if one is pending after `ns`.
 */
bool ocl_callbacks_wait(uint64_t ns);
void ocl_callbacks_after_fork(void);
void ocl_launch_describe(struct gpubpf_hook_launch *l, struct ocl_kernel *kernel, cl_command_queue queue, cl_uint dim,
			 const size_t *global, const size_t *local);

/* queue.c: returns true if the layer can measure the launches on the device */
bool ocl_times_launches(const struct gpubpf_hook_device *device);

/* extension.c */
cl_program CL_API_CALL ocl_create_il_khr(cl_context context, const void *il, size_t size, cl_int *error);

void ocl_device_init(void); /* context_refs.c */
extern struct gpubpf_device_ops ocl_device_ops;
extern const struct gpubpf_hook_ops ocl_hook_ops; /* twin_load.c */

#endif
