/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowers loads, stores and atomics of verified programs. The facts name the memory of each access (core/model/facts.h).
 */
#include <stdio.h>

#include "opencl_c.h"
#include "core/model/diag.h"

#define DEVICE_SPACES (GPUBPF_SPACE_MAP_VALUE | GPUBPF_SPACE_RECORD)

static const struct gpubpf_access *access_of(const struct clc *c, uint32_t pc)
{
	return &c->prog->facts->insn[pc].mem;
}

const char *clc_stack_index(const struct clc *c, const struct gpubpf_access *access, uint32_t reg, int32_t off,
			    char buf[48])
{
	int64_t delta;

	if (access->frame != GPUBPF_ANY_FRAME && access->off_min == access->off_max) {
		snprintf(buf, 48, "%d", (access->frame + 1) * GPUBPF_STACK_SIZE + access->off_min - (int)c->stack_skip);
		return buf;
	}
	delta = (int64_t)off - GPUBPF_PTR_STACK - c->stack_skip;
	snprintf(buf, 48, "(u32)(r%u - %lluUL)", reg, (unsigned long long)-delta);
	return buf;
}

static const char *format_device_address(uint32_t reg, int32_t off, char buf[48])
{
	if (off)
		snprintf(buf, 48, "r%u %c %dUL", reg, off < 0 ? '-' : '+', off < 0 ? -off : off);
	else
		snprintf(buf, 48, "r%u", reg);
	return buf;
}

static uint32_t access_align(const struct gpubpf_access *access, uint32_t width)
{
	uint32_t align = access->align ? access->align : 1;

	return align < width ? align : width;
}

/* Emits the lvalue of an access to private memory or, if not `private`, to device memory. */
static void emit_lvalue(struct clc *c, uint32_t pc, uint32_t reg, bool private)
{
	const struct gpubpf_access *access = access_of(c, pc);
	const struct gpubpf_insn *insn = &c->prog->insns[pc];
	char buf[48];

	if (private)
		text_add(c->t, "GPUBPF_PRIV(" CLC_MEM ", %s)", insn->width, access_align(access, insn->width),
			 clc_stack_index(c, access, reg, insn->off, buf));
	else
		text_add(c->t, "GPUBPF_GLOB(%s" CLC_MEM ", %s)",
			 insn->ordered || gpubpf_lower_is_live(c->job, access) ? "volatile " : "", insn->width,
			 access_align(access, insn->width), format_device_address(reg, insn->off, buf));
}

static void load_from(struct clc *c, uint32_t pc, bool private)
{
	static const char *const sign[] = { [1] = "(u64)(s64)(char)", [2] = "(u64)(s64)(short)", [4] = "(u64)(s64)(s32)" };
	const struct gpubpf_insn *insn = &c->prog->insns[pc];

	text_add(c->t, "%sr%u = %s", insn->ordered ? "{ " : "", insn->dst, insn->sext ? sign[insn->width] : "");
	emit_lvalue(c, pc, insn->src, private);
	text_add(c->t, ";%s\n", insn->ordered ? " gpubpf_fence(); }" : "");
}

static void store_to(struct clc *c, uint32_t pc, bool private)
{
	const struct gpubpf_insn *insn = &c->prog->insns[pc];
	static const char *const type[] = { [1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64" };
	char s[32], address[48];

	if (!private && clc_is_atomic_add(c, pc)) {
		text_add(c->t, "gpubpf_atomic_add_warp_u%u(%s, (u%u)(r%u - m%u));\n", insn->width * 8,
			 format_device_address(insn->dst, insn->off, address), insn->width * 8, insn->src,
			 c->prog->facts->insn[pc].other);
		return;
	}
	text_add(c->t, "%s", insn->ordered ? "{ gpubpf_fence(); " : "");
	emit_lvalue(c, pc, insn->dst, private);
	text_add(c->t, " = (%s)%s;%s\n", type[insn->width], clc_source(insn, s), insn->ordered ? " }" : "");
}

static void emit_atomic_on(struct clc *c, uint32_t pc, bool private)
{
	struct gpubpf_insn plain = c->prog->insns[pc], *insn = &plain;
	char address[48], pointer[64];

	if (c->prog->facts->insn[pc].flags & GPUBPF_FACT_UNUSED)
		plain.op = GPUBPF_ATOMIC_ADD;
	if (!private) {
		clc_atomic_at(c, insn, format_device_address(insn->dst, insn->off, address), NULL);
		return;
	}
	snprintf(pointer, sizeof(pointer), "stack + %s",
		 clc_stack_index(c, access_of(c, pc), insn->dst, insn->off, address));
	clc_atomic_at(c, insn, NULL, pointer);
}

/*
 * Emits an access to the memory that the fact names. If the fact allows both the stack and device memory, the code
 * compares the pointer to decide.
 */
static int emit_in_spaces(struct clc *c, uint32_t pc, uint32_t reg, void (*emit)(struct clc *c, uint32_t pc, bool private))
{
	uint32_t spaces = access_of(c, pc)->spaces & ~GPUBPF_SPACE_NULL;
	bool stack = spaces & GPUBPF_SPACE_STACK, device = spaces & DEVICE_SPACES;

	if (!spaces || spaces & ~(GPUBPF_SPACE_STACK | DEVICE_SPACES))
		return gpubpf_diag_set(
			c->diag, GPUBPF_E_TARGET_LACKS, pc,
			"an access that may be to the context or to other memory, depending on the path, cannot be lowered");
	if (stack && device)
		text_add(c->t, "if (r%u < 0x%xUL) ", reg, GPUBPF_PTR_LIMIT);
	if (stack)
		emit(c, pc, true);
	if (stack && device)
		text_add(c->t, "\telse ");
	if (device)
		emit(c, pc, false);
	return 0;
}

int clc_load(struct clc *c, uint32_t pc)
{
	const struct gpubpf_insn *insn = &c->prog->insns[pc];
	const struct gpubpf_access *access = access_of(c, pc);
	int err;

	if (access->spaces == GPUBPF_SPACE_CTX) {
		text_add(c->t, "r%u = ", insn->dst);
		err = clc_ctx_load(c, pc, access->off_min, insn->width);
		text_add(c->t, ";\n");
		return err;
	}
	err = emit_in_spaces(c, pc, insn->src, load_from);
	if (c->rmw_load[pc])
		text_add(c->t, "\tm%u = r%u;\n", pc, insn->dst);
	return err;
}

int clc_store(struct clc *c, uint32_t pc)
{
	return emit_in_spaces(c, pc, c->prog->insns[pc].dst, store_to);
}

int clc_atomic(struct clc *c, uint32_t pc)
{
	return emit_in_spaces(c, pc, c->prog->insns[pc].dst, emit_atomic_on);
}

bool clc_is_atomic_add(const struct clc *c, uint32_t pc)
{
	const struct gpubpf_insn_facts *facts = &c->prog->facts->insn[pc];
	const struct gpubpf_insn *insn = &c->prog->insns[pc];
	const struct gpubpf_access *access = &facts->mem;

	if (!(facts->flags & GPUBPF_FACT_RMW_ADD) || !insn->reg || insn->width < 4 || access->align < insn->width)
		return false;
	if (access->spaces != GPUBPF_SPACE_MAP_VALUE || access->map == GPUBPF_NO_MAP)
		return false;
	return access->map == GPUBPF_ANY_MAP || !(c->job->unit->maps[access->map].type->flags & GPUBPF_MAP_THREAD);
}

static void emit_private_atomic(struct clc *c, const struct gpubpf_insn *insn, const char *pointer)
{
	static const char *const update[GPUBPF_NATOMIC] = {
		[GPUBPF_ATOMIC_ADD] = "old + s", [GPUBPF_ATOMIC_FETCH_ADD] = "old + s",
		[GPUBPF_ATOMIC_OR] = "old | s",  [GPUBPF_ATOMIC_FETCH_OR] = "old | s",
		[GPUBPF_ATOMIC_AND] = "old & s", [GPUBPF_ATOMIC_FETCH_AND] = "old & s",
		[GPUBPF_ATOMIC_XOR] = "old ^ s", [GPUBPF_ATOMIC_FETCH_XOR] = "old ^ s",
		[GPUBPF_ATOMIC_XCHG] = "s",
	};
	uint32_t bits = insn->width * 8;

	text_add(c->t,
		 "{ GPUBPF_PRIVATE " CLC_MEM " *p = (GPUBPF_PRIVATE " CLC_MEM " *)(%s); u%u old = *p, s = (u%u)r%u; ",
		 insn->width, insn->width, insn->width, insn->width, pointer, bits, bits, insn->src);
	if (insn->op == GPUBPF_ATOMIC_CMPXCHG)
		text_add(c->t, "*p = old == (u%u)r0 ? s : old; r0 = old; }\n", bits);
	else if (insn->op >= GPUBPF_ATOMIC_FETCH_ADD)
		text_add(c->t, "*p = %s; r%u = old; }\n", update[insn->op], insn->src);
	else
		text_add(c->t, "*p = %s; }\n", update[insn->op]);
}

void clc_atomic_at(struct clc *c, const struct gpubpf_insn *insn, const char *address, const char *private)
{
	static const char *const name[GPUBPF_NATOMIC] = {
		[GPUBPF_ATOMIC_ADD] = "add_warp",  [GPUBPF_ATOMIC_FETCH_ADD] = "fetch_add",
		[GPUBPF_ATOMIC_OR] = "fetch_or",   [GPUBPF_ATOMIC_FETCH_OR] = "fetch_or",
		[GPUBPF_ATOMIC_AND] = "fetch_and", [GPUBPF_ATOMIC_FETCH_AND] = "fetch_and",
		[GPUBPF_ATOMIC_XOR] = "fetch_xor", [GPUBPF_ATOMIC_FETCH_XOR] = "fetch_xor",
		[GPUBPF_ATOMIC_XCHG] = "xchg",
	};
	uint32_t bits = insn->width * 8;

	if (private) {
		emit_private_atomic(c, insn, private);
	} else if (insn->op == GPUBPF_ATOMIC_CMPXCHG) {
		text_add(c->t, "r0 = gpubpf_atomic_cmpxchg_u%u(%s, (u%u)r0, (u%u)r%u);\n", bits, address, bits, bits,
			 insn->src);
	} else {
		if (insn->op >= GPUBPF_ATOMIC_FETCH_ADD)
			text_add(c->t, "r%u = ", insn->src);
		text_add(c->t, "gpubpf_atomic_%s_u%u(%s, (u%u)r%u);\n", name[insn->op], bits, address, bits, insn->src);
	}
}
