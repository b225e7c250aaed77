/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the idle library, which `gpubpf run --idle` has loaded into this process before the agent (hooks/idle/idle.h). */
#ifndef GPUBPF_HOOKS_PREPARED_H
#define GPUBPF_HOOKS_PREPARED_H

#include "hooks/idle/idle.h"

/* Returns the functions of the idle library. Returns NULL if the process does not have it, or has another version. */
const struct gpubpf_idle *gpubpf_idle_library(void);
/*
 * Let the application's calls of a runtime's function reach `hook`. The function `symbol` of the runtime is at
 * `function`. Returns false if the slot does not have that address. An empty slot proves nothing: the application may
 * have the function's address from elsewhere, for example by RTLD_DEEPBIND.
 */
bool gpubpf_idle_hook(const char *symbol, void *function, void *hook);
/* Like gpubpf_idle_hook(), but also hooks an empty slot. Calls that do not pass through the slot stay unseen. */
bool gpubpf_idle_hook_unused(const char *symbol, void *function, void *hook);
/* Undo gpubpf_idle_hook(). Returns false if the slot has another address than that of the hook or of the function. */
bool gpubpf_idle_unhook(const char *symbol, void *function, void *hook);

#endif
