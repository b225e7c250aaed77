/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "core/wire/checks.h"

static struct cuda_driver table;
static char problem[200];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		snprintf(problem, sizeof(problem), "no NVIDIA driver: %s", dlerror());
		return;
	}
#define CUDA_FN(member, symbol, arguments) \
	table.member = (CUresult (*) arguments)dlsym(lib, #symbol); \
	if (!table.member && !problem[0]) \
		snprintf(problem, sizeof(problem), "the NVIDIA driver is too old: it has no " #symbol);
	CUDA_FUNCTIONS(CUDA_FN)
#undef CUDA_FN
}

const struct cuda_driver *cuda_driver_load(char *why, size_t size)
{
	pthread_once(&once, load);
	if (!problem[0])
		return &table;
	snprintf(why, size, "%s", problem);
	return NULL;
}

CUresult cuda_enter(const struct cuda_driver *driver, CUcontext context, int *mode)
{
	CUresult error = driver->ctx_push(context);

	*mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	if (!error)
		driver->capture_mode(mode);
	return error;
}

void cuda_leave(const struct cuda_driver *driver, int *mode)
{
	CUcontext old;

	driver->capture_mode(mode);
	driver->ctx_pop(&old);
}

/* ---- our waits, which must not break the application's stream captures ---- */

#define POLL_NS 50000l
#define MAX_POLLS 40 /* after these polls, a thread that still waits is assumed to have entered the driver */

static atomic_int captures, waits;

bool cuda_wait_begin(void)
{
	atomic_fetch_add(&waits, 1);
	if (!atomic_load(&captures))
		return true;
	cuda_wait_end();
	return false;
}

void cuda_wait_end(void)
{
	gpubpf_ref_was_counted(atomic_fetch_sub(&waits, 1));
}

void cuda_capture_begin(void)
{
	const struct timespec nap = { .tv_nsec = POLL_NS };

	atomic_fetch_add(&captures, 1);
	for (int i = 0; i < MAX_POLLS && atomic_load(&waits); i++)
		nanosleep(&nap, NULL);
}

void cuda_capture_end(void)
{
	int n = atomic_load(&captures);

	while (n > 0 && !atomic_compare_exchange_weak(&captures, &n, n - 1))
		;
}

void cuda_captures_forget(void)
{
	atomic_store(&captures, 0);
}

static atomic_bool twins_ended;

void cuda_twins_have_ended(bool ended)
{
	atomic_store(&twins_ended, ended);
}

bool cuda_twins_ended(void)
{
	return atomic_load(&twins_ended);
}

bool cuda_capture_open(void)
{
	return atomic_load_explicit(&captures, memory_order_relaxed);
}

CUresult cuda_copy_to(const struct cuda_driver *driver, CUdeviceptr to, const void *from, size_t size)
{
	CUstream stream;
	CUresult error = driver->stream_create(&stream, CU_STREAM_NON_BLOCKING);

	if (error)
		return error;
	error = driver->copy_to(to, from, size, stream);
	if (!error)
		error = driver->stream_synchronize(stream);
	driver->stream_destroy(stream);
	return error;
}

const char *cuda_error(const struct cuda_driver *driver, CUresult error)
{
	const char *name = NULL;

	return driver->error_name(error, &name) == 0 && name ? name : "unknown CUDA error";
}
