/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that the agent runs in: its environment, whether it has joined a session, and the system calls that the
 * agent may make. This folder calls neither the client nor the launch path directly.
 */
#ifndef GPUBPF_HOOKS_PROCESS_H
#define GPUBPF_HOOKS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* environ.c: the only file that reads the environment. These functions return NULL if the variable is not set. */
const char *gpubpf_env_session(void);
const char *gpubpf_env_backend(void);
const char *gpubpf_env_variable(const char *name);
bool gpubpf_env_cache(char *path, size_t size); /* path is $XDG_CACHE_HOME/gpubpf or ~/.cache/gpubpf */
uint64_t gpubpf_env_drain_threads(void);        /* returns 0 if the variable is not set or out of range */
uint64_t gpubpf_env_drain_bytes(void);

/*
 * session_state.c: returns true if a seccomp filter forbids system calls of the agent. Then the agent makes no more
 * calls.
 */
bool gpubpf_session_sealed(void);
bool gpubpf_session_attached(void); /* is a tool attached to this process? */
bool gpubpf_session_present(void);  /* is a tool attached, or does the environment name a session? */
/*
 * seccomp.c: gpubpf_lockdown_find_call() looks for a system call that probing needs and for which an installed filter
 * kills the process. It returns the number of the call, or -1. If call `nr` is forbidden,
 * gpubpf_lockdown_allows_stderr() returns true if the agent can still write to standard error.
 */
int gpubpf_lockdown_find_call(void);
bool gpubpf_lockdown_allows_stderr(int nr);
bool gpubpf_lockdown_allows_stack_reads(void); /* may the agent make the system calls for reading stacks? */
/* session_state.c */
bool gpubpf_session_joined(void);         /* has this process (not its parent) joined a session? */
bool gpubpf_session_owned(void);          /* has this process joined, and is it not the child of vfork()? */
uint32_t gpubpf_session_generation(void); /* differs between a process and the child of its fork */

#endif
