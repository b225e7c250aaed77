/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-made bodies of probes at instructions. Each body records the context that it receives. */
#ifndef GPUBPF_TESTS_CUDA_SASS_BODIES_H
#define GPUBPF_TESTS_CUDA_SASS_BODIES_H

#include <string.h>

#include "backends/cuda/sass/probe/place_values.h"
#include "backends/cuda/sass/rewrite/patch.h"
#include "tests/backends/cuda/sass/isa/insn.h"

static uint64_t given_at(enum sass_input given)
{
	return (uint64_t)(SASS_INPUT_BASE + given * SASS_INPUT_STRIDE) << 40;
}

#define LDL_64 0x7983, 0x000ea80000100a00
#define LDL_32 0x7983, 0x000ea80000100800

/*
 * For accesses: LDL.64 R2, [R0+address]; LDL.64 R4, [R0+value]; LDL R6, [bytes]; LDL R7, [place]; ISETP.NE P0,
 * R6, 0; @P0 RED.ADD.64 [R2], R4; RED.ADD [R2], R6; RED.ADD [R2], R7; EXIT. Each instruction that uses a loaded value
 * waits for scoreboard 2.
 */
static struct sass_word words[] = {
	{ LDL_64 },
	{ LDL_64 },
	{ LDL_32 },
	{ LDL_32 },
	{ 0x000000ff0600720c, 0x004fda0003f05270 },
	{ 0x000000040200098e, 0x000fe8000010e500 }, { 0x000000060200798e, 0x000fe8000010e100 },
	{ 0x000000070200798e, 0x000fe2000010e100 }, { 0x000000000000794d, 0x000fea0003800000 },
};

/*
 * `insns` are the decoded `words`. In `ways` the same body has a loop of three rounds before the comparison, and a
 * branch over the first two REDs: MOV R8, 3; IADD3 R8, R8, -1; ISETP.NE P0, R8, 0; @P0 BRA to the IADD3; BSSY B0;
 * ISETP.NE P0, R6, 0; @!P0 BRA to the BSYNC; RED.64, RED; BSYNC B0; RED; EXIT.
 */
static struct sass_insn insns[sizeof(words) / sizeof(*words)], ways[16];

#define WAYS (sizeof(ways) / sizeof(*ways))

static void make_ways(const struct sass_arch *arch)
{
	static const struct sass_word parts[] = {
		{ 0x0000000300087802, 0x000fcc0000000f00 },
		{ 0xffffffff08087810, 0x000fcc0007ffe0ff },
		{ 0x000000ff0800720c, 0x000fda0003f05270 },
		{ 0 },
		{ 0x0000000000007945, 0x000fea0003800000 },
		{ 0x000000ff0600720c, 0x004fda0003f05270 },
		{ 0 },
		{ 0x000000040200798e, 0x000fe8000010e500 },
		{ 0x000000060200798e, 0x000fe8000010e100 },
		{ 0x0000000000007941, 0x000fea0003800000 },
		{ 0x000000070200798e, 0x004fe2000010e100 },
		{ 0x000000000000794d, 0x000fea0003800000 },
	};

	memcpy(ways, insns, 4 * sizeof(*ways));
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		ways[4 + i] = sass_decode(parts[i]);
	ways[7] = sass_with_field(sass_bra(arch, -3 * SASS_INSN), 12, 4, 0);
	ways[8] = sass_with_branch(arch, ways[8], 4 * SASS_INSN);
	ways[10] = sass_with_field(sass_bra(arch, 2 * SASS_INSN), 12, 4, 8);
}

/* Does a probe at places of this kind receive an address (true) or an offset (false)? */
static bool reads_address(enum gpubpf_site kind)
{
	return kind == GPUBPF_SITE_ATOMIC || kind == GPUBPF_SITE_MEM_BEFORE_ALL ||
	       gpubpf_place_kind(kind)->spaces == 1u << GPUBPF_GLOBAL;
}

/*
 * Makes a probe with four inputs, in R2, R4, R6 and R7. The arrays below list the inputs for each kind of place. If
 * wanders is true, the body has branches and a loop.
 */
static void make_probe(struct sass_probe *probe, const struct sass_arch *arch, enum gpubpf_site kind, bool wanders)
{
	static const enum sass_input access[] = { SASS_INPUT_ADDRESS, SASS_INPUT_VALUE, SASS_INPUT_BYTES, SASS_INPUT_PLACE_ID };
	static const enum sass_input near[] = { SASS_INPUT_OFFSET, SASS_INPUT_VALUE, SASS_INPUT_BYTES, SASS_INPUT_SPACE };
	static const enum sass_input atomic[] = { SASS_INPUT_ADDRESS, SASS_INPUT_OLD, SASS_INPUT_OP, SASS_INPUT_OPERAND };
	static const enum sass_input barrier[] = { SASS_INPUT_LINE, SASS_INPUT_BARRIER_ID, SASS_INPUT_BARRIER_KIND, SASS_INPUT_PLACE_ID };
	static const enum sass_input branch[] = { SASS_INPUT_LANES, SASS_INPUT_ACTIVE, SASS_INPUT_COUNT, SASS_INPUT_TAKEN };
	static const enum sass_input insn[] = { SASS_INPUT_REGISTER, SASS_INPUT_REGISTER_1, SASS_INPUT_COUNT, SASS_INPUT_REGISTER_2 };
	static const enum sass_input line[] = { SASS_INPUT_LINE, SASS_INPUT_PLACE_ID, SASS_INPUT_COUNT, SASS_INPUT_PLACE_ID };
	const enum sass_input *given = kind == GPUBPF_SITE_BRANCH ? branch : kind == GPUBPF_SITE_INSN ? insn :
				       kind == GPUBPF_SITE_LINE ? line : kind == GPUBPF_SITE_ATOMIC ? atomic : !gpubpf_place_kind(kind)->spaces ? barrier :
				       reads_address(kind) ? access : near;
	static const uint8_t regs[] = { 2, 4, 6, 7 };

	for (size_t i = 0; i < sizeof(regs); i++)
		words[i].lo = (words[i].lo & 0xffff) | (uint32_t)regs[i] << 16 | given_at(given[i]);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		insns[i] = sass_decode(words[i]);
	make_ways(arch);
	*probe = (struct sass_probe){ .insns = wanders ? ways : insns, .n = wanders ? WAYS : sizeof(insns) / sizeof(*insns), .regs = 9,
				      .predicates = true };
}

#endif
