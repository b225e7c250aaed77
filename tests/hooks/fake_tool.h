/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's end that is not ours: it answers the agent with twins that it makes itself, or with whatever
 * a test wants the agent to survive. It runs in a process of its own; what agents count lies in memory
 * that the test sees.
 *
 * Its twins count work-items at entry and at exit, in words of the arena by the kernel's place among those
 * that it was asked for: a second implementation of what gpubpf does, by text and for plain sources only.
 */
#ifndef GPUBPF_TESTS_FAKE_TOOL_H
#define GPUBPF_TESTS_FAKE_TOOL_H

#include <sys/types.h>

#include "core/wire/msg.h"

enum fake_mode {
	FAKE_PROBE,       /* make twins */
	FAKE_REFUSE,      /* refuse every program with a reason */
	FAKE_SILENT,      /* never answer a request for twins */
	FAKE_SLOW,        /* answer after delay_ms */
	FAKE_DIE,         /* SIGKILL itself when asked for the first twin */
	FAKE_DIE_LATER,   /* SIGKILL itself delay_ms after the first twin was given */
	FAKE_STALL,       /* accept no connection's HELLO */
	FAKE_HOSTILE,     /* answer with bytes by `seed` */
	FAKE_WRONG_TWIN,  /* twins whose parameters do not fit */
	FAKE_NO_BINARY,   /* twins that are no binary at all */
	FAKE_NO_ARENA,    /* no memory for the device */
	FAKE_STOPPED,     /* SIGSTOP itself when asked for the first twin */
	FAKE_STOPPED_EARLY, /* when asked for the first device's arena */
	FAKE_LIST,        /* every kernel could be probed and nothing is to be */
};

struct fake_options {
	enum fake_mode mode;
	const char *pattern;   /* NULL: none */
	uint32_t wait_ms;
	uint64_t sample, first;
	uint32_t delay_ms, seed;
	bool other_user;       /* who listens: needs root */
	bool fleeting;         /* detach everything once a twin that was given was launched */
};

#define FAKE_KERNELS 256

#define FAKE_ARENAS 32
#define FAKE_COUNTS 8192               /* offset in an arena of the counts, one a kernel */

struct fake_count {
	uint32_t entries, exits, last_launch, pad;
};

struct fake_tool {
	pid_t pid;
	char path[108], folder[64];
	struct gpubpf_kernel_table *table;
	char *arenas[FAKE_ARENAS];
	struct fake_shared {           /* what the tool's process saw */
		char names[FAKE_KERNELS][128];
		uint32_t nnames, hellos, twins, notes, pulled;
		uint32_t opened, closed;          /* connections */
		uint32_t asked_gone, pulled_gone; /* PULLs for a device that is gone */
		char last_note[256];
		uint32_t full_notes; /* that the kernel table is full */
		volatile uint32_t hold; /* the test's: not 0: no twin is made */
		volatile uint32_t asked; /* for twins */
		volatile uint32_t refuse; /* the test's: not 0: as FAKE_REFUSE */
	} *seen;
};

void fake_start(struct fake_tool *tool, const struct fake_options *options);
/* Until what the programs that have ended sent has been seen. */
void fake_settle(void);
void fake_stop(struct fake_tool *tool);
/* From the next launch on kernels that the pattern matches are wanted, NULL: none. */
void fake_attach(struct fake_tool *tool, const char *pattern);
/* The same with so many links, by their numbers. */
void fake_plan(struct fake_tool *tool, const char *pattern, const uint32_t *links, uint32_t n);
/* What agents counted for a kernel, over all processes and programs. */
struct fake_sum {
	uint64_t launches, probed, missed, entries, exits; /* missed: of all reasons */
	uint64_t missed_by[GPUBPF_MISSES];
	uint32_t state, last_launch;
	char reason[240];
};

struct fake_sum fake_sum(const struct fake_tool *tool, const char *name);

/* fake_twin.c, in the tool's process: a binary of the source with a counting twin for each kernel. Which kind of
 * image it takes and which it gives. */
extern const uint32_t fake_twin_takes, fake_twin_gives;
extern uint32_t fake_twin_registers; /* that the twin may have; 0: any */
int fake_twin_build(const struct gpubpf_device_caps *caps, const char *source, size_t size, const char *options,
		    char names[][128], const uint32_t *index, uint32_t *nparams, uint32_t n, void **binary,
		    size_t *binary_size);

#endif
