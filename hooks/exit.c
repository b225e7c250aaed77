/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that leave by _exit(), which runs no handlers: children of Python's multiprocessing, and others. Arenas
 * that are copied are copied once more before. Callers may be handlers of signals, and children of vfork.
 */
#include "agent.h"
#include "dlsym.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

static void (*next_exit)(int status);

__attribute__((constructor)) static void find_next(void)
{
	next_exit = (void (*)(int))gpubpf_dlsym_next()(RTLD_NEXT, "_exit");
}

#pragma GCC visibility push(default)

__attribute__((noreturn)) void _exit(int status)
{
	gpubpf_session_leave();
	if (next_exit)
		next_exit(status);
	for (;;)
		syscall(SYS_exit_group, status);
}

__attribute__((noreturn)) void _Exit(int status)
{
	_exit(status);
}

#pragma GCC visibility pop
