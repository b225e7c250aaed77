/* SPDX-License-Identifier: Apache-2.0 */
/* time.c: the clock of all deadlines, in ns, and functions that wait until a deadline. */
#ifndef GPUBPF_HOOKS_TIME_H
#define GPUBPF_HOOKS_TIME_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

uint64_t gpubpf_now_ns(void); /* CLOCK_MONOTONIC */
/*
 * Returns false if the deadline has passed. Uses only calls that ThreadSanitizer intercepts, since the application may
 * be built with ThreadSanitizer.
 */
bool gpubpf_mutex_lock_until(pthread_mutex_t *lock, uint64_t deadline_ns);

void gpubpf_cond_init(pthread_cond_t *cond); /* the condition variable uses CLOCK_MONOTONIC */
/*
 * Returns false if the deadline has passed. Returns true if the thread was woken; the caller must check its condition.
 */
bool gpubpf_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns);

#endif
