/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A map of the Linux kernel that the tool changes while programs in the Linux kernel use it. Since bpf(2) can only
 * replace whole values, a BPF program (BPF_PROG_TEST_RUN) adds to or exchanges single words.
 */
#ifndef GPUBPF_LOAD_LINUX_MAP_H
#define GPUBPF_LOAD_LINUX_MAP_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls bpf(2) of the Linux kernel. Returns its result, or -errno. */
long gpubpf_linux_bpf(int cmd, union bpf_attr *attr);

struct gpubpf_linux_map_opts {
	/* file descriptor of the map; the caller owns it, and closes it only after the map */
	int fd;
	uint32_t key_size, value_size; /* bytes of a key and of one value */
	/* size of the words that can be changed singly, 4 or 8 bytes; 0: only whole values can be replaced */
	uint32_t word;
};

#define GPUBPF_LINUX_WORDS 1024u       /* maximum number of words in a value whose words can be changed singly */

struct gpubpf_linux_map;

int gpubpf_linux_map_open(const struct gpubpf_linux_map_opts *opts, struct gpubpf_linux_map **map);
void gpubpf_linux_map_close(struct gpubpf_linux_map *map);
/*
 * Returns the number of bytes that look-ups and updates copy. For a per-CPU map, these are the values of all possible
 * CPUs, each padded to 8 bytes.
 */
size_t gpubpf_linux_map_user_size(const struct gpubpf_linux_map *map);

/*
 * Calls fn once for every element that exists during the whole visit. If fn returns a value other than 0, the visit
 * ends and returns this value.
 */
typedef int (*gpubpf_linux_element_fn)(void *arg, const void *key, const void *value);
int gpubpf_linux_map_each(struct gpubpf_linux_map *map, gpubpf_linux_element_fn fn, void *arg);
/*
 * Adds each word of `value` to the key's value. A BPF program in the Linux kernel adds atomically. Returns 0, or
 * -ENOENT if the map has no such key.
 */
int gpubpf_linux_map_add(struct gpubpf_linux_map *map, const void *key, const void *value);
/*
 * Sets each word in which `old` and `value` differ, if the map's word still equals that of `old`. If the map's option
 * `word` is 0, replaces the whole value.
 */
int gpubpf_linux_map_exchange(struct gpubpf_linux_map *map, const void *key, const void *old, const void *value);
/* these call the operations of bpf(2) */
int gpubpf_linux_map_lookup(struct gpubpf_linux_map *map, const void *key, void *value);
int gpubpf_linux_map_update(struct gpubpf_linux_map *map, const void *key, const void *value, uint64_t flags);
int gpubpf_linux_map_delete(struct gpubpf_linux_map *map, const void *key);
/* reads and deletes the next value of a queue or stack */
int gpubpf_linux_map_pop(struct gpubpf_linux_map *map, void *value);

#endif
