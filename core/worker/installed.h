/* SPDX-License-Identifier: Apache-2.0 */
/* Where our other parts are: beside this one, in a build tree as where it was installed. */
#ifndef GPUBPF_WORKER_INSTALLED_H
#define GPUBPF_WORKER_INSTALLED_H

#include <stddef.h>

/*
 * The path of a worker program, of the agent, of the ready probes: looked for from where this code is (libgpubpf.so, or the program that it
 * is linked into), then where it was configured to be installed. 0, or -ENOENT with that last path.
 */
int gpubpf_worker_find(const char *name, char *path, size_t size);
int gpubpf_agent_find(char *path, size_t size);
/* What loaders have preloaded. */
int gpubpf_bpf_preload_find(char *path, size_t size);
/* The folder of the ready probes. */
int gpubpf_probes_find(char *path, size_t size);

#endif
