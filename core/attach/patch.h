/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patches functions of runtimes in a process that has the agent (journal.h), and restores them. Both stop all threads
 * of the process for a moment, some 0.2 ms. x86-64 only.
 */
#ifndef GPUBPF_ATTACH_PATCH_H
#define GPUBPF_ATTACH_PATCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct gpubpf_patch_counts {
	uint32_t sites;     /* functions in the journal */
	uint32_t patched;   /* functions that are patched now */
	uint32_t refused;   /* functions that cannot be patched; the journal has the reasons */
	uint32_t foreign;   /* functions whose first bytes another program has changed; they stay as they are */
	uint32_t is_active; /* 1: a session uses the patches */
	uint64_t stopped;   /* time in ns for which the threads were stopped */
};

/* Patch all functions that the agent wants. Returns 0, or -errno with one line in `why`. */
int gpubpf_attach_patch(pid_t pid, struct gpubpf_patch_counts *counts, char *why, size_t size);
/*
 * Restore all patched functions, for example after the tool was killed, and compare the bytes. Returns 0.
 * Returns -ENOENT if the process has no journal, and -EBUSY if a session uses the patches. Returns another -errno if
 * the threads do not stop. Then `why` has one line. A function that another program has changed meanwhile stays
 * unchanged and is counted in `foreign`.
 */
int gpubpf_attach_restore_patches(pid_t pid, struct gpubpf_patch_counts *counts, char *why, size_t size);
/*
 * Count the patches without stopping a thread. Returns 0, -ENOENT if the process has no journal, or another -errno with
 * one line in `why`.
 */
int gpubpf_attach_count_patches(pid_t pid, struct gpubpf_patch_counts *counts, char *why, size_t size);

#endif
