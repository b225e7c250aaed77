/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Register promotion of write-only counters.
 *
 * Does: accumulates adds to write-only counters in registers, so that not every add is done in memory.
 * Before: programs at single instructions add atomically to values of an array.
 * After: low_accumulate() emits an add to the register %gpubpf_sum<bytes>_<map>_<offset>. The injector declares this
 * register and clears it at the function's entry. At each exit it adds the register to the multiprocessor's replica of
 * the counter, so no place computes the counter's address.
 * Requires: a counter that no program reads. It has one address for all lanes, or it is one of a few values of an array
 * (LOW_MAX_VALUES).
 *
 * In an array of a few values, each value has its own register. If the index is a constant of the place, such as the
 * kind of an access, the assembler removes the adds to the other registers.
 *
 * For an array of more values, a pair of registers caches the value of the last add. %gpubpf_key<bytes>_<map> is the
 * offset of this value in the map, and %gpubpf_kept<bytes>_<map> is its sum, of up to 32 bits. An add to another value
 * flushes the pair first. At each place, the injector sets %gpubpf_keeps to the mode:
 *   0  Each add is done in memory at once.
 *   1  The place may be in a loop. The pair belongs to the place, and the injector flushes it at each exit.
 *   2  The place is outside of loops, so each lane passes it at most once. All such places of the function share one
 *      pair. If all lanes of a full warp add to one value, only lane %gpubpf_keeper<n> stores the warp's sum in its
 *      pair. This lane differs for each place and each add n of the place's programs, so a lane holds at most one sum.
 *      At the function's exit all lanes flush their sums at once.
 *
 * Registers in the emitted PTX; l->registers lists the map and number of each:
 *   %gpubpf_sum*     sum of the adds to one counter
 *   %gpubpf_key*     offset in the map of the value that the pair caches
 *   %gpubpf_kept*    sum of the adds to that value, not yet in memory
 *   %gpubpf_keeps    mode at the place, as above
 *   %gpubpf_keeper*  lane that stores the warp's sum of one add in mode 2
 *   %gpubpf_first*   address of an array's first value on the lane's multiprocessor (core/lower/llvm/ir/registers.c)
 *   %gpubpf_told     1: the value is a constant in the place's text, 0: it is in a register
 *                    (core/lower/llvm/passes/place_const.c)
 *   %gpubpf_came     active lanes at the place (core/lower/llvm/passes/nvptx_activemask_cse.c)
 *   %gpubpf_whole    predicate: all lanes of the warp are active (the same file)
 *   %gpubpf_side     lanes that branch in this lane's direction (core/lower/llvm/passes/branch_mask.c)
 */
#include <stdio.h>
#include <string.h>

#include "low.h"
#include "passes/passes.h"
#include "maps/impl.h"
#include "core/lower/sums.h"

/* Reserves a register for the sum. Returns NULL if all such registers are in use for other sums. */
static const struct gpubpf_acc_register *reserve_sum(struct low *l, uint32_t map, uint32_t off, uint32_t bytes)
{
	struct gpubpf_acc_register reg = { .map = map, .off = off, .bytes = bytes };

	snprintf(reg.name, sizeof(reg.name), "%u_%u_%u", bytes, map, off);
	return low_reserve_register(l->registers.sums, &l->registers.nsums, GPUBPF_MAX_SUMS, reg);
}

/*
 * Emits an add of v to the sum's register. If `at` is not NULL, the add takes place only if `at` equals the sum's
 * offset in the map.
 */
static void add(struct low *l, const struct gpubpf_acc_register *sum, LLVMValueRef v, LLVMValueRef at)
{
	LLVMTypeRef params[] = { low_int(l, 8), low_int(l, 8) };
	LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(l->ctx), params, at ? 2 : 1, false);
	const char *only = at ? "@%gpubpf_p " : "", *constraints = at ? "l,l" : "l";
	LLVMValueRef args[] = { v, at };
	char text[256];
	size_t n;

	n = at ? snprintf(text, sizeof(text), "{\n.reg .pred %%gpubpf_p;\nsetp.eq.s64 %%gpubpf_p, $1, %u;\n", sum->off) :
		 0;
	n += snprintf(text + n, sizeof(text) - n, "%sadd.s64 %%gpubpf_sum%s, %%gpubpf_sum%s, $0;%s", only, sum->name,
		      sum->name, at ? "\n}" : "");
	LLVMBuildCall2(l->b, type,
		       LLVMGetInlineAsm(type, text, n, constraints, strlen(constraints), true, false,
					LLVMInlineAsmDialectATT, false),
		       args, at ? 2 : 1, "");
}

/* -- an array of many values: a pair of registers caches the value of the last add -- */

/* Reserves a pair of registers, key and sum, for the map. Returns NULL if all pairs are in use. */
static const struct gpubpf_acc_register *reserve_key(struct low *l, uint32_t map, uint32_t bytes)
{
	struct gpubpf_acc_register reg = { .map = map, .bytes = bytes };

	snprintf(reg.name, sizeof(reg.name), "%u_%u", bytes, map);
	return low_reserve_register(l->registers.keys, &l->registers.nkeys, GPUBPF_MAX_KEYS, reg);
}

/*
 * Reserves the register %gpubpf_keeper<n> for the next add in mode 2. The register has the number of the lane that
 * accumulates this add. The caller checks that a register is free.
 */
static const struct gpubpf_acc_register *reserve_lane(struct low *l)
{
	struct gpubpf_acc_register *reg = &l->registers.acc_lanes[l->registers.nacc_lanes];

	snprintf(reg->name, sizeof(reg->name), "%u", l->registers.nacc_lanes++);
	return reg;
}

/*
 * Emits a PTX statement on the register `name`, which the place declares. If v is not NULL, v is the statement's
 * operand. If v is NULL, returns the register's value.
 */
static LLVMValueRef emit_on_register(struct low *l, const char *statement, const char *name, LLVMValueRef v)
{
	LLVMTypeRef type = LLVMFunctionType(v ? LLVMVoidTypeInContext(l->ctx) : l->i32, &l->i32, v ? 1 : 0, false);
	const char *constraints = v ? "r" : "=r";
	char text[120];
	size_t n = snprintf(text, sizeof(text), statement, name);

	return LLVMBuildCall2(l->b, type,
			      LLVMGetInlineAsm(type, text, n, constraints, strlen(constraints), true, false,
					       LLVMInlineAsmDialectATT, false),
			      &v, v ? 1 : 0, "");
}

/*
 * Returns true if the access adds to a map whose values are only summed, and the host does not read the map while GPU
 * kernels run.
 */
static bool is_summed(struct low_frame *f, uint32_t pc)
{
	const struct gpubpf_access *a;
	struct low *l = f->p->l;

	if (!low_has_registers(f->p))
		return false;
	a = &f->p->prog->facts->insn[pc].mem;
	return a->spaces == GPUBPF_SPACE_MAP_VALUE && a->map >= 0 && lower_counter_values(l->job, a->map);
}

/*
 * Returns the offset in the map (i64) of the instruction's access. It is the offset of the map's value, plus the offset
 * in this value if that is known.
 */
static LLVMValueRef offset_of(struct low_frame *f, uint32_t pc, LLVMValueRef address)
{
	const struct gpubpf_access *a = &f->p->prog->facts->insn[pc].mem;
	struct low *l = f->p->l;
	LLVMValueRef in_value = low_const(l, a->off_min == a->off_max ? a->off_min : 0);
	LLVMValueRef value = LLVMBuildSub(l->b, address, in_value, "");

	return LLVMBuildAdd(l->b, LLVMBuildSub(l->b, value, low_first_value(f, a->map), ""), in_value, "");
}

/*
 * Emits mode 2. If all lanes of a full warp add to one value, lane %gpubpf_keeper<n> stores offset and sum in its pair
 * of registers. Control then continues at `after`. Leaves the builder in the block for all other warps.
 */
static void accumulate_for_warp(struct low_frame *f, uint32_t pc, LLVMValueRef address, LLVMValueRef v,
				const char *key_reg, const char *sum_reg, LLVMBasicBlockRef after)
{
	LLVMBasicBlockRef full_warp = low_block(f->p, "all"), owner = low_block(f->p, "mine"),
			  split = low_block(f->p, "apart");
	struct low *l = f->p->l;
	LLVMValueRef at = LLVMBuildTrunc(l->b, offset_of(f, pc, address), l->i32, ""),
		     args[] = { at, v, low_is_place_const(f, v) }, lane;
	char lane_reg[40];

	LLVMBuildCondBr(l->b,
			LLVMBuildICmp(l->b, LLVMIntNE, low_call(l, "gpubpf_adds_together", args, 3), low_const(l, 0), ""),
			full_warp, split);
	LLVMPositionBuilderAtEnd(l->b, full_warp);
	snprintf(lane_reg, sizeof(lane_reg), "%%gpubpf_keeper%s", reserve_lane(l)->name);
	lane = LLVMBuildTrunc(l->b, low_call(l, "gpubpf_lane", NULL, 0), l->i32, "");
	LLVMBuildCondBr(l->b,
			LLVMBuildICmp(l->b, LLVMIntEQ, lane, emit_on_register(l, "mov.b32 $0, %s;", lane_reg, NULL), ""),
			owner, after);
	LLVMPositionBuilderAtEnd(l->b, owner);
	emit_on_register(l, "mov.b32 %s, $0;", key_reg, at);
	emit_on_register(l, "mov.b32 %s, $0;", sum_reg,
			 LLVMBuildTrunc(l->b, LLVMBuildMul(l->b, v, low_const(l, 32), ""), l->i32, ""));
	LLVMBuildBr(l->b, after);
	LLVMPositionBuilderAtEnd(l->b, split);
}

/*
 * Computes the address again in the current block, by a PTX statement that LLVM does not move. Lanes that skip this
 * block then do not compute the address.
 */
static LLVMValueRef recompute_address(struct low_frame *f, uint32_t pc, LLVMValueRef address)
{
	LLVMTypeRef type = LLVMFunctionType(low_int(f->p->l, 8), NULL, 0, false);
	uint32_t map = f->p->prog->facts->insn[pc].mem.map;
	LLVMValueRef first, at;
	struct low *l = f->p->l;
	char text[60];
	size_t n = snprintf(text, sizeof(text), "mov.b64 $0, %%gpubpf_first%u;", map);

	if (!low_has_first_register(f, map))
		return address;
	at = LLVMBuildAnd(l->b, offset_of(f, pc, address), low_const(l, UINT32_MAX), "");
	first = LLVMBuildCall2(l->b, type,
			       LLVMGetInlineAsm(type, text, n, "=l", 2, true, false, LLVMInlineAsmDialectATT, false),
			       NULL, 0, "");
	return LLVMBuildAdd(l->b, first, at, "");
}

LLVMBasicBlockRef low_accumulate_last(struct low_frame *f, uint32_t pc, LLVMValueRef *address, LLVMValueRef v,
				      const char *function, bool uses_near_add)
{
	unsigned width = f->p->prog->insns[pc].width;
	LLVMBasicBlockRef cached, hit, miss, add, uncached, after, full_warp, no_full_warp;
	LLVMValueRef first, at, condition, key, sum, mode, addend = v, args[2];
	struct low *l = f->p->l;
	const struct gpubpf_acc_register *pair;
	char key_reg[48], sum_reg[48];
	uint32_t map;

	if (!is_summed(f, pc))
		return NULL;
	map = f->p->prog->facts->insn[pc].mem.map;
	pair = l->job->layouts[map].copy_stride > UINT32_MAX ? NULL : reserve_key(l, map, width);
	if (!pair)
		return NULL;
	cached = low_block(f->p, "keeps");
	hit = low_block(f->p, "same");
	miss = low_block(f->p, "other");
	add = low_block(f->p, "add");
	uncached = low_block(f->p, "now");
	after = low_block(f->p, "after");
	snprintf(key_reg, sizeof(key_reg), "%%gpubpf_key%s", pair->name);
	snprintf(sum_reg, sizeof(sum_reg), "%%gpubpf_kept%s", pair->name);
	mode = emit_on_register(l, "mov.b32 $0, %s;", "%gpubpf_keeps", NULL);
	low_mark_uniform(l, mode);
	condition = LLVMBuildICmp(l->b, LLVMIntEQ, mode, low_const32(l, 1), "");
	LLVMBuildCondBr(l->b,
			LLVMBuildAnd(l->b, condition, LLVMBuildICmp(l->b, LLVMIntULE, v, low_const(l, UINT32_MAX), ""), ""),
			cached, uncached);
	LLVMPositionBuilderAtEnd(l->b, cached);
	first = low_first_value(f, map);
	at = LLVMBuildTrunc(l->b, offset_of(f, pc, *address), l->i32, "");
	key = emit_on_register(l, "mov.b32 $0, %s;", key_reg, NULL);
	sum = emit_on_register(l, "mov.b32 $0, %s;", sum_reg, NULL);
	args[1] = LLVMBuildZExt(l->b, sum, low_int(l, 8), "");
	v = LLVMBuildTrunc(l->b, v, l->i32, "");
	sum = LLVMBuildAdd(l->b, sum, v, "");
	condition = LLVMBuildICmp(l->b, LLVMIntUGE, sum, v, ""); /* true if the 32-bit sum did not overflow */
	LLVMBuildCondBr(l->b, LLVMBuildAnd(l->b, condition, LLVMBuildICmp(l->b, LLVMIntEQ, key, at, ""), ""), hit, miss);
	LLVMPositionBuilderAtEnd(l->b, hit);
	emit_on_register(l, "mov.b32 %s, $0;", sum_reg, sum);
	LLVMBuildBr(l->b, after);
	LLVMPositionBuilderAtEnd(l->b, miss);
	args[0] = LLVMBuildAdd(l->b, first, LLVMBuildZExt(l->b, key, low_int(l, 8), ""), "");
	emit_on_register(l, "mov.b32 %s, $0;", key_reg, at);
	emit_on_register(l, "mov.b32 %s, $0;", sum_reg, v);
	LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntNE, args[1], low_const(l, 0), ""), add, after);
	LLVMPositionBuilderAtEnd(l->b, add);
	low_call(l, function, args, 2);
	LLVMBuildBr(l->b, after);
	LLVMPositionBuilderAtEnd(l->b, uncached);
	if (!uses_near_add || l->registers.nacc_lanes == GPUBPF_MAX_ACC_LANES || !lower_is_loop_free(f->p->prog))
		return after;
	full_warp = low_block(f->p, "whole");
	no_full_warp = low_block(f->p, "alone");
	LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntEQ, mode, low_const32(l, 2), ""), full_warp, no_full_warp);
	LLVMPositionBuilderAtEnd(l->b, full_warp);
	accumulate_for_warp(f, pc, *address, addend, key_reg, sum_reg, after);
	LLVMBuildBr(l->b, no_full_warp);
	LLVMPositionBuilderAtEnd(l->b, no_full_warp);
	*address = recompute_address(f, pc, *address);
	return after;
}

/* -- an array of few values: each value has its own register -- */

bool low_accumulate(struct low_frame *f, uint32_t pc, LLVMValueRef address, LLVMValueRef v)
{
	const struct gpubpf_acc_register *sums[LOW_MAX_VALUES];
	const struct gpubpf_access *a;
	struct low *l = f->p->l;
	LLVMValueRef at = NULL;
	uint32_t n;

	if (!is_summed(f, pc))
		return false;
	a = &f->p->prog->facts->insn[pc].mem;
	if (a->off_min < 0 || a->off_min != a->off_max)
		return false;
	n = lower_counter_values(l->job, a->map);
	if (n > LOW_MAX_VALUES)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		sums[i] = reserve_sum(l, a->map, i * l->job->layouts[a->map].stride + a->off_min,
				      f->p->prog->insns[pc].width);
		if (!sums[i])
			return false;
	}
	if (n > 1)
		at = LLVMBuildSub(l->b, address, low_first_value(f, a->map), "");
	for (uint32_t i = 0; i < n; i++)
		add(l, sums[i], v, at);
	return n;
}
