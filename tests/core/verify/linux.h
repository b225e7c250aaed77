/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verifier of the running Linux kernel as a reference: it judges raw programs of type kprobe with
 * BPF_F_STRICT_ALIGNMENT. If bpf(2) is not permitted, linux_open() returns the error.
 */
#ifndef GPUBPF_TESTS_VERIFY_LINUX_H
#define GPUBPF_TESTS_VERIFY_LINUX_H

#include "core/model/insn.h"
#include "core/model/prog.h"

#define LINUX_MAX_MAPS 16

struct linux_verifier {
	int fds[LINUX_MAX_MAPS];
	uint32_t nmaps;
};

/* Create the maps, write their content, and freeze read-only ones. Returns 0, or -errno if bpf(2) is refused. */
int linux_open(struct linux_verifier *k, const struct gpubpf_map *maps, uint32_t nmaps);
void linux_close(struct linux_verifier *k);
/* Load a program of this type with BPF_PROG_LOAD. raw refers to maps by index. Returns a file descriptor or -errno. */
int linux_load(const struct linux_verifier *k, uint32_t type, const struct gpubpf_raw_insn *raw, uint32_t n);
/*
 * Returns the Linux kernel's verdict: 0 for an accepted program, otherwise -errno. log has size bytes and may be NULL.
 */
int linux_judge(const struct linux_verifier *k, const struct gpubpf_raw_insn *raw, uint32_t n, char *log, uint32_t size);
/* Like linux_judge(), and store the number of instructions that the Linux kernel walked, or 0 if it did not start. */
int linux_walk(const struct linux_verifier *k, const struct gpubpf_raw_insn *raw, uint32_t n, uint32_t *walked);
/*
 * Returns true for Linux 6.18.44 or later. Older kernels deduce less or count differently, so tests do not compare with
 * them.
 */
bool linux_is_new(void);

#endif
