/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_HOOKS_BPF_ENVIRON_H
#define GPUBPF_HOOKS_BPF_ENVIRON_H

/* The path of the session's socket; NULL: there is none. */
const char *loader_env_session(void);
/* PATH, as execvp(3) reads it when it is called; or NULL. */
const char *loader_env_path(void);

#endif
