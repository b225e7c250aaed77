/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf(2) in user space. libbpf makes its system calls through libc's syscall(). In the libbpf that is linked into us
 * that symbol is renamed (meson.build), and this file defines the new name. While a thread is between
 * gpubpf_sys_enter() and gpubpf_sys_leave(), its bpf(2) calls are answered here and recorded. Every other call goes to
 * the kernel unchanged. Nothing else in the process is affected, including another libbpf.
 *
 * Descriptors passed to libbpf are memfds, identified by their inode. dup, fcntl, mmap and close work on them, and a
 * map's memfd holds the map's content.
 */
#ifndef GPUBPF_LOAD_BPF_SYSCALL_H
#define GPUBPF_LOAD_BPF_SYSCALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/bpf.h>

#include "core/model/prog.h"

struct gpubpf_sys_map {
	ino_t ino;
	char name[BPF_OBJ_NAME_LEN];
	uint32_t type, key_size, value_size, max_entries, flags;
	uint64_t extra;
	uint32_t btf_key, btf_value;
	uint32_t inner;                      /* map of maps: 1 + the index in sys.maps of its elements' prototype; else
					    * 0 */
	struct gpubpf_map_element *elements; /* [nelements] initial elements: each by its index in sys.maps, or for a
					      * map of programs in sys.progs */
	uint32_t nelements;
	bool frozen;
};

#define GPUBPF_SYS_NONE UINT32_MAX /* index of an element that was not loaded */

struct gpubpf_sys_prog {
	ino_t ino;
	struct bpf_insn *insns;
	uint32_t ninsns;
	struct bpf_func_info *funcs;
	uint32_t nfuncs;
	struct bpf_line_info *lines;
	uint32_t nlines;
};

/* The objects that one load created, in order; zero-initialized by the caller. */
struct gpubpf_sys {
	struct gpubpf_sys_map *maps;
	uint32_t nmaps;
	struct gpubpf_sys_prog *progs;
	uint32_t nprogs;
};

/* Answers this thread's bpf(2) calls until gpubpf_sys_leave(). Does not nest. */
void gpubpf_sys_enter(struct gpubpf_sys *sys);
void gpubpf_sys_leave(void);
/* The replacement of libc's syscall() in our libbpf. */
long gpubpf_libbpf_syscall(long nr, ...);

/* Returns the map or program of a descriptor; NULL: the descriptor is none of those created here. */
const struct gpubpf_sys_map *gpubpf_sys_map(const struct gpubpf_sys *sys, int fd);
const struct gpubpf_sys_prog *gpubpf_sys_prog(const struct gpubpf_sys *sys, int fd);
void gpubpf_sys_finish(struct gpubpf_sys *sys);

#endif
