/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_HOOKS_STACKS_H
#define GPUBPF_HOOKS_STACKS_H

#include <stdint.h>

/*
 * stacks.c: number of the calling thread's stack, starting at the first function outside this library. Skips `skip`
 * frames and keeps at most `depth`. 0: unknown, or not answered yet. The number goes into the spare bits of the launch
 * word with the process id, as gpubpf_stack_word() places it.
 */
uint32_t gpubpf_stack_current_number(uint32_t skip, uint32_t depth);
uint64_t gpubpf_stack_word(uint32_t number);
void gpubpf_stacks_after_fork(void);

#endif
