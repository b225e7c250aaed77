/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: core/verify/*.c core/verify/*/*.c core/model/*.c core/model/text/*.c core/wire/fields.c core/wire/placement.c core/wire/wire.c maps/*.c maps/host/*.c maps/kinds/*.c
/*
 * Verifies arbitrary bytes as a program. The verifier must accept it, or refuse it with a reason. The first byte
 * selects options, the rest is raw instructions. The program can use maps of five types.
 */
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/model/facts.h"
#include "core/model/prog.h"

#define MAX_INSNS 1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t rodata[16] = { 'h', 'e', 'l', 'l', 'o', 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };

static struct gpubpf_map maps[] = {
	{ .name = "hash", .key_size = 8, .value_size = 48, .max_entries = 8 },
	{ .name = "array", .key_size = 4, .value_size = 48, .max_entries = 16 },
	{ .name = "rodata", .key_size = 4, .value_size = 16, .max_entries = 1, .rdonly = true, .global_data = true, .init = rodata },
	{ .name = "ring", .max_entries = 4096 },
	{ .name = "events", .key_size = 4, .value_size = 32, .max_entries = 16 },
};

/* Abort if the facts of an accepted program are ones that lowering cannot handle. */
static void check(const struct gpubpf_prog *prog)
{
	for (uint32_t pc = 0; pc < prog->ninsns; pc++) {
		const struct gpubpf_insn_facts *f = &prog->facts->insn[pc];
		uint8_t kind = prog->insns[pc].kind;
		bool memory = kind == GPUBPF_INSN_LOAD || kind == GPUBPF_INSN_STORE || kind == GPUBPF_INSN_ATOMIC;

		if (!(f->flags & GPUBPF_FACT_REACHED))
			continue;
		if (memory && (!f->mem.spaces || f->mem.align < prog->insns[pc].width || f->mem.off_min > f->mem.off_max))
			abort();
		if (kind == GPUBPF_INSN_CALL && !f->call)
			abort();
	}
}

/* Abort if a trace line contains a line feed or is not terminated. */
static void check_line(void *arg, const char *line)
{
	uint64_t *lines = arg;

	if (strchr(line, '\n') || strlen(line) > 65536)
		abort();
	++*lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t types[] = { 1, 2, 2, 27, 1527 };
	static struct gpubpf_raw_insn raw[MAX_INSNS];
	static struct gpubpf_insn insns[MAX_INSNS];
	struct gpubpf_prog prog = { .name = "fuzz", .insns = insns };
	struct gpubpf_unit unit = { .maps = maps, .nmaps = 5, .progs = &prog, .nprogs = 1 };
	struct gpubpf_verify_opts opts = { .max_states = 20000 };
	struct gpubpf_diag diag;
	uint64_t lines = 0;

	if (size < 9 || size > sizeof(raw))
		return 0;
	for (int i = 0; i < 5; i++)
		maps[i].type = gpubpf_map_type_find(types[i]);
	opts.any_ctx = data[0] & 1;
	opts.allow_kernel_helpers = data[0] & 2;
	opts.allow_ptr_leaks = data[0] & 4;
	opts.allow_exit_thread = data[0] & 8;
	opts.plain_mem = data[0] & 16;
	opts.mem_size = data[0] & 32 ? 64 : 0;
	opts.trace = data[0] & 64 ? check_line : NULL;
	opts.trace_arg = &lines;
	opts.limits = data[0] & 128 ? gpubpf_limits_find(data[0] & 1 ? "clc32" : "ptx") : NULL;
	prog.ninsns = (uint32_t)((size - 1) / sizeof(raw[0]));
	memcpy(raw, data + 1, prog.ninsns * sizeof(raw[0]));
	gpubpf_diag_init(&diag);
	if (gpubpf_insn_decode(raw, prog.ninsns, insns, &diag) < 0) {
		if (!diag.what[0])
			abort();
		return 0;
	}
	if (gpubpf_verify(&unit, &prog, &opts, &diag) == 0)
		check(&prog);
	else if (!diag.what[0] || !diag.remedy[0] || prog.facts)
		abort();
	gpubpf_facts_destroy(prog.facts);
	return 0;
}
