/* SPDX-License-Identifier: Apache-2.0 */
#include "prepared.h"

#include <dlfcn.h>
#include <pthread.h>

#include "dlsym.h"

static struct gpubpf_idle idle;
static bool is_found;

/* A library that is loaded later is not in the global scope, so one search is enough. */
static void find_library(void)
{
	gpubpf_idle_open_fn open = (gpubpf_idle_open_fn)gpubpf_dlsym_next()(RTLD_DEFAULT, GPUBPF_IDLE_OPEN);

	is_found = open && open(GPUBPF_IDLE_VERSION, &idle);
}

const struct gpubpf_idle *gpubpf_idle_library(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_library);
	return is_found ? &idle : NULL;
}

/* Store the hook if the slot has the address `have`. Returns true if the slot has the hook after that. */
static bool replace(void **slot, void *have, void *hook)
{
	return __atomic_compare_exchange_n(slot, &have, hook, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) || have == hook;
}

bool gpubpf_idle_hook(const char *symbol, void *function, void *hook)
{
	const struct gpubpf_idle *idle = gpubpf_idle_library();
	void **slot = idle ? idle->slot(symbol) : NULL;

	return slot && function && replace(slot, function, hook);
}

bool gpubpf_idle_hook_unused(const char *symbol, void *function, void *hook)
{
	const struct gpubpf_idle *idle = gpubpf_idle_library();
	void **slot = idle ? idle->slot(symbol) : NULL;

	return slot && function && (replace(slot, NULL, hook) || replace(slot, function, hook));
}

bool gpubpf_idle_unhook(const char *symbol, void *function, void *hook)
{
	const struct gpubpf_idle *idle = gpubpf_idle_library();
	void **slot = idle ? idle->slot(symbol) : NULL;

	return slot && (__atomic_compare_exchange_n(slot, &hook, function, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
			hook == function);
}
