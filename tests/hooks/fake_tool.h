/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake session: it answers the agent with twins that it makes itself, or with the faults that a
 * test selects. It runs in a separate process. The agents' counts are in memory that the test shares.
 *
 * Its twins count work-items at entry and exit, in words of the arena selected by the kernel's index
 * in the request. This is an independent implementation of gpubpf's counting, by text and for simple
 * sources only.
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
	FAKE_DIE,         /* sends itself SIGKILL at the first request for a twin */
	FAKE_DIE_LATER,   /* sends itself SIGKILL delay_ms after the first twin */
	FAKE_STALL,       /* never answers HELLO */
	FAKE_HOSTILE,     /* answers with random bytes from `seed` */
	FAKE_WRONG_TWIN,  /* twins with wrong parameters */
	FAKE_NO_BINARY,   /* twins that are no binary */
	FAKE_NO_ARENA,    /* no memory for the device */
	FAKE_STOPPED,     /* sends itself SIGSTOP at the first request for a twin */
	FAKE_STOPPED_EARLY, /* at the first request for a device's arena */
	FAKE_LIST,        /* every kernel could be probed, but no program attaches */
};

struct fake_options {
	enum fake_mode mode;
	const char *pattern;   /* NULL: none */
	uint32_t wait_ms;
	uint64_t sample, first;
	uint32_t delay_ms, seed;
	bool other_user;       /* as the listening user: needs root */
	bool fleeting;         /* detaches everything after the first launch of a twin */
};

#define FAKE_KERNELS 256

#define FAKE_ARENAS 32
#define FAKE_COUNTS 8192               /* offset of the counts in an arena, one per kernel */

struct fake_count {
	uint32_t entries, exits, last_launch, pad;
};

struct fake_tool {
	pid_t pid;
	char path[108], folder[64];
	struct gpubpf_kernel_table *table;
	char *arenas[FAKE_ARENAS];
	struct fake_shared {           /* events that the tool's process saw */
		char names[FAKE_KERNELS][128];
		uint32_t nnames, hellos, twins, notes, pulled;
		uint32_t opened, closed;          /* connections */
		uint32_t requests_for_missing, pulled_gone; /* PULLs for a removed device */
		char last_note[256];
		uint32_t full_notes; /* notes that the kernel table is full */
		volatile uint32_t hold; /* set by the test; not 0: no twin is made */
		volatile uint32_t asked; /* requests for twins */
		volatile uint32_t refuse; /* set by the test; not 0: acts as FAKE_REFUSE */
	} *seen;
};

void fake_start(struct fake_tool *tool, const struct fake_options *options);
/* Waits until the tool has handled all messages of ended programs. */
void fake_wait_until_handled(void);
void fake_stop(struct fake_tool *tool);
/* Attaches to kernels that match the pattern, from the next launch on; NULL: none. */
void fake_attach(struct fake_tool *tool, const char *pattern);
/* The same with several links, identified by number. */
void fake_plan(struct fake_tool *tool, const char *pattern, const uint32_t *links, uint32_t n);
/* Counts of the agents for a kernel, over all processes and programs. */
struct fake_sum {
	uint64_t launches, probed, missed, entries, exits; /* missed: for all reasons */
	uint64_t missed_by[GPUBPF_MISSES];
	uint32_t state, last_launch;
	char reason[240];
};

struct fake_sum fake_sum(const struct fake_tool *tool, const char *name);

/* fake_twin.c, in the tool's process: makes a binary of the source with a counting twin for each
 * kernel. The kinds of image that it accepts and returns. */
extern const uint32_t fake_twin_input_kind, fake_twin_output_kind;
extern uint32_t fake_twin_registers; /* register limit of the twin; 0: any */
int fake_twin_build(const struct gpubpf_device_caps *caps, const char *source, size_t size, const char *options,
		    char names[][128], const uint32_t *index, uint32_t *nparams, uint32_t n, void **binary,
		    size_t *binary_size);

#endif
