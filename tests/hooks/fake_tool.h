/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated session in a separate process. It answers the agent with twins that it makes itself, or with the faults
 * that a test selects. The kernel table, into which the agents count, is in memory that the test shares.
 *
 * Its twins count work-items at entry and exit, in words of the arena that the kernel's index in the request selects.
 * They are made by editing simple OpenCL C source, independently of gpubpf's own code.
 */
#ifndef GPUBPF_TESTS_FAKE_TOOL_H
#define GPUBPF_TESTS_FAKE_TOOL_H

#include <sys/types.h>

#include "core/wire/msg.h"

enum fake_mode {
	FAKE_PROBE,       /* makes twins */
	FAKE_REFUSE,      /* refuses every program with a reason */
	FAKE_SILENT,      /* never answers a request for twins */
	FAKE_SLOW,        /* answers after delay_ms */
	FAKE_DIE,         /* kills itself (SIGKILL) at the first request for a twin */
	FAKE_DIE_LATER,   /* kills itself (SIGKILL) delay_ms after the first twin */
	FAKE_STALL,       /* never answers HELLO */
	FAKE_HOSTILE,     /* answers with random bytes, derived from seed */
	FAKE_WRONG_TWIN,  /* makes twins with an additional parameter */
	FAKE_NO_BINARY,   /* sends twins that are not binaries */
	FAKE_NO_ARENA,    /* refuses to create an arena for a device */
	FAKE_STOPPED,     /* stops itself (SIGSTOP) at the first request for a twin */
	FAKE_STOPPED_EARLY, /* stops itself at the first request for a device's arena */
	FAKE_LIST,        /* reports that every kernel could be probed, and sends no twin */
};

struct fake_options {
	enum fake_mode mode;
	const char *pattern;   /* NULL: none */
	uint32_t wait_ms;
	uint64_t sample, first;
	uint32_t delay_ms, seed;
	bool other_user;       /* listens on the socket as another user; needs root */
	bool fleeting;         /* detaches all programs after the first launch of a twin */
};

#define FAKE_KERNELS 256

#define FAKE_ARENAS 32
#define FAKE_COUNTS 8192               /* offset in an arena of the counts, one per kernel */

struct fake_count {
	uint32_t entries, exits, last_launch, pad;
};

struct fake_tool {
	pid_t pid;
	char path[108], folder[64];
	struct gpubpf_kernel_table *table;
	char *arenas[FAKE_ARENAS];
	struct fake_shared {           /* what the tool's process has received, in shared memory */
		char names[FAKE_KERNELS][128];
		uint32_t nnames, hellos, twins, notes, pulled;
		uint32_t opened, closed;          /* connections */
		/* requests (PULL) for the memory of a device that was removed, and their answers */
		uint32_t requests_for_missing, pulled_gone;
		char last_note[256];
		uint32_t full_notes; /* number of notes which say that the kernel table is full */
		volatile uint32_t hold; /* set by the test: if not 0, the tool makes no twin */
		volatile uint32_t asked; /* requests for twins */
		volatile uint32_t refuse; /* set by the test: if not 0, the tool acts as with FAKE_REFUSE */
	} *seen;
};

void fake_start(struct fake_tool *tool, const struct fake_options *options);
/* Wait until the tool has handled all messages of the applications that have ended. */
void fake_wait_until_handled(void);
void fake_stop(struct fake_tool *tool);
/* Attach to the kernels that match the pattern, from the next launch on. NULL detaches from all. */
void fake_attach(struct fake_tool *tool, const char *pattern);
/* Like fake_attach(), with n links of these numbers. */
void fake_plan(struct fake_tool *tool, const char *pattern, const uint32_t *links, uint32_t n);
/* Sum of the agents' counts for a kernel, over all processes and programs. */
struct fake_sum {
	uint64_t launches, probed, missed, entries, exits; /* missed: sum of all reasons */
	uint64_t missed_by[GPUBPF_MISSES];
	uint32_t state, last_launch;
	char reason[240];
};

struct fake_sum fake_sum(const struct fake_tool *tool, const char *name);

/*
 * fake_twin.c, which runs in the tool's process. The function fake_twin_build() makes a binary of the source with a
 * counting twin for each kernel. The two constants are the kinds of image that it accepts and returns.
 */
extern const uint32_t fake_twin_input_kind, fake_twin_output_kind;
extern uint32_t fake_twin_registers; /* limit of the twin's registers; 0: no limit */
int fake_twin_build(const struct gpubpf_device_caps *caps, const char *source, size_t size, const char *options,
		    char names[][128], const uint32_t *index, uint32_t *nparams, uint32_t n, void **binary,
		    size_t *binary_size);

#endif
