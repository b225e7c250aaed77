/* SPDX-License-Identifier: Apache-2.0 */
/* Assertions that detect bugs of gpubpf. They are enabled in CI builds (ci/build) and disabled in packages. */
#ifndef GPUBPF_CORE_WIRE_CHECKS_H
#define GPUBPF_CORE_WIRE_CHECKS_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/* Assert that this thread holds the mutex. glibc records the owner of mutexes of the default kind. */
#define gpubpf_assert_held(mutex) assert((mutex)->__data.__owner == gettid())

/*
 * Returns true if the reference that was just released was the last one. `had` is the reference count before the
 * release.
 */
static inline bool gpubpf_ref_was_last(uint32_t had)
{
	assert(had > 0);
	return had == 1;
}

/* Assert that the reference count before a release, `had`, was positive. */
static inline void gpubpf_ref_was_counted(int had)
{
	assert(had > 0);
}

#endif
