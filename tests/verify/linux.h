/* SPDX-License-Identifier: Apache-2.0 */
/* The running Linux kernel's verifier as an oracle: raw programs of type kprobe under
 * BPF_F_STRICT_ALIGNMENT. Needs bpf(2); without it linux_open() says why. */
#ifndef GPUBPF_TESTS_VERIFY_LINUX_H
#define GPUBPF_TESTS_VERIFY_LINUX_H

#include "core/insn.h"
#include "core/prog.h"

#define LINUX_MAX_MAPS 16

struct linux_verifier {
	int fds[LINUX_MAX_MAPS];
	uint32_t nmaps;
};

/* Create the maps; those with content get it, those that are read-only are frozen. 0, or -errno: bpf(2) is refused here. */
int linux_open(struct linux_verifier *k, const struct gpubpf_map *maps, uint32_t nmaps);
void linux_close(struct linux_verifier *k);
/* A program of such a type, as BPF_PROG_LOAD: its descriptor, or -errno. raw refers to maps by index, as struct gpubpf_insn does. */
int linux_load(const struct linux_verifier *k, uint32_t type, const struct gpubpf_raw_insn *raw, uint32_t n);
/* The kernel's verdict: 0 accepted, -errno. log, of size bytes, may be NULL. */
int linux_judge(const struct linux_verifier *k, const struct gpubpf_raw_insn *raw, uint32_t n, char *log, uint32_t size);
/* The same, and how many instructions the kernel walked for it; 0 if it did not begin. */
int linux_walk(const struct linux_verifier *k, const struct gpubpf_raw_insn *raw, uint32_t n, uint32_t *walked);
/* Linux 6.18.44 or later: what deduces less or counts otherwise is no measure. */
bool linux_is_new(void);

#endif
