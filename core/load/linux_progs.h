/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads and attaches, by libbpf and with the rights of the process, the programs of an object that are for the Linux
 * kernel. An array that they share with programs for a GPU is one memory (BPF_F_MMAPABLE).
 */
#ifndef GPUBPF_LOAD_LINUX_H
#define GPUBPF_LOAD_LINUX_H

#include "load.h"

struct gpubpf_linux;

/*
 * Loads the programs in object->host. On failure returns -errno and a reason, and nothing stays loaded in the kernel.
 */
int gpubpf_linux_load(const struct gpubpf_loaded_object *object, const struct gpubpf_unit *unit, int index,
		      struct gpubpf_linux **kernel, char *why, size_t size);
/*
 * Returns the descriptor of the kernel's map of that name if loaded programs use it; the caller must not close it. -1:
 * no such map.
 */
int gpubpf_linux_map(const struct gpubpf_linux *kernel, const char *name);
/* May loaded programs call one of the n helpers with the map? True also if the map of a call is unknown. */
bool gpubpf_linux_calls(const struct gpubpf_linux *kernel, const char *map, const int *helpers, uint32_t n);
/* Can the map's memory be mapped? True for an array created as mappable. */
bool gpubpf_linux_mappable(const struct gpubpf_linux *kernel, const char *name);
/*
 * Attaches the i-th program of object->host at `target` (BINARY:FUNCTION[+OFFSET]), or at its section's target if NULL.
 */
int gpubpf_linux_attach(struct gpubpf_linux *kernel, const struct gpubpf_loaded_object *object, uint32_t i,
			const char *target, char *why, size_t size);
void gpubpf_linux_detach(struct gpubpf_linux *kernel);
void gpubpf_linux_destroy(struct gpubpf_linux *kernel);

#endif
