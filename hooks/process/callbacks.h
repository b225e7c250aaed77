/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_HOOKS_CALLBACKS_H
#define GPUBPF_HOOKS_CALLBACKS_H

/*
 * agent_thread.c: number of nested runtime callbacks that run on this thread. A launch inside a callback neither waits
 * for a twin nor builds one.
 */
extern _Thread_local int gpubpf_hook_callbacks;

#endif
