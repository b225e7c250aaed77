/* SPDX-License-Identifier: Apache-2.0 */
/* Determines the device address of a buffer: a kernel receives the buffer as an argument and stores its address. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "opencl.h"

#define ADDRESS_POLL_NS 50000l
/*
 * Time limits for the query of a buffer's address. On a CPU device, the process's CPU time counts. PoCL compiles a
 * kernel inside the process at its first launch, which took 1.4 s on a core of a virtual machine (2026-11).
 */
#define ADDRESS_WAIT_NS 50000000ull            /* GPU: elapsed time */
#define ADDRESS_WAIT_CPU_NS 3000000000ull      /* CPU device: CPU time of the process */
#define ADDRESS_WAIT_CPU_WALL_NS 10000000000ull /* CPU device: elapsed time; other processes may use the CPU */

static bool has_ended(struct gpubpf_device *d, cl_event event)
{
	cl_int status = CL_COMPLETE;

	return d->api.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL) ||
	       status <= CL_COMPLETE;
}

bool ocl_end_address_query(struct gpubpf_device *d)
{
	if (d->address_event && !has_ended(d, d->address_event))
		return false;
	if (d->address_event)
		d->api.clReleaseEvent(d->address_event);
	free(d->address_result);
	d->address_event = NULL;
	d->address_result = NULL;
	return true;
}

void ocl_create_address_query(struct gpubpf_device *d)
{
	cl_int err;

	if (!(d->caps.bits & GPUBPF_CAP_ALLOCATIONS))
		return;
	d->address_word = d->api.clCreateBuffer(d->context, CL_MEM_READ_WRITE, sizeof(cl_ulong), NULL, &err);
	d->address_kernel = d->api.clCreateKernel(d->test, "gpubpf_test_where", &err);
	if (!d->address_word || !d->address_kernel)
		d->caps.bits &= ~GPUBPF_CAP_ALLOCATIONS;
}

static cl_int enqueue_address_query(struct gpubpf_device *d, cl_mem memory)
{
	size_t one = 1;
	cl_int err = d->api.clSetKernelArg(d->address_kernel, 0, sizeof(memory), &memory);

	if (!err)
		err = d->api.clSetKernelArg(d->address_kernel, 1, sizeof(d->address_word), &d->address_word);
	if (!err)
		err = d->api.clEnqueueNDRangeKernel(d->queue, d->address_kernel, 1, NULL, &one, &one, 0, NULL, NULL);
	if (!err)
		err = d->api.clEnqueueReadBuffer(d->queue, d->address_word, CL_FALSE, 0, sizeof(*d->address_result),
						 d->address_result, 0, NULL, &d->address_event);
	return err ? err : d->api.clFlush(d->queue);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts = { 0 };

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/*
 * Wait a limited time for the query's kernel. The query runs after the application's kernels. One of these may run
 * until the application stops it, and the caller must not wait for that. On a CPU device, the application's kernel
 * consumes CPU time of this process. If the process consumes no CPU time, the machine is busy and the limit is longer.
 */
static void wait_address_query(struct gpubpf_device *d)
{
	const uint64_t began = clock_ns(CLOCK_MONOTONIC), used = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	const bool is_cpu = d->caps.bits & GPUBPF_CAP_X86;
	const uint64_t wall = is_cpu ? ADDRESS_WAIT_CPU_WALL_NS : ADDRESS_WAIT_NS;
	const uint64_t cpu = is_cpu ? ADDRESS_WAIT_CPU_NS : ADDRESS_WAIT_NS;
	const struct timespec nap = { .tv_nsec = ADDRESS_POLL_NS };

	while (d->address_event && !has_ended(d, d->address_event) && clock_ns(CLOCK_MONOTONIC) - began < wall &&
	       clock_ns(CLOCK_PROCESS_CPUTIME_ID) - used < cpu)
		nanosleep(&nap, NULL);
}

int ocl_buffer_address(struct gpubpf_device *d, void *buffer, uint64_t *address)
{
	cl_int err;

	if (!ocl_end_address_query(d))
		return -EBUSY;
	d->address_result = d->address_kernel && d->address_word ? calloc(1, sizeof(*d->address_result)) : NULL;
	if (!d->address_result)
		return -EIO;
	err = enqueue_address_query(d, buffer);
	wait_address_query(d);
	if (d->address_event && !has_ended(d, d->address_event))
		return -EBUSY;
	*address = *d->address_result;
	err |= !*d->address_result;
	ocl_end_address_query(d);
	return err ? -EIO : 0;
}
