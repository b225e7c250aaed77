/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A map of the Linux kernel that the tool changes while programs run there. A program in the kernel (BPF_PROG_TEST_RUN)
 * adds to and exchanges single words, since bpf(2) replaces whole values.
 */
#ifndef GPUBPF_LOAD_LINUX_MAP_H
#define GPUBPF_LOAD_LINUX_MAP_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls the kernel's bpf(2). Returns its result, or -errno. */
long gpubpf_linux_bpf(int cmd, union bpf_attr *attr);

struct gpubpf_linux_map_opts {
	int fd;                        /* the caller owns it, and must not close it before the map */
	uint32_t key_size, value_size; /* of one value */
	uint32_t word;                 /* size of the words that can be changed in place, 4 or 8 bytes; 0: only whole
				        * values can be replaced */
};

#define GPUBPF_LINUX_WORDS 1024u       /* maximum number of words of a value, for changes in place */

struct gpubpf_linux_map;

int gpubpf_linux_map_open(const struct gpubpf_linux_map_opts *opts, struct gpubpf_linux_map **map);
void gpubpf_linux_map_close(struct gpubpf_linux_map *map);
/*
 * Returns the bytes that look-ups and updates copy. A per-CPU map has one value for each possible CPU, each padded to 8
 * bytes.
 */
size_t gpubpf_linux_map_user_size(const struct gpubpf_linux_map *map);

/*
 * Visits once every element that exists during the whole visit. A non-zero return of fn ends the visit and is returned.
 */
typedef int (*gpubpf_linux_element_fn)(void *arg, const void *key, const void *value);
int gpubpf_linux_map_each(struct gpubpf_linux_map *map, gpubpf_linux_element_fn fn, void *arg);
/* Adds each word of `value` to the key's value, atomically by a program in the kernel. 0, -ENOENT: no such key. */
int gpubpf_linux_map_add(struct gpubpf_linux_map *map, const void *key, const void *value);
/*
 * Sets each word that differs between `old` and `value`, if the map's word still equals the old one. Without words
 * (word 0), replaces the whole value.
 */
int gpubpf_linux_map_exchange(struct gpubpf_linux_map *map, const void *key, const void *old, const void *value);
/* the operations of bpf(2) */
int gpubpf_linux_map_lookup(struct gpubpf_linux_map *map, const void *key, void *value);
int gpubpf_linux_map_update(struct gpubpf_linux_map *map, const void *key, const void *value, uint64_t flags);
int gpubpf_linux_map_delete(struct gpubpf_linux_map *map, const void *key);
int gpubpf_linux_map_pop(struct gpubpf_linux_map *map, void *value); /* reads and deletes the next value of a queue
								      * or a stack */

#endif
