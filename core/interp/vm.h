/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core loop of the interpreter, in the subset of C that the device library uses: no recursion, no function
 * pointers, no libc. A file that includes this one must first define, as static inline:
 *
 *   u8 *gpubpf_vm_memory(struct gpubpf_vm *vm, u64 address, u64 size, int write)
 *       returns a pointer to the bytes at an address, or sets vm->status and returns NULL (0).
 *   void gpubpf_vm_call(struct gpubpf_vm *vm, s32 helper)
 *       runs a helper on vm->reg[1..5] and stores r0. It may set vm->status. If it fills vm->rounds, a
 *       function is called repeatedly, and r0 becomes the number of calls.
 *   int gpubpf_vm_element(struct gpubpf_vm *vm, struct gpubpf_vm_rounds *rounds)
 *       sets the arguments of the next iteration of helper 164; returns 0 if the map has no more elements.
 *   void gpubpf_vm_imm64(struct gpubpf_vm *vm, const struct gpubpf_insn *insn)
 *       loads a map, map value or function into the destination register.
 *   void gpubpf_vm_step(struct gpubpf_vm *vm)
 *       is called before each instruction.
 *
 * Arithmetic is total (RFC 9669 4.1): every operation has one result for all operands.
 */
#ifndef GPUBPF_INTERP_VM_H
#define GPUBPF_INTERP_VM_H

#include "vm_state.h"

static inline u8 *gpubpf_vm_memory(struct gpubpf_vm *vm, u64 address, u64 size, int write);
static inline void gpubpf_vm_call(struct gpubpf_vm *vm, s32 helper);
static inline int gpubpf_vm_element(struct gpubpf_vm *vm, struct gpubpf_vm_rounds *rounds);
static inline void gpubpf_vm_imm64(struct gpubpf_vm *vm, const struct gpubpf_insn *insn);
static inline void gpubpf_vm_step(struct gpubpf_vm *vm);

static inline u64 gpubpf_vm_read(const u8 *p, u32 width)
{
	u64 v = 0;

	for (u32 i = 0; i < width; i++)
		v |= (u64)p[i] << (8 * i);
	return v;
}

static inline void gpubpf_vm_write(u8 *p, u32 width, u64 v)
{
	for (u32 i = 0; i < width; i++)
		p[i] = (u8)(v >> (8 * i));
}

static inline u64 gpubpf_vm_acquire(const u8 *p, u32 width)
{
	switch (width) {
	case 1:
		return __atomic_load_n(p, __ATOMIC_ACQUIRE);
	case 2:
		return __atomic_load_n((const u16 *)p, __ATOMIC_ACQUIRE);
	case 4:
		return __atomic_load_n((const u32 *)p, __ATOMIC_ACQUIRE);
	}
	return __atomic_load_n((const u64 *)p, __ATOMIC_ACQUIRE);
}

static inline void gpubpf_vm_release(u8 *p, u32 width, u64 v)
{
	switch (width) {
	case 1:
		__atomic_store_n(p, (u8)v, __ATOMIC_RELEASE);
		return;
	case 2:
		__atomic_store_n((u16 *)p, (u16)v, __ATOMIC_RELEASE);
		return;
	case 4:
		__atomic_store_n((u32 *)p, (u32)v, __ATOMIC_RELEASE);
		return;
	}
	__atomic_store_n((u64 *)p, v, __ATOMIC_RELEASE);
}

static inline u64 gpubpf_vm_sext(u64 v, u32 bits)
{
	return (u64)((s64)(v << (64 - bits)) >> (64 - bits));
}

static inline u64 gpubpf_vm_swap(u64 v, u32 width)
{
	u64 r = 0;

	for (u32 i = 0; i < width; i++)
		r |= (v >> (8 * i) & 0xff) << (8 * (width - 1 - i));
	return r;
}

/* Converts the byte order (RFC 9669 4.2). All hosts and devices are little-endian. */
static inline u64 gpubpf_vm_end(const struct gpubpf_insn *insn, u64 d)
{
	if (insn->ext == 'l')
		return insn->width == 8 ? d : d & ((1ull << (8 * insn->width)) - 1);
	return gpubpf_vm_swap(d, insn->width);
}

static inline u64 gpubpf_vm_alu64(u32 op, u64 d, u64 s)
{
	switch (op) {
	case GPUBPF_ADD:
		return d + s;
	case GPUBPF_SUB:
		return d - s;
	case GPUBPF_MUL:
		return d * s;
	case GPUBPF_DIV:
		return s ? d / s : 0;
	case GPUBPF_OR:
		return d | s;
	case GPUBPF_AND:
		return d & s;
	case GPUBPF_LSH:
		return d << (s & 63);
	case GPUBPF_RSH:
		return d >> (s & 63);
	case GPUBPF_NEG:
		return 0 - d;
	case GPUBPF_MOD:
		return s ? d % s : d;
	case GPUBPF_XOR:
		return d ^ s;
	case GPUBPF_ARSH:
		return (u64)((s64)d >> (s & 63));
	case GPUBPF_SDIV:
		return !s ? 0 : s + 1 == 0 ? 0 - d : (u64)((s64)d / (s64)s);
	case GPUBPF_SMOD:
		return !s ? d : s + 1 == 0 ? 0 : (u64)((s64)d % (s64)s);
	}
	return s; /* MOV */
}

static inline u32 gpubpf_vm_alu32(u32 op, u32 d, u32 s)
{
	switch (op) {
	case GPUBPF_LSH:
		return d << (s & 31);
	case GPUBPF_RSH:
		return d >> (s & 31);
	case GPUBPF_ARSH:
		return (u32)((s32)d >> (s & 31));
	case GPUBPF_SDIV:
		return !s ? 0 : s + 1 == 0 ? 0 - d : (u32)((s32)d / (s32)s);
	case GPUBPF_SMOD:
		return !s ? d : s + 1 == 0 ? 0 : (u32)((s32)d % (s32)s);
	}
	/* the low half of the result does not depend on the operands' high halves */
	return (u32)gpubpf_vm_alu64(op, d, s);
}

static inline u64 gpubpf_vm_alu(const struct gpubpf_insn *insn, u64 d, u64 s)
{
	if (insn->op == GPUBPF_END)
		return gpubpf_vm_end(insn, d);
	if (insn->op == GPUBPF_MOVSX)
		s = gpubpf_vm_sext(s, insn->ext);
	if (insn->width == 8)
		return gpubpf_vm_alu64(insn->op, d, s);
	return gpubpf_vm_alu32(insn->op, (u32)d, (u32)s);
}

static inline int gpubpf_vm_taken(const struct gpubpf_insn *insn, u64 d, u64 s)
{
	s64 sd = (s64)d, ss = (s64)s;

	if (insn->width == 4) {
		d = (u32)d, s = (u32)s;
		sd = (s32)d, ss = (s32)s;
	}
	switch (insn->op) {
	case GPUBPF_JEQ:
		return d == s;
	case GPUBPF_JNE:
		return d != s;
	case GPUBPF_JGT:
		return d > s;
	case GPUBPF_JGE:
		return d >= s;
	case GPUBPF_JLT:
		return d < s;
	case GPUBPF_JLE:
		return d <= s;
	case GPUBPF_JSET:
		return (d & s) != 0;
	case GPUBPF_JSGT:
		return sd > ss;
	case GPUBPF_JSGE:
		return sd >= ss;
	case GPUBPF_JSLT:
		return sd < ss;
	case GPUBPF_JSLE:
		return sd <= ss;
	}
	return 1;
}

static inline u64 gpubpf_vm_atomic_result(u32 op, u64 old, u64 s, u64 expected)
{
	switch (op) {
	case GPUBPF_ATOMIC_ADD:
	case GPUBPF_ATOMIC_FETCH_ADD:
		return old + s;
	case GPUBPF_ATOMIC_OR:
	case GPUBPF_ATOMIC_FETCH_OR:
		return old | s;
	case GPUBPF_ATOMIC_AND:
	case GPUBPF_ATOMIC_FETCH_AND:
		return old & s;
	case GPUBPF_ATOMIC_XOR:
	case GPUBPF_ATOMIC_FETCH_XOR:
		return old ^ s;
	case GPUBPF_ATOMIC_CMPXCHG:
		return old == expected ? s : old;
	}
	return s; /* XCHG */
}

/*
 * Performs any atomic operation as a compare-and-swap loop, because other threads may access the map at the same time.
 */
static inline u64 gpubpf_vm_atomic_loop(const struct gpubpf_insn *insn, u8 *p, u64 s, u64 expected)
{
	if (insn->width == 8) {
		u64 old = __atomic_load_n((u64 *)p, __ATOMIC_RELAXED);

		while (!__atomic_compare_exchange_n((u64 *)p, &old, gpubpf_vm_atomic_result(insn->op, old, s, expected),
						    0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			;
		return old;
	}
	u32 old = __atomic_load_n((u32 *)p, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n((u32 *)p, &old,
					    (u32)gpubpf_vm_atomic_result(insn->op, old, (u32)s, (u32)expected), 0,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	return old;
}

/*
 * Returns a pointer to the memory of an atomic. The address must be aligned, because other threads may access the
 * memory too.
 */
static inline u8 *gpubpf_vm_aligned(struct gpubpf_vm *vm, u64 address, u64 size, int write)
{
	u8 *p = gpubpf_vm_memory(vm, address, size, write);

	if (!p || !(address & (size - 1)))
		return p;
	vm->address = address;
	vm->status = GPUBPF_VM_MISALIGNED;
	return (u8 *)0;
}

/* Executes an atomic operation (RFC 9669 5.3). */
static inline void gpubpf_vm_atomic(struct gpubpf_vm *vm, const struct gpubpf_insn *insn)
{
	u8 *p = gpubpf_vm_aligned(vm, vm->reg[insn->dst] + (u64)(s64)insn->off, insn->width, 1);
	u64 old;

	if (!p)
		return;
	old = gpubpf_vm_atomic_loop(insn, p, vm->reg[insn->src], vm->reg[0]);
	if (insn->op == GPUBPF_ATOMIC_CMPXCHG)
		vm->reg[0] = old;
	else if (insn->op >= GPUBPF_ATOMIC_FETCH_ADD)
		vm->reg[insn->src] = old;
}

static inline void gpubpf_vm_load(struct gpubpf_vm *vm, const struct gpubpf_insn *insn)
{
	u64 address = vm->reg[insn->src] + (u64)(s64)insn->off, v;
	const u8 *p = insn->ordered ? gpubpf_vm_aligned(vm, address, insn->width, 0) :
				      gpubpf_vm_memory(vm, address, insn->width, 0);

	if (!p)
		return;
	v = insn->ordered ? gpubpf_vm_acquire(p, insn->width) : gpubpf_vm_read(p, insn->width);
	vm->reg[insn->dst] = insn->sext ? gpubpf_vm_sext(v, 8u * insn->width) : v;
}

static inline void gpubpf_vm_store(struct gpubpf_vm *vm, const struct gpubpf_insn *insn)
{
	u64 address = vm->reg[insn->dst] + (u64)(s64)insn->off;
	u8 *p = insn->ordered ? gpubpf_vm_aligned(vm, address, insn->width, 1) :
				gpubpf_vm_memory(vm, address, insn->width, 1);

	if (p && insn->ordered)
		gpubpf_vm_release(p, insn->width, vm->reg[insn->src]);
	else if (p)
		gpubpf_vm_write(p, insn->width, insn->reg ? vm->reg[insn->src] : (u64)(s64)insn->imm);
}

/* Calls a sub-program (RFC 9669 4.3.2): the callee gets its own frame, and r6 to r9 survive the call. */
static inline void gpubpf_vm_enter(struct gpubpf_vm *vm, u32 target)
{
	struct gpubpf_vm_frame *frame = &vm->frame[vm->depth];

	if (vm->depth + 1 >= GPUBPF_MAX_FRAMES) {
		vm->status = GPUBPF_VM_DEPTH;
		return;
	}
	frame->ret = vm->pc;
	for (int i = 0; i < 4; i++)
		frame->saved[i] = vm->reg[GPUBPF_R6 + i];
	frame->rounds = vm->rounds;
	vm->rounds.n = 0;
	vm->depth++;
	vm->may_gone[vm->depth] = 0;
	vm->reg[GPUBPF_R10] += GPUBPF_STACK_SIZE;
	vm->pc = target;
}

/* Starts the next iteration of the helper that the caller called. Returns 0 if there are no more iterations. */
static inline int gpubpf_vm_round(struct gpubpf_vm *vm)
{
	struct gpubpf_vm_rounds *rounds = &vm->frame[vm->depth - 1].rounds;

	if (rounds->i >= rounds->n || (rounds->map && !gpubpf_vm_element(vm, rounds)))
		return 0;
	if (!rounds->map) {
		vm->reg[GPUBPF_R1] = rounds->i;
		vm->reg[GPUBPF_R2] = rounds->arg;
	}
	vm->may_gone[vm->depth] = 0;
	vm->pc = rounds->target;
	return 1;
}

/* Returns to the caller's frame. */
static inline void gpubpf_vm_return(struct gpubpf_vm *vm)
{
	struct gpubpf_vm_frame *frame = &vm->frame[--vm->depth];

	if (frame->rounds.n)
		vm->reg[GPUBPF_R0] = frame->rounds.i;
	for (int i = 0; i < 4; i++)
		vm->reg[GPUBPF_R6 + i] = frame->saved[i];
	vm->reg[GPUBPF_R10] -= GPUBPF_STACK_SIZE;
	vm->pc = frame->ret;
}

static inline void gpubpf_vm_leave(struct gpubpf_vm *vm)
{
	if (!vm->depth) {
		vm->status = GPUBPF_VM_EXIT;
		return;
	}
	vm->frame[vm->depth - 1].rounds.i++;
	if (vm->reg[GPUBPF_R0] || !gpubpf_vm_round(vm))
		gpubpf_vm_return(vm);
}

static inline void gpubpf_vm_call_back(struct gpubpf_vm *vm)
{
	gpubpf_vm_enter(vm, vm->rounds.target);
	if (vm->status == GPUBPF_VM_RUNNING && !gpubpf_vm_round(vm))
		gpubpf_vm_return(vm);
}

/* Decides whether a conditional jump is taken. */
static inline int gpubpf_vm_jumps(struct gpubpf_vm *vm, const struct gpubpf_insn *insn, u64 d, u64 s)
{
	if (insn->op != GPUBPF_MAY_GOTO)
		return gpubpf_vm_taken(insn, d, s);
	if (vm->may_gone[vm->depth] == GPUBPF_MAY_GOTO_MAX)
		return 1;
	vm->may_gone[vm->depth]++;
	return 0;
}

/* Executes the instruction at vm->pc - 1. */
static inline void gpubpf_vm_execute(struct gpubpf_vm *vm, const struct gpubpf_insn *insn)
{
	u64 *dst = &vm->reg[insn->dst];
	u64 s = insn->reg ? vm->reg[insn->src] : (u64)(s64)insn->imm;

	switch (insn->kind) {
	case GPUBPF_INSN_ALU:
		*dst = gpubpf_vm_alu(insn, *dst, s);
		break;
	case GPUBPF_INSN_LOAD:
		gpubpf_vm_load(vm, insn);
		break;
	case GPUBPF_INSN_STORE:
		gpubpf_vm_store(vm, insn);
		break;
	case GPUBPF_INSN_ATOMIC:
		gpubpf_vm_atomic(vm, insn);
		break;
	case GPUBPF_INSN_JCOND:
		if (!gpubpf_vm_jumps(vm, insn, *dst, s))
			break;
		/* fall through */
	case GPUBPF_INSN_JUMP:
		vm->pc = insn->target;
		break;
	case GPUBPF_INSN_CALL:
		gpubpf_vm_call(vm, insn->imm);
		if (vm->rounds.n)
			gpubpf_vm_call_back(vm);
		break;
	case GPUBPF_INSN_CALL_LOCAL:
		gpubpf_vm_enter(vm, insn->target);
		break;
	case GPUBPF_INSN_EXIT:
		gpubpf_vm_leave(vm);
		break;
	case GPUBPF_INSN_IMM64:
		gpubpf_vm_imm64(vm, insn);
		vm->pc++;
		break;
	case GPUBPF_INSN_HI:
		vm->status = GPUBPF_VM_FELL_OFF;
		break;
	}
}

/*
 * Runs from pc 0 until vm->status states why the run ended; vm->pc is then the last instruction. The caller sets insns,
 * ninsns, limit and r1 to r5, and zeroes the rest.
 */
static inline void gpubpf_vm_run(struct gpubpf_vm *vm)
{
	u32 at;

	vm->reg[GPUBPF_R10] = GPUBPF_PTR_STACK + GPUBPF_STACK_SIZE;
	do {
		at = vm->pc;
		if (at >= vm->ninsns) {
			vm->status = GPUBPF_VM_FELL_OFF;
			break;
		}
		if (vm->executed++ >= vm->limit) {
			vm->status = GPUBPF_VM_LIMIT;
			break;
		}
		gpubpf_vm_step(vm);
		vm->pc = at + 1;
		gpubpf_vm_execute(vm, &vm->insns[at]);
	} while (vm->status == GPUBPF_VM_RUNNING);
	vm->pc = at;
}

#endif
