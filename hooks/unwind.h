/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind.c: the calling thread's stack. By the tables that compilers leave for exceptions (.eh_frame), and over code that has
 * none by frame pointers. Reads nothing but the thread's stack, and of files that are loaded what the loader has mapped to be
 * read; needs no memory, and no lock is held when the loader is asked.
 */
#ifndef GPUBPF_HOOKS_UNWIND_H
#define GPUBPF_HOOKS_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

/* Where the calls return to, the innermost first, from the first one on that is not in this library; how many of `room`. What
 * lies behind code that tells nothing of its caller is not found. may_call: the system may be asked where a stack is, which a
 * thread does once, and what is on one that is not the thread's own; else stacks of which it must be are not read. */
uint32_t gpubpf_unwind(uint64_t *address, uint32_t room, bool may_call);
/* Another number when files of code were unloaded since: what was known of addresses may not hold any more. */
uint64_t gpubpf_unwind_unloaded(void);
void gpubpf_unwind_after_fork(void);

#endif
