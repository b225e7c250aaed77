/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_HOOKS_BPF_ENVIRON_H
#define GPUBPF_HOOKS_BPF_ENVIRON_H

/* Returns the path of the session's socket, or NULL. */
const char *loader_env_session(void);
/* Returns the current value of PATH, as execvp(3) uses it, or NULL. */
const char *loader_env_path(void);

#endif
