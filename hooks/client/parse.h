/* SPDX-License-Identifier: Apache-2.0 */
/* parse.c: parses the tool's messages. It validates every byte before use (tests/fuzz/fuzz_agent.c). */
#ifndef GPUBPF_HOOKS_SESSION_PARSE_H
#define GPUBPF_HOOKS_SESSION_PARSE_H

#include "core/wire/msg.h"

struct gpubpf_welcome {
	uint32_t process, wait_ms;
	uint64_t sample, first;
	uint32_t flags;
};

struct gpubpf_arena_answer {
	uint64_t size, layout_hash;
	char reason[240]; /* not empty: why the device cannot be probed */
};

struct gpubpf_twin_answer {
	uint32_t kind;
	char *options;
	uint32_t n;
	struct gpubpf_twin_entry {
		char name[256], twin[300], reason[240];
		uint64_t id;
		uint32_t flags, nparams;
	} *entries;
	char reason[240]; /* why the image has no twins; valid if n is 0 */
	uint64_t compile_ns;
	bool is_cached; /* the session has cached the image under its identity */
	/* size of the machine code at the end of the image, compiled from the twin's text; 0: none */
	uint64_t code_size;
};

/*
 * These functions return 0, -EPROTO or -ENOMEM. On failure they free all that they allocated. They ignore trailing
 * bytes, which newer minor versions of the protocol add.
 */
int gpubpf_welcome_parse(struct gpubpf_reader *r, struct gpubpf_welcome *welcome);
int gpubpf_arena_parse(struct gpubpf_reader *r, uint32_t device, bool has_fd, struct gpubpf_arena_answer *a);
int gpubpf_twin_parse(struct gpubpf_reader *r, struct gpubpf_twin_answer *answer);
void gpubpf_twin_finish(struct gpubpf_twin_answer *answer);

#endif
