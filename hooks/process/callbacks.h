/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_HOOKS_CALLBACKS_H
#define GPUBPF_HOOKS_CALLBACKS_H

/* agent_thread.c: depth of runtime callbacks on this thread. Launches inside a callback neither wait for twins nor
 * build them. */
extern _Thread_local int gpubpf_hook_callbacks;

#endif
