/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_HOOKS_BPF_ENVIRON_H
#define GPUBPF_HOOKS_BPF_ENVIRON_H

/* The path of the session's socket, or NULL. */
const char *loader_env_session(void);
/* The present PATH, as execvp(3) uses it, or NULL. */
const char *loader_env_path(void);

#endif
