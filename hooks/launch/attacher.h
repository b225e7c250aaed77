/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of an adapter with which hooks/attach hooks and unhooks runtimes that the application already uses. */
#ifndef GPUBPF_HOOKS_ATTACHER_H
#define GPUBPF_HOOKS_ATTACHER_H

#include <stdint.h>

/*
 * attach() and detach() run in agent threads, and never at the same time.
 *
 * The function attach() hooks the runtime's libraries that the process has loaded since the last call. hooks/attach
 * calls it every 20 ms.
 *
 * The function detach() undoes all hooks, waits until the running calls and twins end, and releases all records. It
 * returns the number of hooks that stay because another library replaced them. If a call or a twin does not end, it
 * returns -1. Then the records stay, and no tool can attach again.
 *
 * The function after_fork() runs in the child of a fork. From then on, the hooks only call the runtime.
 */
struct gpubpf_attacher {
	void (*attach)(void);
	int (*detach)(void);
	void (*after_fork)(void);
	void (*forget)(void); /* optional: free records that threads which build twins may use; called when these have ended */
};

#endif
