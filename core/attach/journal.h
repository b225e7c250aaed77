/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal of patched entries, in the memory of a process to which a tool has attached. The agent creates it as a
 * private mapping of a memfd, so that tools find it by its name in /proc/PID/maps. It exists until the process ends,
 * and the child of a fork has its own copy.
 *
 * A site is one function of a runtime. To patch it, the tool replaces the first 5 bytes by a jump to the site's slot.
 * The agent adds sites (WANTED). The tool computes the bytes, writes the slot, stores both in the journal (READY), and
 * then changes the function. So any later tool can restore the function.
 *
 * In a prepared process (hooks/idle) the agent hooks without a patch, and the site is UNNEEDED.
 *
 * A slot has 64 bytes and is at most 1 GiB from the function. Its first instruction jumps to the hook, whose address is
 * at byte 8. At byte 16 is the function's moved beginning, then a jump to the rest of the function.
 */
#ifndef GPUBPF_ATTACH_JOURNAL_H
#define GPUBPF_ATTACH_JOURNAL_H

#include <stdint.h>

#define GPUBPF_JOURNAL_FILE "gpubpf-journal"
#define GPUBPF_JOURNAL_MAGIC 0x4a504247u
#define GPUBPF_JOURNAL_VERSION 1
#define GPUBPF_JOURNAL_SITES 512
#define GPUBPF_PATCH_SIZE 5   /* bytes of the jump */
#define GPUBPF_SLOT_SIZE 64   /* bytes */
#define GPUBPF_SLOT_HOOK 8    /* offset */
#define GPUBPF_SLOT_MOVED 16  /* offset */
#define GPUBPF_SLOT_REACH (1ull << 30)

enum gpubpf_patch_state {
	GPUBPF_PATCH_WANTED,
	GPUBPF_PATCH_REFUSED,  /* `why` has the reason; the function stays unchanged */
	GPUBPF_PATCH_READY,    /* the members of the tool are valid; the function may be patched */
	GPUBPF_PATCH_UNNEEDED, /* the agent hooks the function without a patch */
};

struct gpubpf_patch_site {
	/* written by the agent: size of the function in bytes, 0 if unknown; addresses of function, thunk and slot */
	uint64_t function, size, hook, slot;
	/* written by the tool: the first byte that changes, after an endbr64; bytes there without and with the patch */
	uint64_t at;
	uint8_t before[8], after[8];
	uint32_t state; /* enum gpubpf_patch_state */
	uint32_t reserved;
	char name[56], why[96];
};

struct gpubpf_journal {
	uint32_t magic, version;
	uint32_t nsites;
	uint32_t is_active; /* 1: a session uses the hooks, so no other tool may restore the functions */
	struct gpubpf_patch_site sites[GPUBPF_JOURNAL_SITES];
};

#endif
