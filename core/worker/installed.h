/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the other files of gpubpf relative to this library or program, in a build tree or an installation. */
#ifndef GPUBPF_WORKER_INSTALLED_H
#define GPUBPF_WORKER_INSTALLED_H

#include <stddef.h>

/*
 * Each function stores the path of a worker program, of the agent, or of another file. It searches from the folder of
 * libgpubpf.so, or of the program that contains this code, then in the configured install path. 0, or -ENOENT with the
 * path below the install path.
 */
int gpubpf_worker_find(const char *name, char *path, size_t size);
int gpubpf_agent_find(char *path, size_t size);
/* Finds the library that loaders preload. */
int gpubpf_bpf_preload_find(char *path, size_t size);
/* Finds the folder of the probes that gpubpf installs. */
int gpubpf_probes_find(char *path, size_t size);

#endif
