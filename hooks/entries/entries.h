/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks functions of runtimes in an attached session. The tool patches the function's first bytes by a jump to a slot,
 * which jumps to a hook thunk (entries_x86_64.S). The thunk counts the call, calls the agent's function, and counts the
 * return. Calls from inside a hook, and calls by the agent's threads, go straight to the runtime. So a call that the
 * runtime makes of itself is not counted twice.
 *
 * In a prepared process (hooks/process/prepared.h), the agent stores the hook thunk into the slot of the idle library
 * instead, and the function keeps its bytes. The tool patches only functions that the application has not called through
 * their slots. If a patch is refused, the agent uses the empty slot.
 *
 * After a detach the agent maps the library's file over the patched pages, so the functions have their own bytes again.
 * A thread that still has the jump reaches the thunk, which then only jumps to the moved beginning of the function.
 * Slots and journal stay until the process ends.
 */
#ifndef GPUBPF_HOOKS_ENTRIES_H
#define GPUBPF_HOOKS_ENTRIES_H

#define GPUBPF_ENTRY_THUNK_SIZE 16
#define GPUBPF_ENTRIES 512 /* number of thunks, and of sites in the journal */

#ifndef __ASSEMBLER__

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Add a function of a runtime, which the agent keeps loaded. Its arguments must be integers or pointers, at most ten
 * words of them on the stack. A function that was added before is not added again. Call it in agent threads only.
 *
 * - hook: the agent's function
 * - next: a pointer through which the agent calls the runtime. Once the function is patched, it has the address of the
 *   moved beginning.
 */
void gpubpf_entry_add(const char *name, void *function, void *hook, void **next);
/* Request that the tool patches the added functions. Reports functions that stay unhooked. No hook runs yet. */
void gpubpf_entries_patch(void);
void gpubpf_entries_start(void);                   /* let hooks run */
bool gpubpf_entry_is_hooked(const void *function); /* is the function patched now? */
/* Let no hook run any more, except for the n functions in `last`. Their hooks run until gpubpf_entries_restore(). */
void gpubpf_entries_drain(const char *const *last, size_t n);
/*
 * Let hooks no longer run, and restore all functions. Returns the number of functions that stay patched, whose thunks
 * only jump on. Calling it again has no effect.
 */
uint32_t gpubpf_entries_restore(void);
bool gpubpf_entries_wait_left(uint64_t ns); /* wait until each hook that runs has returned; returns false after `ns` */
void gpubpf_entries_after_fork(void);
/* Returns the address through which the agent calls a function without its hook. */
void *gpubpf_entry_unhooked(void *function);
/* Returns the return address of the application's call in whose hook the thread is, or `own` if it is in none. */
const void *gpubpf_entry_caller(const void *own);

/* for the thunks */
void *gpubpf_entry_enter(uint32_t i, void **frame);
void gpubpf_entry_leave(void **frame);

#endif
#endif
