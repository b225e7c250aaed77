/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The application's memory. SVM and Intel's USM allocations are known by address. The address of a buffer is not known.
 * If a twin's BPF programs use allocations, the layer queries the device for the addresses of buffers when it launches
 * the twin. The layer does this only in contexts with one device, because a buffer may have another address on each
 * device.
 */
#include "opencl.h"

#include <errno.h>
#include <stdlib.h>

#include "core/wire/checks.h"
#include "hooks/process/agent_thread.h"

static GPUBPF_RECORDS(ocl_memories)

	struct buffer {
	struct gpubpf_record object; /* record in ocl_memories until the application's last release */
	struct buffer *next, **link;
	cl_context context;
	struct gpubpf_allocation row; /* base 0: address unknown */
	bool is_queried;              /* the address is known or cannot be found out: do not query it again */
	bool busy;                    /* a query is in progress, so do not release the buffer */
};

static pthread_mutex_t query_lock = PTHREAD_MUTEX_INITIALIZER; /* serializes queries */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;       /* protects the list of buffers and their members */
static pthread_cond_t query_done = PTHREAD_COND_INITIALIZER;
static struct buffer *buffers, **last = &buffers; /* list, oldest first */
static atomic_uint unqueried;

/*
 * Several buffers may use the same host memory, and removing one of them removed the allocation at their address. Add
 * the other buffers at this address again.
 */
static void readd_aliases(uint64_t address)
{
	gpubpf_assert_held(&lock);
	for (struct buffer *b = buffers; b; b = b->next)
		if (b->row.base == address)
			gpubpf_allocation_add(b->context, false, &b->row);
}

static void CL_CALLBACK on_destroy(cl_mem handle, void *buffer)
{
	struct buffer *b = buffer;

	/* If a tool has detached, the layer did not see the last release. */
	gpubpf_records_take(&ocl_memories, handle);
	pthread_mutex_lock(&lock);
	*b->link = b->next;
	*(b->next ? &b->next->link : &last) = b->link;
	if (b->row.base) {
		gpubpf_allocation_remove(b->row.base);
		readd_aliases(b->row.base);
	} else if (!b->is_queried) {
		gpubpf_ref_was_counted(atomic_fetch_sub(&unqueried, 1));
	}
	pthread_mutex_unlock(&lock);
	free(b);
}

static void record_buffer(cl_context context, cl_mem handle, size_t size)
{
	struct buffer *b = handle && ocl->clSetMemObjectDestructorCallback ? calloc(1, sizeof(*b)) : NULL;

	if (!b)
		return;
	*b = (struct buffer){
		.context = context,
		.row = { .size = size,
			 .kind = GPUBPF_ALLOCATION_DEVICE,
			 .number = gpubpf_allocation_number(),
			 .stack = gpubpf_allocation_stack() },
	};
	gpubpf_records_add(&ocl_memories, handle, &b->object);
	pthread_mutex_lock(&lock);
	b->link = last;
	*last = b;
	last = &b->next;
	atomic_fetch_add(&unqueried, 1);
	pthread_mutex_unlock(&lock);
	if (ocl->clSetMemObjectDestructorCallback(handle, on_destroy, b)) {
		gpubpf_records_release(&ocl_memories, handle);
		on_destroy(handle, b);
	}
}

/*
 * Call before the application's last release of the buffer. Waits for a query of the buffer, and prevents further
 * queries.
 */
static void exclude_from_queries(struct buffer *b)
{
	pthread_mutex_lock(&lock);
	while (b->busy)
		pthread_cond_wait(&query_done, &lock);
	if (!b->is_queried)
		gpubpf_ref_was_counted(atomic_fetch_sub(&unqueried, 1));
	b->is_queried = true;
	pthread_mutex_unlock(&lock);
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clRetainMemObject(cl_mem memory)
{
	cl_int err = ocl->clRetainMemObject(memory);

	if (!err)
		gpubpf_records_retain(&ocl_memories, memory);
	return err;
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clReleaseMemObject(cl_mem memory)
{
	struct buffer *b = gpubpf_records_release(&ocl_memories, memory);

	if (b)
		exclude_from_queries(b);
	return GPUBPF_HOST_CALL(cl_int, ocl->clReleaseMemObject(memory), result, .event = GPUBPF_HOST_FREE,
				.function = "clReleaseMemObject", .pointer = (uintptr_t)memory);
}

static bool has_one_device(cl_context context)
{
	cl_uint n = 0;

	return !ocl->clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, sizeof(n), &n, NULL) && n == 1;
}

/*
 * Find a buffer of the context that was not queried yet, and mark it as busy. While `busy` is true, the buffer is not
 * released.
 */
static struct buffer *take_unqueried(cl_context context)
{
	struct buffer *b;

	pthread_mutex_lock(&lock);
	for (b = buffers; b && (b->context != context || b->is_queried);)
		b = b->next;
	if (b) {
		b->is_queried = b->busy = true;
		gpubpf_ref_was_counted(atomic_fetch_sub(&unqueried, 1));
	}
	pthread_mutex_unlock(&lock);
	return b;
}

/*
 * Query the buffer's address and record the allocation. Returns false if the device was busy; then a later launch
 * repeats the query.
 */
static bool query_address(struct buffer *b, struct gpubpf_hook_device *device)
{
	struct gpubpf_allocation row = b->row;
	int err = device ? gpubpf_buffer_address(device, b->object.handle, &row.base) : -EOPNOTSUPP;

	if (!err)
		gpubpf_allocation_add(b->context, false, &row);
	pthread_mutex_lock(&lock);
	if (!err)
		b->row.base = row.base;
	if (err == -EBUSY) {
		b->is_queried = false;
		atomic_fetch_add(&unqueried, 1);
	}
	b->busy = false;
	pthread_cond_broadcast(&query_done);
	pthread_mutex_unlock(&lock);
	return err != -EBUSY;
}

struct query_job {
	struct ocl_context *context;
	struct gpubpf_hook_device *device;
};

static void query_all(void *arg)
{
	const struct query_job *f = arg;
	struct gpubpf_hook_device *device = f->device;
	cl_context handle = f->context->object.handle;
	bool alone = has_one_device(handle);
	struct buffer *b;

	pthread_mutex_lock(&query_lock);
	while ((b = take_unqueried(handle)) && query_address(b, alone ? device : NULL))
		;
	pthread_mutex_unlock(&query_lock);
	if (b)
		gpubpf_log_once("a long kernel was still running at a launch: until it ends, the addresses of new "
				"buffers are unknown, and probes do not find these buffers");
	if (!alone)
		gpubpf_log_once("in a context with several devices, the addresses of buffers are unknown: probes do "
				"not find these buffers");
}

void ocl_memory_query_addresses(struct ocl_context *context, struct gpubpf_hook_device *device)
{
	if (atomic_load_explicit(&unqueried, memory_order_relaxed) && gpubpf_allocations_in_use(device) &&
	    !gpubpf_hook_callbacks)
		gpubpf_run_on_agent_thread(query_all, &(struct query_job){ context, device });
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&lock);
}

/* In the child of a fork no query is in progress, since the querying thread does not exist there. */
static void after_fork_child(void)
{
	for (struct buffer *b = buffers; b; b = b->next)
		b->busy = false;
	pthread_mutex_init(&query_lock, NULL);
	pthread_cond_init(&query_done, NULL);
	pthread_mutex_unlock(&lock);
}

/* The runtime calls on_destroy() for each buffer later, which frees the buffer's record. */
void ocl_memory_forget(void)
{
	pthread_mutex_lock(&lock);
	for (struct buffer *b = buffers; b; b = b->next) {
		gpubpf_records_take(&ocl_memories, b->object.handle);
		if (!b->is_queried)
			gpubpf_ref_was_counted(atomic_fetch_sub(&unqueried, 1));
		b->is_queried = true;
	}
	pthread_mutex_unlock(&lock);
}

void ocl_memory_init(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* A call that allocates memory. Programs after the call get the memory. */
#define ALLOC(type, name, size, call, code) \
	GPUBPF_HOST_ALLOC(type, call, code, .event = GPUBPF_HOST_ALLOC, .function = name, .bytes = size)

CL_API_ENTRY cl_mem CL_API_CALL ocl_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
						   cl_int *error)
{
	cl_mem buffer = ALLOC(cl_mem, "clCreateBuffer", size, ocl->clCreateBuffer(context, flags, size, host, error),
			      error ? *error : CL_SUCCESS);

	record_buffer(context, buffer, size);
	return buffer;
}

CL_API_ENTRY cl_mem CL_API_CALL ocl_clCreateBufferWithProperties(cl_context context, const cl_mem_properties *properties,
								 cl_mem_flags flags, size_t size, void *host,
								 cl_int *error)
{
	cl_mem buffer = ALLOC(cl_mem, "clCreateBufferWithProperties", size,
			      ocl->clCreateBufferWithProperties(context, properties, flags, size, host, error),
			      error ? *error : CL_SUCCESS);

	record_buffer(context, buffer, size);
	return buffer;
}

static void *add_allocation(cl_context context, void *memory, size_t size, enum gpubpf_allocation_kind kind)
{
	if (memory)
		gpubpf_allocation_add(context, false,
				      &(struct gpubpf_allocation){ (uintptr_t)memory, size, kind,
								   gpubpf_allocation_number(), gpubpf_allocation_stack() });
	return memory;
}

CL_API_ENTRY void *CL_API_CALL ocl_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment)
{
	return add_allocation(context,
			      ALLOC(void *, "clSVMAlloc", size, ocl->clSVMAlloc(context, flags, size, alignment),
				    result ? CL_SUCCESS : CL_OUT_OF_RESOURCES),
			      size, GPUBPF_ALLOCATION_MANAGED);
}

CL_API_ENTRY void CL_API_CALL ocl_clSVMFree(cl_context context, void *memory)
{
	struct gpubpf_host_call call = { .event = GPUBPF_HOST_FREE, .function = "clSVMFree", .pointer = (uintptr_t)memory };
	bool is_on = gpubpf_host_begin(&call);

	gpubpf_allocation_remove((uintptr_t)memory);
	ocl->clSVMFree(context, memory);
	if (is_on)
		gpubpf_host_end(&call, CL_SUCCESS);
}

/* The allocations are removed now, since the runtime does not report when the queue executes this call. */
CL_API_ENTRY cl_int CL_API_CALL ocl_clEnqueueSVMFree(cl_command_queue queue, cl_uint n, void *memory[],
						     void(CL_CALLBACK *done)(cl_command_queue, cl_uint, void *[], void *),
						     void *user, cl_uint nwait, const cl_event *wait, cl_event *event)
{
	/* if there is a callback, the application frees the memory in it */
	for (cl_uint i = 0; i < n && memory && !done; i++)
		gpubpf_allocation_remove((uintptr_t)memory[i]);
	return ocl->clEnqueueSVMFree(queue, n, memory, done, user, nwait, wait, event);
}

static const struct ocl_usm *usm_of(cl_context context)
{
	struct ocl_context *c = gpubpf_records_find(&ocl_contexts, context);

	return c && c->platform ? &c->platform->usm : NULL;
}

static void *refuse(cl_int *error)
{
	if (error)
		*error = CL_INVALID_CONTEXT;
	return NULL;
}

static void *CL_API_CALL host_alloc(cl_context context, const cl_bitfield *properties, size_t size, cl_uint alignment,
				    cl_int *error)
{
	const struct ocl_usm *usm = usm_of(context);

	return usm && usm->host ? add_allocation(context,
						 ALLOC(void *, "clHostMemAllocINTEL", size,
						       usm->host(context, properties, size, alignment, error),
						       error ? *error : CL_SUCCESS),
						 size, GPUBPF_ALLOCATION_HOST) :
				  refuse(error);
}

static void *CL_API_CALL device_alloc(cl_context context, cl_device_id device, const cl_bitfield *properties,
				      size_t size, cl_uint alignment, cl_int *error)
{
	const struct ocl_usm *usm = usm_of(context);

	return usm && usm->device ? add_allocation(context,
						   ALLOC(void *, "clDeviceMemAllocINTEL", size,
							 usm->device(context, device, properties, size, alignment, error),
							 error ? *error : CL_SUCCESS),
						   size, GPUBPF_ALLOCATION_DEVICE) :
				    refuse(error);
}

static void *CL_API_CALL shared_alloc(cl_context context, cl_device_id device, const cl_bitfield *properties,
				      size_t size, cl_uint alignment, cl_int *error)
{
	const struct ocl_usm *usm = usm_of(context);

	return usm && usm->shared ? add_allocation(context,
						   ALLOC(void *, "clSharedMemAllocINTEL", size,
							 usm->shared(context, device, properties, size, alignment, error),
							 error ? *error : CL_SUCCESS),
						   size, GPUBPF_ALLOCATION_MANAGED) :
				    refuse(error);
}

static cl_int CL_API_CALL mem_free(cl_context context, void *memory)
{
	const struct ocl_usm *usm = usm_of(context);

	gpubpf_allocation_remove((uintptr_t)memory);
	return usm && usm->free ? GPUBPF_HOST_CALL(cl_int, usm->free(context, memory), result, .event = GPUBPF_HOST_FREE,
						   .function = "clMemFreeINTEL", .pointer = (uintptr_t)memory) :
				  CL_INVALID_CONTEXT;
}

static cl_int CL_API_CALL mem_blocking_free(cl_context context, void *memory)
{
	const struct ocl_usm *usm = usm_of(context);

	gpubpf_allocation_remove((uintptr_t)memory);
	return usm && usm->blocking_free ?
		       GPUBPF_HOST_CALL(cl_int, usm->blocking_free(context, memory), result, .event = GPUBPF_HOST_FREE,
					.function = "clMemBlockingFreeINTEL", .pointer = (uintptr_t)memory) :
		       CL_INVALID_CONTEXT;
}

const struct ocl_extension_call ocl_usm_calls[OCL_USM_CALLS] = {
	{ "clHostMemAllocINTEL", host_alloc },           { "clDeviceMemAllocINTEL", device_alloc },
	{ "clSharedMemAllocINTEL", shared_alloc },       { "clMemFreeINTEL", mem_free },
	{ "clMemBlockingFreeINTEL", mem_blocking_free },
};
