/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A map of the Linux kernel's, as the tool changes it beside programs that run there. Single words are added to and
 * exchanged by a program of ours in the kernel (BPF_PROG_TEST_RUN), since bpf(2) replaces values as a whole.
 */
#ifndef GPUBPF_LOAD_LINUX_MAP_H
#define GPUBPF_LOAD_LINUX_MAP_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* bpf(2), by the kernel itself: what it returns, or -errno. */
long gpubpf_linux_bpf(int cmd, union bpf_attr *attr);

struct gpubpf_linux_map_opts {
	int fd;                        /* stays the caller's, and must live as long */
	uint32_t key_size, value_size; /* of one value */
	uint32_t word;                 /* 4 or 8 bytes, of which values are made; 0: they are replaced as a whole */
};

#define GPUBPF_LINUX_WORDS 1024u       /* of a value, at most, that can be changed in place */

struct gpubpf_linux_map;

int gpubpf_linux_map_open(const struct gpubpf_linux_map_opts *opts, struct gpubpf_linux_map **map);
void gpubpf_linux_map_close(struct gpubpf_linux_map *map);
/* Bytes that look-ups and updates move: where each CPU that may be has a value, all of these, each padded to 8 bytes. */
size_t gpubpf_linux_map_user_size(const struct gpubpf_linux_map *map);

/* Every element that stays, once. fn's non-zero return ends it and is returned. */
typedef int (*gpubpf_linux_element_fn)(void *arg, const void *key, const void *value);
int gpubpf_linux_map_each(struct gpubpf_linux_map *map, gpubpf_linux_element_fn fn, void *arg);
/* 0, -ENOENT: no such key. To each word, as one of the kernel's own programs would add. */
int gpubpf_linux_map_add(struct gpubpf_linux_map *map, const void *key, const void *value);
/* Words that differ in `old` and `value`, each if it still is the old one. Values without words are replaced. */
int gpubpf_linux_map_exchange(struct gpubpf_linux_map *map, const void *key, const void *old, const void *value);
/* bpf(2)'s own */
int gpubpf_linux_map_lookup(struct gpubpf_linux_map *map, const void *key, void *value);
int gpubpf_linux_map_update(struct gpubpf_linux_map *map, const void *key, const void *value, uint64_t flags);
int gpubpf_linux_map_delete(struct gpubpf_linux_map *map, const void *key);
int gpubpf_linux_map_take(struct gpubpf_linux_map *map, void *value); /* of a queue or a stack */

#endif
