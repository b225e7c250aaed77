/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_HOOKS_STACKS_H
#define GPUBPF_HOOKS_STACKS_H

#include <stdint.h>

/*
 * stacks.c: gpubpf_stack_current_number() returns the session's number of the calling thread's stack. The stack begins
 * with the innermost function outside this library. `skip` frames are skipped, and at most `depth` frames are used.
 * Returns 0 if the number is unknown, or if the session has not answered yet.
 *
 * Function gpubpf_stack_word() shifts the number to the unused bits of the launch's word with the process id
 * (pid_tgid).
 */
uint32_t gpubpf_stack_current_number(uint32_t skip, uint32_t depth);
uint64_t gpubpf_stack_word(uint32_t number);
void gpubpf_stacks_after_fork(void);

#endif
