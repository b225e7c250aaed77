/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles applications that end by _exit(), which runs no exit handlers. Child processes of Python's multiprocessing
 * end so. The agent first copies arenas outside host memory back. Callers may be signal handlers and children of
 * vfork().
 */
#include "process.h"
#include "dlsym.h"
#include "session_state.h"

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
	gpubpf_process_prepare_exit();
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
