/* SPDX-License-Identifier: Apache-2.0 */
/* The running Linux kernel's verifier as an oracle: raw programs of type kprobe under
 * BPF_F_STRICT_ALIGNMENT. It needs bpf(2); otherwise linux_open() returns the reason. */
#ifndef GPUBPF_TESTS_VERIFY_LINUX_H
#define GPUBPF_TESTS_VERIFY_LINUX_H

#include "core/model/insn.h"
#include "core/model/prog.h"

#define LINUX_MAX_MAPS 16

struct linux_verifier {
	int fds[LINUX_MAX_MAPS];
	uint32_t nmaps;
};

/* Creates the maps, writes their content, and freezes read-only ones. 0, or -errno: bpf(2) is refused. */
int linux_open(struct linux_verifier *k, const struct gpubpf_map *maps, uint32_t nmaps);
void linux_close(struct linux_verifier *k);
/* Loads a program of that type with BPF_PROG_LOAD: a descriptor, or -errno. raw refers to maps by index, like struct gpubpf_insn. */
int linux_load(const struct linux_verifier *k, uint32_t type, const struct gpubpf_raw_insn *raw, uint32_t n);
/* The kernel's verdict: 0 accepted, -errno. log, of size bytes, may be NULL. */
int linux_judge(const struct linux_verifier *k, const struct gpubpf_raw_insn *raw, uint32_t n, char *log, uint32_t size);
/* The same with the number of instructions that the kernel walked; 0 if it did not start. */
int linux_walk(const struct linux_verifier *k, const struct gpubpf_raw_insn *raw, uint32_t n, uint32_t *walked);
/* Linux 6.18.44 or later: older ones deduce less or count differently, so the test does not compare with them. */
bool linux_is_new(void);

#endif
