/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that the agent runs in: its environment, whether it has joined a session, and the system calls that the
 * agent may make. hooks/process calls neither the client nor the launch path directly.
 */
#ifndef GPUBPF_HOOKS_PROCESS_H
#define GPUBPF_HOOKS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* environ.c: the one file that reads the environment. NULL: the variable is not set. */
const char *gpubpf_env_session(void);
const char *gpubpf_env_backend(void);
const char *gpubpf_env_variable(const char *name);
bool gpubpf_env_cache(char *path, size_t size); /* $XDG_CACHE_HOME/gpubpf or ~/.cache/gpubpf */
uint64_t gpubpf_env_drain_threads(void);        /* 0: not set, or out of range */
uint64_t gpubpf_env_drain_bytes(void);

/* session_state.c: does a seccomp filter forbid calls of the agent? Then the agent makes none any more. */
bool gpubpf_session_sealed(void);
/* seccomp.c: gpubpf_lockdown_find_call() returns the number of a system call that probing needs and for which an
 * installed filter kills the process; -1: none found. If call `nr` is forbidden, gpubpf_lockdown_allows_stderr() says
 * whether the agent can still write to standard error. */
int gpubpf_lockdown_find_call(void);
bool gpubpf_lockdown_allows_stderr(int nr);
bool gpubpf_lockdown_allows_stack_reads(void); /* can the agent make the calls that reading stacks takes? */
/* session_state.c */
bool gpubpf_session_joined(void);         /* has this process (not its parent) joined a session? */
bool gpubpf_session_owned(void);          /* joined, and this is not the child of vfork()? */
uint32_t gpubpf_session_generation(void); /* changes in the child of a fork */

#endif
