/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks loads, stores and atomics (RFC 9669 5): checks the kind of memory, its bounds, and the alignment that a GPU
 * requires (PTX ISA 5.2 "Addresses as operands"; OpenCL C 3.0 6.3.5).
 */
#include <stdio.h>
#include <string.h>

#include "core/model/places.h"
#include "verify.h"

#define F_RDONLY_PROG (1u << 7) /* BPF_F_RDONLY_PROG and (below) BPF_F_WRONLY_PROG of uapi/linux/bpf.h */
#define F_WRONLY_PROG (1u << 8)
#define KPROBE_CTX_SIZE 168     /* size of struct pt_regs on x86-64 */

const struct gpubpf_map *reg_map(const struct verifier *v, const struct reg *r)
{
	return r->map >= 0 ? &v->unit->maps[r->map] : NULL;
}

/* Computes the lowest and the highest possible offset of p + off. Returns -1 if they are not bounded. */
int ptr_offset(const struct reg *p, int64_t off, int64_t *lo, int64_t *hi)
{
	if (p->s.w64.smin <= -MAX_OFFSET || p->s.w64.smax >= MAX_OFFSET)
		return -1;
	*lo = p->off + p->s.w64.smin + off;
	*hi = p->off + p->s.w64.smax + off;
	return 0;
}

/*
 * Returns the alignment of the object into which p points. Helper 531 returns memory that is aligned as its size is. The
 * alignment of a dynptr's memory is known (dynptr_slice()). All other objects are aligned to 8 bytes.
 */
static uint8_t get_region_align(const struct verifier *v, const struct reg *p)
{
	uint32_t size = p->size | 8;

	if (p->type == R_MEM && p->ref)
		return p->frame;
	return p->type == R_MEM && !v->opts.plain_mem ? (uint8_t)(size & (0 - size)) : 8;
}

int check_align(struct verifier *v, const struct reg *p, int64_t off, unsigned int size, uint8_t *align)
{
	struct tnum t = tnum_add(p->s.var, tnum_const((uint64_t)(p->off + off)));

	for (*align = get_region_align(v, p); *align > 1 && !tnum_is_aligned(t, *align); *align /= 2)
		;
	if (*align < size)
		return refuse(v, GPUBPF_E_MISALIGNED, "accesses %u bytes of %s at an offset that is only a multiple of %u",
			      size, type_name(p), *align);
	return 0;
}

static uint32_t get_region_size(const struct verifier *v, const struct reg *p)
{
	const struct gpubpf_map *map = reg_map(v, p);

	if (p->type == R_VALUE)
		return map->value_size;
	if (p->type == R_INT)
		return 4;
	return p->type == R_KEY ? map->key_size : p->size;
}

static int check_permission(struct verifier *v, const struct reg *p, bool write)
{
	const struct gpubpf_map *map = reg_map(v, p);

	if (p->type == R_KEY && write)
		return refuse(v, GPUBPF_E_READONLY_MEM, "writes to the key that a callback received");
	if (p->type == R_INT && write)
		return refuse(v, GPUBPF_E_READONLY_MEM, "writes to the number of an iterator");
	if (p->type != R_VALUE)
		return 0;
	if (write && (map->rdonly || (map->map_flags & F_RDONLY_PROG)))
		return refuse(v, GPUBPF_E_READONLY_MEM, "writes into map %s, which is read-only", map->name);
	if (!write && (map->map_flags & F_WRONLY_PROG))
		return refuse(v, GPUBPF_E_READONLY_MEM, "reads from map %s, which is write-only", map->name);
	return 0;
}

/* Converts the access to a key into an access to the bottom of the key frame (core/model/facts.h). */
static void describe_key_access(const struct reg *p, struct gpubpf_access *a)
{
	a->spaces = GPUBPF_SPACE_STACK;
	a->map = GPUBPF_NO_MAP;
	a->frame = p->frame;
	a->off_min -= GPUBPF_STACK_SIZE;
	a->off_max -= GPUBPF_STACK_SIZE;
}

/* Converts the access to an iterator's number into an access to the stack. */
static void number_access(const struct reg *p, struct gpubpf_access *a)
{
	a->spaces = GPUBPF_SPACE_STACK;
	a->map = GPUBPF_NO_MAP;
	a->frame = p->frame;
	a->off_min += (int32_t)p->size;
	a->off_max += (int32_t)p->size;
}

/*
 * Describes an access to memory of a dynptr. The offset of that memory in its record or map value is unknown.
 */
static void describe_slice_access(const struct verifier *v, const struct reg *p, struct gpubpf_access *a)
{
	const struct gpubpf_map *map = reg_map(v, p);
	bool record = map->type->ops & GPUBPF_OP_BIT(GPUBPF_OP_RESERVE_DYNPTR);

	a->spaces = record ? GPUBPF_SPACE_RECORD : GPUBPF_SPACE_MAP_VALUE;
	a->off_min = 0;
	a->off_max = record ? MAX_OFFSET : (int32_t)map->value_size;
}

/*
 * Checks that [p + off, p + off + size) lies inside the object into which p points. `who` names the access in a
 * refusal.
 */
int check_region(struct verifier *v, const struct reg *p, int64_t off, uint64_t size, bool write, const char *who,
		 struct gpubpf_access *a)
{
	enum gpubpf_error code = p->type == R_VALUE ? GPUBPF_E_MAP_BOUNDS : GPUBPF_E_MEM_BOUNDS;
	uint32_t room = get_region_size(v, p);
	int64_t lo, hi;
	int err = check_permission(v, p, write);

	if (err < 0)
		return err;
	if (p->s.w64.smin < 0 && p->s.w64.smin + p->off + off < 0)
		return refuse(v, code, "%s of %llu bytes may begin before %s: the offset can be as low as %lld", who,
			      (unsigned long long)size, type_name(p), (long long)(p->s.w64.smin + p->off + off));
	/* the Linux kernel requires that the variable part of the offset is not negative */
	if (ptr_offset(p, off, &lo, &hi) < 0 ||
	    (v->opts.any_ctx && p->s.w64.umax >= MAX_OFFSET && !scalar_is_const(&p->s)))
		return refuse(v, code, "%s of %llu bytes of %s is at an offset that has no upper bound", who,
			      (unsigned long long)size, type_name(p));
	if (lo < 0 || hi + (int64_t)size > room)
		return refuse(v, code, "%s of %llu bytes at offset %lld to %lld leaves %s of %u bytes", who,
			      (unsigned long long)size, (long long)lo, (long long)hi, type_name(p), room);
	*a = (struct gpubpf_access){ .spaces = p->type == R_RECORD ? GPUBPF_SPACE_RECORD : GPUBPF_SPACE_MAP_VALUE,
				     .align = a->align,
				     .write = write,
				     .map = p->map,
				     .off_min = (int32_t)lo,
				     .off_max = (int32_t)hi,
				     .size_min = (uint32_t)size,
				     .size_max = (uint32_t)size };
	if (p->type == R_KEY)
		describe_key_access(p, a);
	if (p->type == R_INT)
		number_access(p, a);
	if (p->type == R_MEM && p->ref)
		describe_slice_access(v, p, a);
	return 0;
}

struct ctx_field {
	uint16_t off, count, size;
	bool of_place;
	const char *name;
};

static const struct ctx_field ctx_fields[] = {
#define ARG 0
#define ENV 0
#define CONST 0
#define DEVICE 0
#define PLACE 1
#define LANES 1
#define GPUBPF_CTX_FIELD(field, count, size, source) { offsetof(struct gpubpf_ctx, field), count, size, source, #field },
#include "core/model/ctx_fields.def"
#undef ARG
#undef ENV
#undef CONST
#undef DEVICE
#undef PLACE
#undef LANES
};

static void note_ctx(struct verifier *v, const struct ctx_field *f, uint32_t off)
{
	static const uint16_t parm[] = {
		offsetof(struct gpubpf_ctx, di), offsetof(struct gpubpf_ctx, si), offsetof(struct gpubpf_ctx, dx),
		offsetof(struct gpubpf_ctx, cx), offsetof(struct gpubpf_ctx, r8), offsetof(struct gpubpf_ctx, r9),
	};

	if (f->off == offsetof(struct gpubpf_ctx, kernel_name) ||
	    f->off == offsetof(struct gpubpf_ctx, function_name) || f->off == offsetof(struct gpubpf_ctx, nargs))
		v->facts->ctx_constants = true;
	if (f->off == offsetof(struct gpubpf_ctx, launch))
		v->facts->ctx_launch = true;
	if (f->off == offsetof(struct gpubpf_ctx, kernel))
		v->facts->ctx_kernel = true;
	if (f->off == offsetof(struct gpubpf_ctx, arg))
		v->facts->ctx_args |= 1ull << ((off - f->off) / 8);
	for (int i = 0; i < 6; i++)
		if (off == parm[i])
			v->facts->ctx_args |= 1ull << i;
}

/* Returns true if a program on the CPU has the field. */
static bool is_host_field(const struct verifier *v, const struct ctx_field *f, const struct gpubpf_place_kind *place)
{
	/* after a call, `mark` is the time at which the call began */
	if (f->off == offsetof(struct gpubpf_ctx, mark))
		return v->prog->site == GPUBPF_SITE_HOST_EXIT;
	if (f->of_place)
		return place->operands >> gpubpf_operand_of(f->name) & 1;
	return gpubpf_host_provides(v->prog->host, f->off);
}

/*
 * Refuses a load of a context field that the program's place does not provide. The field would read as 0, and the
 * program could not distinguish this 0 from a value.
 */
static int check_provided(struct verifier *v, const struct ctx_field *f)
{
	enum gpubpf_site site = v->prog->site;
	const struct gpubpf_place_kind *place = gpubpf_place_kind(site);

	if (site == GPUBPF_SITE_NONE)
		return 0;
	if (place->where == GPUBPF_WHERE_HOST && !is_host_field(v, f, place))
		return refuse(v, GPUBPF_E_CTX_PLACE, "reads %s of the context, which section %.100s does not provide",
			      f->name, v->prog->section);
	if (place->where == GPUBPF_WHERE_HOST)
		return 0;
	if (f->off == offsetof(struct gpubpf_ctx, function_name) && place->where != GPUBPF_WHERE_FUNCTION)
		return refuse(v, GPUBPF_E_CTX_PLACE,
			      "reads function_name of the context, which gpu/%s/ does not provide", place->name);
	if (f->of_place && !(place->operands >> gpubpf_operand_of(f->name) & 1))
		return refuse(v, GPUBPF_E_CTX_PLACE, "reads %s of the context, which gpu/%s/ does not provide", f->name,
			      place->name);
	return 0;
}

/*
 * Sets dst to the content of a context field. A program runs at one kind of place, so the field `site` is a known
 * constant. In a function that programs for several places share, code for the other places is then not walked.
 */
static void load_known_field(struct verifier *v, const struct ctx_field *f, struct reg *dst)
{
	if (f->off == offsetof(struct gpubpf_ctx, site) && v->prog->site != GPUBPF_SITE_NONE)
		reg_const(dst, v->prog->site);
	else
		reg_unknown(dst);
}

/* Loads a context field in its own size, or the low bytes of a u64 field. Bytes that belong to no field read as 0. */
static int load_gpu_ctx(struct verifier *v, uint32_t off, unsigned int size, struct reg *dst)
{
	if (off + size > sizeof(struct gpubpf_ctx))
		return refuse(v, GPUBPF_E_CTX_ACCESS, "reads bytes %u to %u of the context, which has %zu", off,
			      off + size - 1, sizeof(struct gpubpf_ctx));
	for (size_t i = 0; i < sizeof(ctx_fields) / sizeof(ctx_fields[0]); i++) {
		const struct ctx_field *f = &ctx_fields[i];
		uint32_t at = off - f->off;
		bool name = f->off >= offsetof(struct gpubpf_ctx, kernel_name) &&
			    f->off < offsetof(struct gpubpf_ctx, result);

		if (off < f->off || at >= (uint32_t)f->count * f->size)
			continue;
		if (!name && (at % f->size || (f->size == 4 && size != 4)))
			return refuse(v, GPUBPF_E_CTX_ACCESS,
				      "reads %u bytes at offset %u, in the middle of a field of %u bytes of the context",
				      size, off, f->size);
		note_ctx(v, f, off);
		load_known_field(v, f, dst);
		return check_provided(v, f);
	}
	reg_const(dst, 0);
	return 0;
}

static int load_ctx(struct verifier *v, const struct reg *p, int off, unsigned int size, struct reg *dst,
		    struct gpubpf_access *a)
{
	int64_t at = (int64_t)p->off + (int64_t)p->s.var.value + off;

	if (!scalar_is_const(&p->s))
		return refuse(v, GPUBPF_E_CTX_ACCESS, "reads the context at an offset that varies");
	if (v->opts.any_ctx && at != off)
		return refuse(v, GPUBPF_E_CTX_ACCESS, "reads the context through a pointer that was moved by %lld",
			      (long long)(at - off));
	if (at < 0 || (v->opts.any_ctx && at + size > KPROBE_CTX_SIZE))
		return refuse(v, GPUBPF_E_CTX_ACCESS,
			      "reads %u bytes at offset %lld of the context, outside of its fields", size, (long long)at);
	*a = (struct gpubpf_access){ .spaces = GPUBPF_SPACE_CTX,
				     .align = a->align,
				     .map = GPUBPF_NO_MAP,
				     .off_min = (int32_t)at,
				     .off_max = (int32_t)at,
				     .size_min = size,
				     .size_max = size };
	if (!v->opts.any_ctx)
		return load_gpu_ctx(v, (uint32_t)at, size, dst);
	reg_unknown(dst);
	return 0;
}

/*
 * Refuses an instruction that reads the context on one path and other memory on another path, because the two accesses
 * are lowered differently.
 */
static int check_kind(struct verifier *v, const struct reg *p)
{
	uint8_t kind = p->type == R_CTX ? 1 : 2;

	if (v->aux[v->pc].ptr_kind && v->aux[v->pc].ptr_kind != kind)
		return refuse(v, GPUBPF_E_CTX_ACCESS, "accesses the context on one path and %s on another",
			      kind == 1 ? "other memory" : type_name(p));
	v->aux[v->pc].ptr_kind = kind;
	return 0;
}

static int check_pointer(struct verifier *v, const struct reg *p, unsigned int r)
{
	if (p->type == R_SCALAR) {
		if (!scalar_is_const(&p->s))
			gpubpf_diag_remedy(v->diag, "%s", NO_DEVICE_MEMORY);
		return refuse(v, GPUBPF_E_NOT_POINTER, "uses r%u, a number, as an address", r);
	}
	if (p->or_null) {
		const struct gpubpf_line *line = gpubpf_prog_line(v->prog, v->pc);

		if (line)
			gpubpf_diag_remedy(v->diag, "check the pointer returned by %s for NULL before line %u",
					   p->type == R_RECORD ? "bpf_ringbuf_reserve" :
					   p->type == R_MEM    ? p->ref ? "bpf_dynptr_data" : "gpubpf_data" :
								 "bpf_map_lookup_elem",
					   line->line);
		return refuse(v, GPUBPF_E_NULL_DEREF, "dereferences r%u, a pointer to %s that may be NULL", r,
			      type_name(p));
	}
	if (p->type == R_MAP || p->type == R_FUNC)
		return refuse(v, GPUBPF_E_NOT_POINTER, "dereferences r%u, which is %s", r, type_name(p));
	return check_kind(v, p);
}

/* Loads from a map value. The content of a frozen .rodata is known, as in the Linux kernel. */
static void load_value(struct verifier *v, const struct reg *p, int off, unsigned int size, struct reg *dst)
{
	const struct gpubpf_map *map = reg_map(v, p);
	uint64_t value = 0;
	int64_t lo, hi;

	reg_unknown(dst);
	if (!map || !map->rdonly || !map->init || ptr_offset(p, off, &lo, &hi) < 0 || lo != hi)
		return;
	memcpy(&value, (const uint8_t *)map->init + lo, size);
	reg_const(dst, value);
}

static void count_access(struct verifier *v, const struct reg *p, bool write)
{
	if (p->type == R_STACK || p->type == R_INT || p->type == R_CTX)
		return;
	if (write)
		v->cur->tally.cost.stores++;
	else
		v->cur->tally.cost.loads++;
	if (p->type == R_VALUE && p->map >= 0)
		v->facts->map_use[p->map] |= write ? GPUBPF_USE_WRITE : GPUBPF_USE_READ;
}

int do_load(struct verifier *v, const struct gpubpf_insn *insn)
{
	struct reg p = cur_regs(v)[insn->src], *dst = &cur_regs(v)[insn->dst], value;
	struct gpubpf_access a = { .map = GPUBPF_NO_MAP };
	int err;

	if ((err = read_reg(v, insn->src)) < 0 || (err = write_reg(v, insn->dst)) < 0 ||
	    (err = check_pointer(v, &p, insn->src)) < 0 ||
	    (err = check_align(v, &p, insn->off, insn->width, &a.align)) < 0)
		return err;
	if (p.type == R_CTX && insn->ordered)
		return refuse(v, GPUBPF_E_CTX_ACCESS, "does an atomic operation on the context");
	if (p.type == R_CTX) {
		err = load_ctx(v, &p, insn->off, insn->width, &value, &a);
	} else if (p.type == R_STACK) {
		err = stack_load(v, &p, insn->off, insn->width, insn->sext, &value, &a);
	} else {
		err = check_region(v, &p, insn->off, insn->width, false, "a load", &a);
		if (err >= 0)
			load_value(v, &p, insn->off, insn->width, &value);
	}
	if (err < 0)
		return err;
	if (value.type == R_SCALAR && insn->sext) {
		value.id = 0;
		sign_extend(v, &value.s, insn->width, 8);
	} else if (value.type == R_SCALAR) {
		scalar_zext(&value.s, insn->width);
	}
	*dst = value;
	count_access(v, &p, false);
	facts_access(v, &a);
	return 0;
}

int do_store(struct verifier *v, const struct gpubpf_insn *insn)
{
	struct reg p = cur_regs(v)[insn->dst], imm, *src = &imm;
	struct gpubpf_access a = { .map = GPUBPF_NO_MAP };
	int err;

	if ((err = read_reg(v, insn->dst)) < 0 || (insn->reg && (err = read_reg(v, insn->src)) < 0) ||
	    (err = check_pointer(v, &p, insn->dst)) < 0 ||
	    (err = check_align(v, &p, insn->off, insn->width, &a.align)) < 0)
		return err;
	if (insn->reg)
		src = &cur_regs(v)[insn->src];
	else
		reg_const(&imm, (uint64_t)(int64_t)insn->imm);
	if (p.type == R_CTX)
		return refuse(v, GPUBPF_E_CTX_ACCESS, "writes to the context");
	if (p.type == R_STACK) {
		err = stack_store(v, &p, insn->off, insn->width, src, &a);
	} else {
		if (reg_is_ptr(src) && (err = leak(v, GPUBPF_E_PTR_LEAK, "stores r%u, a pointer to %s, into %s",
						   insn->src, type_name(src), type_name(&p))) < 0)
			return err;
		err = check_region(v, &p, insn->off, insn->width, true, "a store", &a);
	}
	if (err < 0)
		return err;
	count_access(v, &p, true);
	facts_access(v, &a);
	return 0;
}

static int check_atomic_operands(struct verifier *v, const struct gpubpf_insn *insn)
{
	bool cmpxchg = insn->op == GPUBPF_ATOMIC_CMPXCHG;
	int err;

	if ((err = read_reg(v, insn->src)) < 0 || (err = read_reg(v, insn->dst)) < 0 ||
	    (cmpxchg && (err = read_reg(v, GPUBPF_R0)) < 0))
		return err;
	if (insn->op >= GPUBPF_ATOMIC_FETCH_ADD && insn->dst == (cmpxchg ? GPUBPF_R0 : insn->src))
		return refuse(v, GPUBPF_E_NOT_POINTER, "stores the fetched value in r%u, which holds the address",
			      insn->dst);
	if (reg_is_ptr(&cur_regs(v)[insn->src]) || (cmpxchg && reg_is_ptr(&cur_regs(v)[GPUBPF_R0])))
		return leak(v, GPUBPF_E_PTR_LEAK, "uses a pointer as an operand of an atomic operation");
	return 0;
}

/* Returns true if the atomic only adds. An add whose fetched value nothing reads becomes an add without fetch. */
static bool only_adds(struct verifier *v, const struct gpubpf_insn *insn)
{
	uint32_t pc = insn - v->insns;

	if (insn->op == GPUBPF_ATOMIC_ADD)
		return true;
	if (insn->op != GPUBPF_ATOMIC_FETCH_ADD || pc + 1 >= v->n || (v->aux[pc + 1].live & 1u << insn->src))
		return false;
	v->facts->insn[pc].flags |= GPUBPF_FACT_UNUSED;
	return true;
}

static void note_atomic(struct verifier *v, const struct gpubpf_insn *insn, const struct reg *p)
{
	bool add = only_adds(v, insn);
	uint32_t *use;

	v->cur->tally.cost.atomics++;
	if (p->type != R_VALUE || p->map < 0)
		return;
	use = &v->facts->map_use[p->map];
	if (add)
		*use |= GPUBPF_USE_ADD | (insn->width == 4 ? GPUBPF_USE_ADD4 : GPUBPF_USE_ADD8);
	else
		*use |= GPUBPF_USE_ATOMIC | GPUBPF_USE_READ | GPUBPF_USE_WRITE;
}

static int check_stack_atomic(struct verifier *v, const struct gpubpf_insn *insn, const struct reg *p, struct reg *old,
			      struct gpubpf_access *a)
{
	struct reg result;
	int err = stack_load(v, p, insn->off, insn->width, false, old, a);

	if (err < 0)
		return err;
	if (reg_is_ptr(old)) {
		err = leak(v, GPUBPF_E_PTR_LEAK, "does an atomic operation on a spilled pointer");
		if (err < 0)
			return err;
	}
	reg_unknown(&result);
	return stack_store(v, p, insn->off, insn->width, &result, a);
}

int do_atomic(struct verifier *v, const struct gpubpf_insn *insn)
{
	struct reg p = cur_regs(v)[insn->dst], old;
	struct gpubpf_access a = { .map = GPUBPF_NO_MAP };
	int err;

	if ((err = check_atomic_operands(v, insn)) < 0 || (err = check_pointer(v, &p, insn->dst)) < 0 ||
	    (err = check_align(v, &p, insn->off, insn->width, &a.align)) < 0)
		return err;
	if (p.type == R_CTX)
		return refuse(v, GPUBPF_E_CTX_ACCESS, "does an atomic operation on the context");
	reg_unknown(&old);
	if (p.type == R_STACK)
		err = check_stack_atomic(v, insn, &p, &old, &a);
	else if ((err = check_region(v, &p, insn->off, insn->width, false, "an atomic", &a)) >= 0)
		err = check_region(v, &p, insn->off, insn->width, true, "an atomic", &a);
	if (err < 0)
		return err;
	scalar_zext(&old.s, insn->width);
	if (insn->op == GPUBPF_ATOMIC_CMPXCHG) {
		cur_regs(v)[GPUBPF_R0] = old;
	} else if (insn->op >= GPUBPF_ATOMIC_FETCH_ADD) {
		if ((err = write_reg(v, insn->src)) < 0)
			return err;
		cur_regs(v)[insn->src] = old;
	}
	note_atomic(v, insn, &p);
	facts_access(v, &a);
	return 0;
}
