/* SPDX-License-Identifier: Apache-2.0 */
/* Finds our other files, next to this one, both in a build tree and where installed. */
#ifndef GPUBPF_WORKER_INSTALLED_H
#define GPUBPF_WORKER_INSTALLED_H

#include <stddef.h>

/*
 * Returns the path of a worker program, of the agent, or of the ready probes. The search starts from the file with this
 * code (libgpubpf.so, or the program that it is linked into), then uses the configured install path. 0, or -ENOENT with
 * the latter.
 */
int gpubpf_worker_find(const char *name, char *path, size_t size);
int gpubpf_agent_find(char *path, size_t size);
/* Finds the library that loaders preload. */
int gpubpf_bpf_preload_find(char *path, size_t size);
/* Finds the folder of the ready probes. */
int gpubpf_probes_find(char *path, size_t size);

#endif
