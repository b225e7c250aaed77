/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind.c: unwinds the calling thread's stack. It uses the exception tables (.eh_frame), and frame pointers for code
 * without tables. It reads only the thread's stack and the readable mappings of loaded files. It allocates no memory
 * and holds no lock while it queries the loader.
 */
#ifndef GPUBPF_HOOKS_UNWIND_H
#define GPUBPF_HOOKS_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

/* Stores return addresses, innermost first, starting at the first one outside this library. Returns their number, at
 * most `room`. Unwinding stops at code whose caller cannot be determined. With may_call it may make system calls:
 * once per thread to find its stack, and to read a stack other than the thread's own. Without it, stacks that need
 * these are not read. */
uint32_t gpubpf_unwind(uint64_t *address, uint32_t room, bool may_call);
/* Changes when code files are unloaded: facts about addresses may then be stale. */
uint64_t gpubpf_unwind_unloaded(void);
void gpubpf_unwind_after_fork(void);

#endif
