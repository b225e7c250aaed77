/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads and attaches the programs of an object that are for the Linux kernel, by libbpf and with the rights of this
 * process. If these programs and GPU programs use the same array, both access the same memory (BPF_F_MMAPABLE).
 */
#ifndef GPUBPF_LOAD_LINUX_H
#define GPUBPF_LOAD_LINUX_H

#include "load.h"

struct gpubpf_linux;

/*
 * Loads the programs in object->host. On failure returns -errno and a reason, and leaves nothing loaded in the Linux
 * kernel.
 */
int gpubpf_linux_load(const struct gpubpf_loaded_object *object, const struct gpubpf_unit *unit, int index,
		      struct gpubpf_linux **kernel, char *why, size_t size);
/*
 * Returns the file descriptor of the Linux kernel's map of that name, or -1 if loaded programs use no such map. The
 * caller must not close it.
 */
int gpubpf_linux_map(const struct gpubpf_linux *kernel, const char *name);
/*
 * Returns true if loaded programs may call one of the n helpers with the map, or with a map that cannot be determined.
 */
bool gpubpf_linux_calls(const struct gpubpf_linux *kernel, const char *map, const int *helpers, uint32_t n);
/* Returns true if the map is an array whose memory can be mapped. */
bool gpubpf_linux_mappable(const struct gpubpf_linux *kernel, const char *name);
/*
 * Attaches program i of object->host at `target` (BINARY:FUNCTION[+OFFSET]). If `target` is NULL, attaches it to the
 * target in its section name.
 */
int gpubpf_linux_attach(struct gpubpf_linux *kernel, const struct gpubpf_loaded_object *object, uint32_t i,
			const char *target, char *why, size_t size);
void gpubpf_linux_detach(struct gpubpf_linux *kernel);
void gpubpf_linux_destroy(struct gpubpf_linux *kernel);

#endif
