/* SPDX-License-Identifier: Apache-2.0 */
/* Asserts against our own bugs. Builds for CI enable them (ci/build), packages do not. */
#ifndef GPUBPF_CORE_WIRE_CHECKS_H
#define GPUBPF_CORE_WIRE_CHECKS_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/* Does this thread hold the mutex? glibc records the owner of mutexes of the default kind. */
#define gpubpf_assert_held(mutex) assert((mutex)->__data.__owner == gettid())

/* Was the released reference the last of `had` references? */
static inline bool gpubpf_ref_was_last(uint32_t had)
{
	assert(had > 0);
	return had == 1;
}

/* Asserts that `had`, the count before a reference was released, was positive. */
static inline void gpubpf_ref_was_counted(int had)
{
	assert(had > 0);
}

#endif
