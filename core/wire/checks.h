/* SPDX-License-Identifier: Apache-2.0 */
/* Asserts for what only our own mistake can break. Builds for CI have them (ci/build), packages do not. */
#ifndef GPUBPF_CORE_WIRE_CHECKS_H
#define GPUBPF_CORE_WIRE_CHECKS_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/* This thread holds the mutex: of those that are not of another kind glibc notes the owner. */
#define gpubpf_assert_held(mutex) assert((mutex)->__data.__owner == gettid())

/* A reference was given up, of which there were `had`: was it the last one? */
static inline bool gpubpf_was_last(uint32_t had)
{
	assert(had > 0);
	return had == 1;
}

/* The same where somebody else looks whether it was. */
static inline void gpubpf_was_counted(int had)
{
	assert(had > 0);
}

#endif
