/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that the agent runs in: its environment, its part in a session, and the system calls that the agent may
 * make. Nothing here calls the client or the launch path.
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
bool gpubpf_env_cache(char *path, size_t size);     /* $XDG_CACHE_HOME/gpubpf or ~/.cache/gpubpf */
uint64_t gpubpf_env_drain_threads(void);            /* 0: not set, or out of range */
uint64_t gpubpf_env_drain_bytes(void);

/* session_state.c: a seccomp filter forbids calls that the agent makes; it makes none from now on. */
bool gpubpf_session_sealed(void);
/* seccomp.c: number of a system call that probing needs and that an earlier filter kills the process for; -1: none found. If
 * call `nr` is forbidden, gpubpf_lockdown_allows_stderr() says whether the agent can still write to standard error. */
int gpubpf_lockdown_find_call(void);
bool gpubpf_lockdown_allows_stderr(int nr);
bool gpubpf_lockdown_allows_stack_reads(void); /* can the agent make the calls that reading stacks takes? */
/* session_state.c */
bool gpubpf_session_joined(void);                   /* this process itself has joined once */
bool gpubpf_session_owned(void);                    /* the same, and this is not the child of vfork() */
uint32_t gpubpf_session_generation(void);           /* changes in the child of a fork */

#endif
