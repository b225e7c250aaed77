/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds other files of gpubpf, relative to the library or program that contains this code. This works in a build tree
 * and in an installation.
 */
#ifndef GPUBPF_WORKER_INSTALLED_H
#define GPUBPF_WORKER_INSTALLED_H

#include <stddef.h>

/*
 * Stores the path of a worker program (or of the agent) in `path`. The search begins at the folder of libgpubpf.so or
 * of the program that contains this code, and ends at the configured install path. Returns 0, or -ENOENT with the path
 * below the install path.
 */
int gpubpf_worker_find(const char *name, char *path, size_t size);
int gpubpf_agent_find(char *path, size_t size);
/* Stores the path of the idle library, which prepares an application for a later attach. */
int gpubpf_idle_find(char *path, size_t size);
/* Stores the path of the library that is preloaded into BPF loaders. Searches like gpubpf_worker_find(). */
int gpubpf_bpf_preload_find(char *path, size_t size);
/* Stores the path of the folder with the probes that gpubpf installs. Searches like gpubpf_worker_find(). */
int gpubpf_probes_find(char *path, size_t size);

#endif
