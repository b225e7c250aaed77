/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf(2) in user space. libbpf makes its system calls through libc's syscall(). In the libbpf that is linked into
 * gpubpf, this symbol is renamed (meson.build), and this file defines the new name. Between gpubpf_sys_enter() and
 * gpubpf_sys_leave(), a thread's bpf(2) calls are executed and recorded here. Every other system call goes to the Linux
 * kernel unchanged. Nothing else in the process is affected, not even another libbpf.
 *
 * The file descriptors that libbpf receives are memfds, identified by their inode number. The calls dup, fcntl, mmap
 * and close work on them, and the memfd of a map holds the map's content.
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
	/* for a map of maps: 1 + the index in sys.maps of the prototype of its elements; else 0 */
	uint32_t inner;
	/* [nelements]: initial elements. An element is an index in sys.maps, or in sys.progs for a map of programs. */
	struct gpubpf_map_element *elements;
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

/* The maps and programs that one load created, in order. The caller initializes it with zeros. */
struct gpubpf_sys {
	struct gpubpf_sys_map *maps;
	uint32_t nmaps;
	struct gpubpf_sys_prog *progs;
	uint32_t nprogs;
};

/* Executes this thread's bpf(2) calls until gpubpf_sys_leave(). Must not be nested. */
void gpubpf_sys_enter(struct gpubpf_sys *sys);
void gpubpf_sys_leave(void);
/* The replacement of libc's syscall() in gpubpf's libbpf. */
long gpubpf_libbpf_syscall(long nr, ...);

/* Returns the map or program of a file descriptor, or NULL if the descriptor was not created here. */
const struct gpubpf_sys_map *gpubpf_sys_map(const struct gpubpf_sys *sys, int fd);
const struct gpubpf_sys_prog *gpubpf_sys_prog(const struct gpubpf_sys *sys, int fd);
void gpubpf_sys_finish(struct gpubpf_sys *sys);

#endif
