/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of an object that are for the Linux kernel: libbpf loads and attaches them there, by the process's own rights.
 * An array that they and programs for a GPU name is one memory for both (BPF_F_MMAPABLE).
 */
#ifndef GPUBPF_LOAD_LINUX_H
#define GPUBPF_LOAD_LINUX_H

#include "load.h"

struct gpubpf_linux;

/* Load those that object->host names. -errno and why, in words: then nothing is in the kernel. */
int gpubpf_linux_load(const struct gpubpf_loaded_object *object, const struct gpubpf_unit *unit, int index,
		      struct gpubpf_linux **kernel, char *why, size_t size);
/* The kernel's map of that name, if programs that were loaded use it: its descriptor, which stays ours; -1. */
int gpubpf_linux_map(const struct gpubpf_linux *kernel, const char *name);
/* May programs that were loaded call one of these helpers with the map? Where it is not seen which map a call is given, they may. */
bool gpubpf_linux_calls(const struct gpubpf_linux *kernel, const char *map, const int *helpers, uint32_t n);
/* Its memory can be mapped: it is an array that was made so. */
bool gpubpf_linux_mappable(const struct gpubpf_linux *kernel, const char *name);
/* Attach the i-th of object->host, at `target` (BINARY:FUNCTION[+OFFSET]), or as its section says where that is NULL. */
int gpubpf_linux_attach(struct gpubpf_linux *kernel, const struct gpubpf_loaded_object *object, uint32_t i,
			const char *target, char *why, size_t size);
void gpubpf_linux_detach(struct gpubpf_linux *kernel);
void gpubpf_linux_destroy(struct gpubpf_linux *kernel);

#endif
