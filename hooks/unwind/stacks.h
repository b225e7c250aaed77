/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_HOOKS_STACKS_H
#define GPUBPF_HOOKS_STACKS_H

#include <stdint.h>

/*
 * stacks.c: the session's number of the calling thread's stack, from the first function outside this library on. Skips
 * `skip` frames and uses at most `depth`. 0: unknown, or not answered yet. gpubpf_stack_word() shifts the number to the
 * spare bits of the launch's word with the process id (pid_tgid).
 */
uint32_t gpubpf_stack_current_number(uint32_t skip, uint32_t depth);
uint64_t gpubpf_stack_word(uint32_t number);
void gpubpf_stacks_after_fork(void);

#endif
