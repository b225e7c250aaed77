/* SPDX-License-Identifier: Apache-2.0 */
/* Executors of libgpubpf. gpubpf/gpubpf.h includes this file. */
#ifndef GPUBPF_EXECUTOR_H
#define GPUBPF_EXECUTOR_H

#ifndef GPUBPF_API
#error "include gpubpf/gpubpf.h"
#endif

/* -- executors: a program of section gpu/run/ in one resident launch, which takes requests from a queue -- */

struct gpubpf_executor;

struct gpubpf_executor_opts {
	size_t sz; /* sizeof(struct gpubpf_executor_opts) */
	/* The data, which host and device access at the same time: data_size bytes, a multiple of 8. It begins with the
	 * bytes at data_in, or with zeros if data_in is NULL. */
	const void *data_in;
	size_t data_size;
	uint32_t blocks;              /* resident blocks, one per multiprocessor; 0: 1. At most 1,024 */
	uint32_t threads;             /* threads of each block, in dimension x; 0: 1 */
	const char *backend, *device; /* as in struct gpubpf_test_run_opts */
	uint32_t device_index;
	uint32_t timeout_ms; /* time limit of the start with the compilation; 0: 300,000 */
	char *const *environ;
	char used_backend[16], used_device[128]; /* out: the device that runs the program */
};

/*
 * Start an executor: a process launches one kernel, which stays on `blocks` multiprocessors until it is stopped. Each
 * request runs the program once, in all threads of one block. There gpubpf_data() and gpubpf_data_size() refer to the
 * request's part of the data. The session can have one executor or one direct run at a time.
 *
 * The launch ends by gpubpf_executor__free(), and also if the caller's process dies. On CUDA, the kernel returns if the
 * process that launched it does not increment a heartbeat for 2 s.
 *
 * Returns the errors of gpubpf_prog__test_run(). Returns -EOPNOTSUPP if the launch did not run the program.
 */
GPUBPF_API int gpubpf_executor__new(const struct gpubpf_prog *prog, struct gpubpf_executor_opts *opts,
				    struct gpubpf_executor **executor);
/* Returns the data. */
GPUBPF_API void *gpubpf_executor__data(const struct gpubpf_executor *executor);
/*
 * Request a run with the `size` bytes at `offset` of the data, both multiples of 8. Stores a number in *request, which
 * gpubpf_executor__wait() needs. A function of an executor must not run in two threads at the same time.
 *
 * Returns -EAGAIN if all queues are full; wait for an earlier request first. Each block has a queue of 64 requests.
 * Returns -EINVAL if the bytes are not all in the data, or size or offset is not a multiple of 8.
 * Returns -ESHUTDOWN if the launch has ended.
 */
GPUBPF_API int gpubpf_executor__submit(struct gpubpf_executor *executor, size_t offset, size_t size, uint64_t *request);
/*
 * Wait until a request has ended, and store the result of the program in the block's first thread in *retval, which may
 * be NULL. Each request must be waited for once. The call polls memory, and serves the session after 1 ms.
 *
 * Returns -ETIMEDOUT if the request has not ended after timeout_ms; it can be waited for again.
 * Returns -ENOENT if there is no such request.
 * Returns -ESHUTDOWN if the launch has ended.
 */
GPUBPF_API int gpubpf_executor__wait(struct gpubpf_executor *executor, uint64_t request, uint32_t timeout_ms,
				     uint32_t *retval);
/* End the launch and free the executor, which may be NULL. Returns 0, or the error of the launch. */
GPUBPF_API int gpubpf_executor__free(struct gpubpf_executor *executor);

#endif
