/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind.c: unwinds the calling thread's stack. It uses the exception tables (.eh_frame), or frame pointers for code
 * without tables. It reads only the thread's stack and the readable mappings of loaded files. It allocates no memory.
 * It holds no lock while it calls functions of the dynamic linker.
 */
#ifndef GPUBPF_HOOKS_UNWIND_H
#define GPUBPF_HOOKS_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Store the return addresses of the calling thread's stack, innermost first, from the first address outside this
 * library on. Returns the number of addresses, at most `room`. Unwinding stops at code whose caller cannot be
 * determined.
 *
 * If may_call is true, the function may make system calls. It makes them once per thread to find the thread's stack,
 * and to read a stack that is not the thread's own. Otherwise stacks that need system calls are not read.
 */
uint32_t gpubpf_unwind(uint64_t *address, uint32_t room, bool may_call);
/* Returns a value that changes when code files are unloaded. Then information about code addresses may be stale. */
uint64_t gpubpf_unwind_unloaded(void);
void gpubpf_unwind_after_fork(void);

#endif
