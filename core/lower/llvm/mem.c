/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowers loads, stores and atomics. The facts name the memory of each access. Accesses to device memory have the proven
 * alignment. An access whose alignment is smaller than its width is split, because a GPU would trap, and SPIR-V does
 * not define such an access.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "low.h"
#include "passes/passes.h"

#define DEVICE_SPACES (GPUBPF_SPACE_MAP_VALUE | GPUBPF_SPACE_RECORD)

static const struct gpubpf_access *access_of(struct low_frame *f, uint32_t pc)
{
	return &f->p->prog->facts->insn[pc].mem;
}

static LLVMValueRef load_bytes(struct low *l, LLVMValueRef address, unsigned width, unsigned align, bool live)
{
	unsigned part = align < width ? align : width;
	LLVMValueRef sum = low_const(l, 0), v, at;

	for (unsigned i = 0; i < width; i += part) {
		at = i ? LLVMBuildAdd(l->b, address, low_const(l, i), "") : address;
		v = LLVMBuildLoad2(l->b, low_int(l, part), low_device_ptr(l, at), "");
		LLVMSetAlignment(v, part);
		LLVMSetVolatile(v, live);
		v = LLVMBuildZExt(l->b, v, low_int(l, 8), "");
		if (part == width)
			return v;
		sum = LLVMBuildOr(l->b, sum, LLVMBuildShl(l->b, v, low_const(l, 8 * i), ""), "");
	}
	return sum;
}

LLVMValueRef low_device_load(struct low *l, LLVMValueRef address, unsigned width, unsigned align)
{
	return load_bytes(l, address, width, align, false);
}

static void store_bytes(struct low *l, LLVMValueRef address, LLVMValueRef v, unsigned width, unsigned align, bool live)
{
	unsigned part = align < width ? align : width;

	for (unsigned i = 0; i < width; i += part) {
		LLVMValueRef at = i ? LLVMBuildAdd(l->b, address, low_const(l, i), "") : address;
		LLVMValueRef bits = i ? LLVMBuildLShr(l->b, v, low_const(l, 8 * i), "") : v;

		bits = LLVMBuildTrunc(l->b, bits, low_int(l, part), "");
		bits = LLVMBuildStore(l->b, bits, low_device_ptr(l, at));
		LLVMSetAlignment(bits, part);
		LLVMSetVolatile(bits, live);
	}
}

void low_device_store(struct low *l, LLVMValueRef address, LLVMValueRef v, unsigned width, unsigned align)
{
	store_bytes(l, address, v, width, align, false);
}

/*
 * Emits an acquiring load as a volatile load and a fence (PTX ISA 8.4, 8.8). It is not an atomic load, because SPIR-V
 * has no atomic loads of 1 and 2 bytes.
 */
static LLVMValueRef acquire(struct low *l, LLVMValueRef address, unsigned width)
{
	LLVMValueRef v = LLVMBuildLoad2(l->b, low_int(l, width), low_device_ptr(l, address), "");

	LLVMSetVolatile(v, true);
	LLVMSetAlignment(v, width);
	low_call(l, "gpubpf_fence", NULL, 0);
	return LLVMBuildZExt(l->b, v, low_int(l, 8), "");
}

static void release(struct low *l, LLVMValueRef address, LLVMValueRef v, unsigned width)
{
	LLVMValueRef store;

	low_call(l, "gpubpf_fence", NULL, 0);
	store = LLVMBuildStore(l->b, LLVMBuildTrunc(l->b, v, low_int(l, width), ""), low_device_ptr(l, address));
	LLVMSetVolatile(store, true);
	LLVMSetAlignment(store, width);
}

/*
 * Loads from private memory. The array and the stack frames are aligned to 8 bytes, so the alignment that the fact
 * states for the frame also holds in the array.
 */
static LLVMValueRef emit_private_load(struct low *l, LLVMValueRef ptr, unsigned width, unsigned align)
{
	LLVMValueRef v = LLVMBuildLoad2(l->b, low_int(l, width), ptr, "");

	LLVMSetAlignment(v, align < width ? align : width);
	return LLVMBuildZExt(l->b, v, low_int(l, 8), "");
}

static void emit_private_store(struct low *l, LLVMValueRef ptr, LLVMValueRef v, unsigned width, unsigned align)
{
	v = LLVMBuildTrunc(l->b, v, low_int(l, width), "");
	LLVMSetAlignment(LLVMBuildStore(l->b, v, ptr), align < width ? align : width);
}

static LLVMValueRef emit_address(struct low_frame *f, unsigned reg, int32_t off)
{
	struct low *l = f->p->l;

	return LLVMBuildAdd(l->b, low_get(f, reg), low_const(l, (int64_t)off), "");
}

/*
 * Returns true if the host accesses this memory while GPU kernels run. Checked mode has no maps and no facts, so the
 * result is false.
 */
static bool is_live(struct low_frame *f, uint32_t pc)
{
	return !f->p->l->job->checked && gpubpf_lower_is_live(f->p->l->job, access_of(f, pc));
}

/* Emits one access. `private` points to private memory; if it is NULL, the access is to device memory at `address`. */
typedef void (*access_fn)(struct low_frame *f, uint32_t pc, LLVMValueRef address, LLVMValueRef private);

/*
 * Emits an access to the memory that the fact names. If the fact allows both the stack and device memory, the code
 * compares the pointer to decide (core/model/facts.h).
 */
static int emit_for_spaces(struct low_frame *f, uint32_t pc, unsigned reg, access_fn fn)
{
	const struct gpubpf_access *a = access_of(f, pc);
	uint32_t spaces = a->spaces & ~GPUBPF_SPACE_NULL;
	bool stack = spaces & GPUBPF_SPACE_STACK, device = spaces & DEVICE_SPACES;
	LLVMValueRef address = emit_address(f, reg, f->p->prog->insns[pc].off);
	LLVMBasicBlockRef on_stack, on_device, after;
	struct low *l = f->p->l;

	if (!spaces || spaces & ~(GPUBPF_SPACE_STACK | DEVICE_SPACES))
		return gpubpf_diag_set(
			l->diag, GPUBPF_E_TARGET_LACKS, pc,
			"an access that may be to the context or to other memory, depending on the path, cannot be lowered");
	if (!stack || !device) {
		fn(f, pc, address, stack ? low_stack_ptr_current(f, a, reg, address) : NULL);
		return 0;
	}
	on_stack = low_block(f->p, "stack");
	on_device = low_block(f->p, "device");
	after = low_block(f->p, "after");
	LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntULT, address, low_const(l, GPUBPF_PTR_LIMIT), ""), on_stack,
			on_device);
	LLVMPositionBuilderAtEnd(l->b, on_stack);
	/* the fact's offsets cover the stack and other memory, so only the pointer tells the byte in the stack */
	fn(f, pc, address, low_stack_ptr(f->p, a, address));
	LLVMBuildBr(l->b, after);
	LLVMPositionBuilderAtEnd(l->b, on_device);
	fn(f, pc, address, NULL);
	LLVMBuildBr(l->b, after);
	LLVMPositionBuilderAtEnd(l->b, after);
	return 0;
}

/* If a load reads .rodata, whose bytes are known at compile time, sets *v to these bytes and returns true. */
static bool known_bytes(struct low_frame *f, uint32_t pc, uint64_t *v)
{
	const struct gpubpf_access *a = access_of(f, pc);
	const struct gpubpf_map *map;
	unsigned width = f->p->prog->insns[pc].width;

	if (a->spaces != GPUBPF_SPACE_MAP_VALUE || a->map < 0 || a->off_min != a->off_max || a->off_min < 0)
		return false;
	map = &f->p->l->job->unit->maps[a->map];
	if (!map->rdonly || !map->init || (uint64_t)a->off_min + width > map->value_size)
		return false;
	*v = 0;
	memcpy(v, (const char *)map->init + a->off_min, width);
	return true;
}

static void set_loaded(struct low_frame *f, const struct gpubpf_insn *insn, LLVMValueRef v)
{
	struct low *l = f->p->l;

	if (insn->sext)
		v = LLVMBuildSExt(l->b, LLVMBuildTrunc(l->b, v, low_int(l, insn->width), ""), low_int(l, 8), "");
	low_set(f, insn->dst, v);
}

static void load_from(struct low_frame *f, uint32_t pc, LLVMValueRef address, LLVMValueRef private)
{
	const struct gpubpf_insn *insn = &f->p->prog->insns[pc];
	unsigned align = f->p->l->job->checked ? 1 : access_of(f, pc)->align;
	struct low *l = f->p->l;

	set_loaded(f, insn,
		   private       ? emit_private_load(l, private, insn->width, align) :
		   insn->ordered ? acquire(l, address, insn->width) :
				   load_bytes(l, address, insn->width, align, is_live(f, pc)));
}

static LLVMValueRef get_loaded_value(struct low_frame *f, uint32_t pc)
{
	if (!f->loaded[pc])
		f->loaded[pc] = low_alloca(f->p, low_int(f->p->l, 8), 8, "loaded");
	return f->loaded[pc];
}

static int emit_checked_access(struct low_frame *f, uint32_t pc, unsigned reg, access_fn fn)
{
	const struct gpubpf_insn *insn = &f->p->prog->insns[pc];
	LLVMValueRef address = emit_address(f, reg, insn->off);

	low_check_access(f, pc, address, insn->width, insn->kind == GPUBPF_INSN_ATOMIC || insn->ordered);
	fn(f, pc, address, NULL);
	return 0;
}

int low_load(struct low_frame *f, uint32_t pc)
{
	const struct gpubpf_insn *insn = &f->p->prog->insns[pc];
	struct low *l = f->p->l;
	LLVMValueRef v;
	uint64_t known;
	int err;

	if (l->job->checked)
		return emit_checked_access(f, pc, insn->src, load_from);
	if (access_of(f, pc)->spaces == GPUBPF_SPACE_CTX) {
		if (access_of(f, pc)->off_min != access_of(f, pc)->off_max)
			return gpubpf_diag_set(l->diag, GPUBPF_E_CTX_ACCESS, pc,
					       "the offset into the context is not a constant");
		v = low_ctx(f->p, access_of(f, pc)->off_min, insn->width);
		if (!v)
			return -EINVAL;
		set_loaded(f, insn, v);
		return 0;
	}
	if (known_bytes(f, pc, &known)) {
		set_loaded(f, insn, low_const(l, known));
		return 0;
	}
	err = emit_for_spaces(f, pc, insn->src, load_from);
	if (!err && f->p->rmw[pc])
		LLVMBuildStore(l->b, low_get(f, insn->dst), get_loaded_value(f, pc));
	return err;
}

/*
 * Returns true if the store is lowered to an atomic add. If many lanes execute `*p += x`, no update may be lost. So a
 * store that the verifier recognized as part of such an add becomes an atomic add of x. Values that only one lane
 * accesses are an exception.
 */
bool low_is_atomic_add(const struct low_prog *p, uint32_t pc)
{
	const struct gpubpf_insn_facts *facts = &p->prog->facts->insn[pc];
	const struct gpubpf_insn *insn = &p->prog->insns[pc];
	const struct gpubpf_access *a = &facts->mem;

	if (!(facts->flags & GPUBPF_FACT_REACHED) || !(facts->flags & GPUBPF_FACT_RMW_ADD))
		return false;
	if (!insn->reg || insn->width < 4 || a->align < insn->width)
		return false;
	if (a->spaces != GPUBPF_SPACE_MAP_VALUE || a->map == GPUBPF_NO_MAP)
		return false;
	return a->map == GPUBPF_ANY_MAP || !(p->l->job->unit->maps[a->map].type->flags & GPUBPF_MAP_THREAD);
}

/* Returns true if the access is to values of one known map, and these lie within 4 GiB. */
static bool is_near(struct low_frame *f, uint32_t pc)
{
	const struct gpubpf_lower_job *job = f->p->l->job;
	const struct gpubpf_map_layout *l;
	const struct gpubpf_access *a;

	if (job->checked)
		return false;
	a = &f->p->prog->facts->insn[pc].mem;
	if (a->spaces != GPUBPF_SPACE_MAP_VALUE || a->map < 0 || job->unit->maps[a->map].prototype)
		return false;
	l = &job->layouts[a->map];
	return l->size <= UINT32_MAX && l->copy_stride <= UINT32_MAX / (l->copies ? l->copies : 1);
}

/*
 * Returns the library function for an atomic add without result. The choice depends on facts about the address: equal
 * in all lanes, or within 4 GiB. `other`: the add will be to another address than the instruction's.
 */
static const char *add_function(struct low_frame *f, uint32_t pc, bool other)
{
	bool wide = f->p->prog->insns[pc].width == 8;
	bool same = !other && !f->p->l->job->checked && (f->p->prog->facts->insn[pc].flags & GPUBPF_FACT_SAME_ADDRESS);

	if (is_near(f, pc) && !same)
		return wide ? "gpubpf_atomic_add_near_u64" : "gpubpf_atomic_add_near_u32";
	if (same)
		return wide ? "gpubpf_atomic_add_same_u64" : "gpubpf_atomic_add_same_u32";
	return wide ? "gpubpf_atomic_add_warp_u64" : "gpubpf_atomic_add_warp_u32";
}

static bool adds_near(struct low_frame *f, uint32_t pc)
{
	return !strncmp(add_function(f, pc, false), "gpubpf_atomic_add_near_", 23);
}

/*
 * Emits an add by a library function that also receives whether v is a constant in the place's text. Returns false and
 * emits nothing if add_function() chooses no function gpubpf_atomic_add_near_*, or if the place has no registers.
 */
static bool add_place_const(struct low_frame *f, uint32_t pc, LLVMValueRef address, LLVMValueRef v)
{
	LLVMValueRef args[] = { address, v, NULL };

	if (!adds_near(f, pc))
		return false;
	args[2] = low_is_place_const(f, v);
	if (args[2])
		low_call(f->p->l,
			 f->p->prog->insns[pc].width == 8 ? "gpubpf_atomic_add_told_u64" : "gpubpf_atomic_add_told_u32",
			 args, 3);
	return args[2];
}

static void store_to(struct low_frame *f, uint32_t pc, LLVMValueRef address, LLVMValueRef private)
{
	const struct gpubpf_insn *insn = &f->p->prog->insns[pc];
	unsigned align = f->p->l->job->checked ? 1 : access_of(f, pc)->align;
	LLVMValueRef v = low_source(f, insn), add[2];
	struct low *l = f->p->l;

	if (private) {
		emit_private_store(l, private, v, insn->width, align);
	} else if (insn->ordered) {
		release(l, address, v, insn->width);
	} else if (!l->job->checked && low_is_atomic_add(f->p, pc)) {
		LLVMValueRef old = LLVMBuildLoad2(l->b, low_int(l, 8),
						  get_loaded_value(f, f->p->prog->facts->insn[pc].other), "");

		add[0] = address;
		add[1] = LLVMBuildSub(l->b, v, old, "");
		low_call(l, add_function(f, pc, false), add, 2);
	} else {
		store_bytes(l, address, v, insn->width, align, is_live(f, pc));
	}
}

int low_store(struct low_frame *f, uint32_t pc)
{
	unsigned reg = f->p->prog->insns[pc].dst;

	return f->p->l->job->checked ? emit_checked_access(f, pc, reg, store_to) : emit_for_spaces(f, pc, reg, store_to);
}

static const struct {
	const char *device; /* part of the name of the library's function, gpubpf_atomic_<device>_u32 or _u64 */
	LLVMOpcode op;      /* operation on private memory; 0 if the new value is the operand itself */
	bool fetch;
} atomics[GPUBPF_NATOMIC] = {
	[GPUBPF_ATOMIC_ADD] = { NULL /* add_function() chooses the function */, LLVMAdd, false },
	[GPUBPF_ATOMIC_OR] = { "fetch_or", LLVMOr, false },
	[GPUBPF_ATOMIC_AND] = { "fetch_and", LLVMAnd, false },
	[GPUBPF_ATOMIC_XOR] = { "fetch_xor", LLVMXor, false },
	[GPUBPF_ATOMIC_FETCH_ADD] = { "fetch_add", LLVMAdd, true },
	[GPUBPF_ATOMIC_FETCH_OR] = { "fetch_or", LLVMOr, true },
	[GPUBPF_ATOMIC_FETCH_AND] = { "fetch_and", LLVMAnd, true },
	[GPUBPF_ATOMIC_FETCH_XOR] = { "fetch_xor", LLVMXor, true },
	[GPUBPF_ATOMIC_XCHG] = { "xchg", 0, true },
	[GPUBPF_ATOMIC_CMPXCHG] = { "cmpxchg", 0, true },
};

/* Stores the old value in the program's register that receives it, if the operation fetches it. */
static void set_fetched(struct low_frame *f, const struct gpubpf_insn *insn, LLVMValueRef old)
{
	if (insn->op == GPUBPF_ATOMIC_CMPXCHG)
		low_set(f, GPUBPF_R0, old);
	else if (atomics[insn->op].fetch)
		low_set(f, insn->src, old);
}

static void emit_device_atomic(struct low_frame *f, uint32_t pc, const struct gpubpf_insn *insn, LLVMValueRef address)
{
	LLVMValueRef args[3], v = low_get(f, insn->src), old;
	LLVMBasicBlockRef after = NULL;
	char name[64];
	unsigned n = 1;

	if (insn->op == GPUBPF_ATOMIC_ADD && (low_accumulate(f, pc, address, v) || low_defer_add(f, pc, address, v)))
		return;
	if (insn->op == GPUBPF_ATOMIC_ADD) {
		after = low_accumulate_last(f, pc, &address, v, add_function(f, pc, true), adds_near(f, pc));
		snprintf(name, sizeof(name), "%s", add_function(f, pc, false));
	} else {
		snprintf(name, sizeof(name), "gpubpf_atomic_%s_u%u", atomics[insn->op].device, insn->width * 8);
	}
	args[0] = address;
	if (insn->op == GPUBPF_ATOMIC_CMPXCHG)
		args[n++] = low_get(f, GPUBPF_R0);
	args[n++] = v;
	old = insn->op == GPUBPF_ATOMIC_ADD && add_place_const(f, pc, address, v) ? NULL :
										    low_call(f->p->l, name, args, n);
	if (after) {
		LLVMBuildBr(f->p->l->b, after);
		LLVMPositionBuilderAtEnd(f->p->l->b, after);
	}
	if (old)
		set_fetched(f, insn, old);
}

/* Emits an atomic on private memory as a load and a store, because no other lane accesses this memory. */
static void emit_private_atomic(struct low_frame *f, const struct gpubpf_insn *insn, LLVMValueRef ptr)
{
	struct low *l = f->p->l;
	LLVMValueRef old = emit_private_load(l, ptr, insn->width, insn->width), s = low_get(f, insn->src), v = s;
	LLVMTypeRef type = low_int(l, insn->width);

	if (insn->op == GPUBPF_ATOMIC_CMPXCHG)
		v = LLVMBuildSelect(l->b,
				    LLVMBuildICmp(l->b, LLVMIntEQ, LLVMBuildTrunc(l->b, old, type, ""),
						  LLVMBuildTrunc(l->b, low_get(f, GPUBPF_R0), type, ""), ""),
				    s, old, "");
	else if (atomics[insn->op].op)
		v = LLVMBuildBinOp(l->b, atomics[insn->op].op, old, s, "");
	emit_private_store(l, ptr, v, insn->width, insn->width);
	set_fetched(f, insn, old);
}

static void emit_atomic_on(struct low_frame *f, uint32_t pc, LLVMValueRef address, LLVMValueRef private)
{
	struct gpubpf_insn insn = f->p->prog->insns[pc];

	if (!f->p->l->job->checked && (f->p->prog->facts->insn[pc].flags & GPUBPF_FACT_UNUSED))
		insn.op = GPUBPF_ATOMIC_ADD;
	if (private)
		emit_private_atomic(f, &insn, private);
	else
		emit_device_atomic(f, pc, &insn, address);
}

int low_atomic(struct low_frame *f, uint32_t pc)
{
	unsigned reg = f->p->prog->insns[pc].dst;

	return f->p->l->job->checked ? emit_checked_access(f, pc, reg, emit_atomic_on) :
				       emit_for_spaces(f, pc, reg, emit_atomic_on);
}
