/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the arguments of helper calls: compares them with the rows of include/gpubpf/helpers.def, like the Linux kernel
 * checks its helpers (Documentation/bpf/verifier.rst).
 */
#include <string.h>

#include "core/model/places.h"
#include "calls.h"

#define F_ARMS (1u << 26) /* GPUBPF_F_ARMS of include/gpubpf/arm.h */
#define F_RDONLY_PROG (1u << 7)
#define CHANGES (GPUBPF_USE_UPDATE | GPUBPF_USE_DELETE)

static int bad_arg(struct verifier *v, const struct call *c, int i, const char *want)
{
	const struct reg *r = &cur_regs(v)[GPUBPF_R1 + i];

	return refuse(v, GPUBPF_E_HELPER_ARG, "passes %s%s as argument %d of %s, which requires %s", type_name(r),
		      r->or_null ? " that may be NULL" : "", i + 1, c->h->name, want);
}

static uint8_t region_align(const struct reg *p)
{
	struct tnum t = tnum_add(p->s.var, tnum_const((uint64_t)(int64_t)p->off));
	uint8_t align = 8;

	while (align > 1 && !tnum_is_aligned(t, align))
		align /= 2;
	return align;
}

/* Checks that argument i points to accessible memory. The helper accesses `min` to `max` bytes. */
static int check_memory(struct verifier *v, const struct call *c, int i, uint64_t min, uint64_t max, bool write)
{
	const struct reg p = cur_regs(v)[GPUBPF_R1 + i];
	struct gpubpf_access a = { .align = region_align(&p), .map = GPUBPF_NO_MAP, .size_min = (uint32_t)min };
	int err;

	if (reg_is_zero(&p) && !max) {
		a.spaces = GPUBPF_SPACE_NULL;
		facts_arg(v, i, &a);
		return 0;
	}
	if (p.or_null)
		return refuse(v, GPUBPF_E_NULL_DEREF, "passes a pointer to %s that may be NULL as argument %d of %s",
			      type_name(&p), i + 1, c->h->name);
	switch (p.type) {
	case R_STACK:
		err = stack_helper(v, &p, max, write, c->h->name, &a);
		break;
	case R_VALUE:
	case R_RECORD:
	case R_KEY:
	case R_INT:
	case R_MEM:
		err = check_region(v, &p, 0, max, write, c->h->name, &a);
		if (err >= 0 && p.type == R_VALUE && p.map >= 0)
			v->facts->map_use[p.map] |= write ? GPUBPF_USE_WRITE : GPUBPF_USE_READ;
		break;
	default:
		return bad_arg(v, c, i, "a pointer to the stack, a map value or a record");
	}
	if (err < 0)
		return err;
	a.size_min = (uint32_t)min;
	a.size_max = (uint32_t)max;
	facts_arg(v, i, &a);
	return 0;
}

static int check_sized(struct verifier *v, struct call *c, int i, bool write)
{
	const struct reg *size = &cur_regs(v)[GPUBPF_R1 + i + 1];
	const struct bounds *b = &size->s.w64;

	if (size->type != R_SCALAR)
		return size->type == R_UNINIT ? read_reg(v, GPUBPF_R1 + i + 1) : bad_arg(v, c, i + 1, "a size");
	if (b->smin < 0)
		return refuse(v, GPUBPF_E_HELPER_ARG, "the size in r%d may be negative (%lld)", i + 2, (long long)b->smin);
	if (b->umax >= MAX_OFFSET)
		return refuse(v, GPUBPF_E_HELPER_ARG, "the size in r%d has no upper bound", i + 2);
	if (!b->umin && c->h->arg[i + 1] == GPUBPF_ARG_SIZE)
		return refuse(v, GPUBPF_E_HELPER_ARG, "the size in r%d may be 0", i + 2);
	mark_reg(v, size);
	if (b->umax > c->out_bytes)
		c->out_bytes = b->umax;
	return check_memory(v, c, i, b->umin, b->umax, write);
}

static int check_map(struct verifier *v, struct call *c, int i)
{
	const struct reg *r = &cur_regs(v)[GPUBPF_R1 + i];

	if (r->type == R_MAP && r->or_null)
		return refuse(v, GPUBPF_E_NULL_DEREF, "passes %s that may be NULL as argument %d of %s", type_name(r),
			      i + 1, c->h->name);
	if (r->type != R_MAP)
		return bad_arg(v, c, i, "a map");
	c->map_index = r->map;
	c->map = reg_map(v, r);
	if (!(c->map->type->ops & GPUBPF_OP_BIT(c->h->op)))
		return refuse(v, GPUBPF_E_HELPER_ARG, "passes map %s, of type %s, to %s", c->map->name,
			      c->map->type->name, c->h->name);
	if (gpubpf_place_is_host(v->prog->site) && c->map->type->flags & GPUBPF_MAP_THREAD) {
		gpubpf_diag_remedy(v->diag, "use an array, or a hash with ctx->host.tid in its key");
		return refuse(v, GPUBPF_E_HELPER_ARG, "passes map %s, which has values of GPU threads, on the CPU",
			      c->map->name);
	}
	if (gpubpf_op_row(c->h->op)->use & CHANGES && (c->map->rdonly || (c->map->map_flags & F_RDONLY_PROG)))
		return refuse(v, GPUBPF_E_READONLY_MEM, "changes map %s, which is read-only", c->map->name);
	if (c->h->op == GPUBPF_OP_ARM && !(c->map->map_flags & F_ARMS)) {
		gpubpf_diag_remedy(v->diag,
				   "define the map with GPUBPF_ARMS(PROGRAM), and call gpubpf_arm(PROGRAM, launches)");
		return refuse(v, GPUBPF_E_HELPER_ARG, "passes map %s, which arms no program, to %s", c->map->name,
			      c->h->name);
	}
	facts_map_arg(v, c->map_index);
	return 0;
}

static int check_number(struct verifier *v, const struct call *c, int i)
{
	const struct reg *r = &cur_regs(v)[GPUBPF_R1 + i];

	if (r->type == R_VALUE && c->h->arg[0] == GPUBPF_ARG_FMT && format_prints_text(v, i - 2))
		return format_check_text(v, r, i, c->h);
	if (reg_is_ptr(r) && c->h->arg[0] == GPUBPF_ARG_FMT && !v->opts.allow_ptr_leaks)
		gpubpf_diag_remedy(v->diag,
				   "print numbers, and text of constants and maps by %%s of a constant format; other text "
				   "can be emitted as a record of a ring");
	if (reg_is_ptr(r))
		return leak(v, GPUBPF_E_PTR_LEAK, "passes r%d, a pointer to %s, as a number to %s", i + 1, type_name(r),
			    c->h->name);
	facts_konst(v, i, r);
	return 0;
}

int check_const(struct verifier *v, const struct call *c, int i, uint64_t *value)
{
	const struct reg *r = &cur_regs(v)[GPUBPF_R1 + i];

	if (r->type != R_SCALAR || !scalar_is_const(&r->s))
		return bad_arg(v, c, i, "a constant");
	mark_reg(v, r);
	*value = r->s.var.value;
	facts_konst(v, i, r);
	return 0;
}

/* Adds the cost of the helper to the cost of the path. Argument i determines that cost. */
static int check_cost(struct verifier *v, const struct call *c, int i)
{
	const struct reg *r = &cur_regs(v)[GPUBPF_R1 + i];

	if (r->type != R_SCALAR)
		return bad_arg(v, c, i, "a number");
	if (r->s.w64.umax > GPUBPF_MAX_INSNS) {
		gpubpf_diag_remedy(v->diag,
				   "bound it, as by if (ns > 1000) ns = 1000; the call counts as that many instructions");
		return refuse(v, GPUBPF_E_HELPER_ARG,
			      "the number in r%d, which determines the cost of %s, has no bound below %d", i + 1,
			      c->h->name, GPUBPF_MAX_INSNS);
	}
	mark_reg(v, r);
	facts_konst(v, i, r);
	v->cur->tally.cost.insns += r->s.w64.umax;
	return 0;
}

static int check_ctx(struct verifier *v, const struct call *c, int i)
{
	const struct reg *r = &cur_regs(v)[GPUBPF_R1 + i];
	struct gpubpf_access a = { .spaces = GPUBPF_SPACE_CTX, .align = 8, .map = GPUBPF_NO_MAP };

	if (c->h->arg[i] == GPUBPF_ARG_CTX_OR_NULL && reg_is_zero(r)) {
		const struct gpubpf_map *map = reg_map(v, &cur_regs(v)[GPUBPF_R2]);

		if (!map || !(map->type->flags & GPUBPF_MAP_ROOM))
			return bad_arg(v, c, i, "the context (NULL only with a map of type GPU_RINGBUF)");
		a.spaces = GPUBPF_SPACE_NULL;
		mark_reg(v, r);
	} else if (r->type != R_CTX || r->off || !scalar_is_zero(&r->s)) {
		return bad_arg(v, c, i, "the context");
	}
	facts_arg(v, i, &a);
	return 0;
}

static int check_record(struct verifier *v, struct call *c, int i)
{
	struct reg *r = &cur_regs(v)[GPUBPF_R1 + i];
	struct gpubpf_access a = {
		.spaces = GPUBPF_SPACE_RECORD, .align = 8, .map = r->map, .size_min = r->size, .size_max = r->size
	};

	if (r->type != R_RECORD || r->or_null || r->off || !scalar_is_zero(&r->s) || !r->ref)
		return bad_arg(v, c, i, "the pointer from bpf_ringbuf_reserve, checked for NULL");
	c->ref = r;
	facts_arg(v, i, &a);
	return 0;
}

/*
 * Checks that a string ends inside its memory. In read-only data, all bytes are known. On the stack, one byte must be
 * known to be 0.
 */
static int check_string(struct verifier *v, const struct call *c, int i)
{
	const struct reg *p = &cur_regs(v)[GPUBPF_R1 + i];
	const struct gpubpf_map *map = reg_map(v, p);
	uint64_t byte;
	int64_t lo, hi;

	if (p->or_null || ptr_offset(p, 0, &lo, &hi) < 0 || lo != hi)
		return bad_arg(v, c, i, "a string at a constant address");
	if (p->type == R_VALUE && map->rdonly && map->init && lo >= 0 && lo < (int64_t)map->value_size) {
		const char *s = (const char *)map->init + lo;
		size_t len = strnlen(s, map->value_size - (size_t)lo);

		if (len == map->value_size - (size_t)lo)
			return bad_arg(v, c, i, "a string that ends with NUL");
		return check_memory(v, c, i, len + 1, len + 1, false);
	}
	if (p->type != R_STACK)
		return bad_arg(v, c, i, "a string in read-only data or on the stack");
	for (int64_t off = lo; off < 0; off++)
		if (stack_byte(v, p, (int)off, &byte) && !byte)
			return check_memory(v, c, i, (uint64_t)(off - lo) + 1, (uint64_t)(off - lo) + 1, false);
	return bad_arg(v, c, i, "a string that ends with NUL");
}

/*
 * Checks the name of a kernel parameter. It must be a known constant, because the session looks it up in each probed
 * kernel before launch. The name may be that of any parameter.
 */
static int check_name(struct verifier *v, const struct call *c, int i)
{
	const struct reg *r = &cur_regs(v)[GPUBPF_R1 + i];
	const struct gpubpf_map *map = reg_map(v, r);

	if (r->type != R_VALUE || !map || !map->rdonly || !map->init)
		return bad_arg(v, c, i, "a constant string");
	v->facts->ctx_args = UINT64_MAX;
	return check_string(v, c, i);
}

/* Checks the address of a word whose maximum the helper takes. The helper reads nothing that it returns. */
static int check_map_word(struct verifier *v, const struct call *c, int i)
{
	const struct reg p = cur_regs(v)[GPUBPF_R1 + i];
	struct gpubpf_access a = { .map = GPUBPF_NO_MAP };
	int err;

	if (p.type != R_VALUE)
		return bad_arg(v, c, i, "the address of a word in a map value");
	if (p.or_null)
		return refuse(v, GPUBPF_E_NULL_DEREF, "passes a pointer to %s that may be NULL as argument %d of %s",
			      type_name(&p), i + 1, c->h->name);
	a.align = region_align(&p);
	if (a.align < 8)
		return bad_arg(v, c, i, "an address that is aligned to 8 bytes");
	err = check_region(v, &p, 0, 8, true, c->h->name, &a);
	if (err < 0)
		return err;
	if (p.map >= 0)
		v->facts->map_use[p.map] |= GPUBPF_USE_MAX;
	v->cur->tally.cost.atomics++;
	facts_arg(v, i, &a);
	return 0;
}

/* Checks the memory that becomes a dynptr. It must be in a map value, as in the Linux kernel. */
static int check_map_memory(struct verifier *v, struct call *c, int i)
{
	const struct reg *p = &cur_regs(v)[GPUBPF_R1 + i];
	int err;

	if (p->type != R_VALUE || !reg_map(v, p))
		return bad_arg(v, c, i, "a pointer into a map value");
	c->data = *p;
	err = check_sized(v, c, i, true);
	if (err >= 0)
		v->facts->map_use[c->data.map] |= GPUBPF_USE_READ | GPUBPF_USE_WRITE | GPUBPF_USE_ATOMIC | GPUBPF_USE_ADD;
	return err;
}

static int check_dynptr(struct verifier *v, struct call *c, int i)
{
	const struct reg p = cur_regs(v)[GPUBPF_R1 + i];
	int err = dynptr_check_arg(v, c->h, i);

	*(c->h->arg[i] == GPUBPF_ARG_DYNPTR_NEW ? &c->made : &c->dynptr) = p;
	c->ends_dynptr = c->h->arg[i] == GPUBPF_ARG_DYNPTR_RECORD;
	return err;
}

static int check_callback(struct verifier *v, struct call *c, int i)
{
	const struct reg *r = &cur_regs(v)[GPUBPF_R1 + i];
	struct reg pc = { .type = R_UNINIT };

	if (r->type != R_FUNC)
		return bad_arg(v, c, i, "a function");
	c->callback = r->size;
	reg_const(&pc, r->size);
	facts_konst(v, i, &pc);
	return 0;
}

int check_arg(struct verifier *v, struct call *c, int i)
{
	const struct reg *r = &cur_regs(v)[GPUBPF_R1 + i];
	bool varargs = c->h->arg[0] == GPUBPF_ARG_FMT && c->h->arg[i] == GPUBPF_ARG_ANY;
	uint64_t unused;
	int err;

	if (r->type == R_UNINIT)
		return varargs ? 0 : read_reg(v, GPUBPF_R1 + i);
	switch (gpubpf_helper_arg(c->h, i, c->map ? c->map->type : NULL)) {
	case GPUBPF_ARG_NONE:
	case GPUBPF_ARGS:
		return 0;
	case GPUBPF_ARG_ANY:
	case GPUBPF_ARG_IGNORED:
		return check_number(v, c, i);
	case GPUBPF_ARG_COST:
		return check_cost(v, c, i);
	case GPUBPF_ARG_CONST:
	case GPUBPF_ARG_PARAM:
		return check_const(v, c, i, &unused);
	case GPUBPF_ARG_ALLOC_SIZE:
		return check_const(v, c, i, &c->alloc);
	case GPUBPF_ARG_MAP:
		return check_map(v, c, i);
	case GPUBPF_ARG_MAP_KEY:
		return check_memory(v, c, i, c->map->key_size, c->map->key_size, false);
	case GPUBPF_ARG_MAP_VALUE:
		return check_memory(v, c, i, c->map->value_size, c->map->value_size, false);
	case GPUBPF_ARG_MAP_VALUE_OUT:
		return check_memory(v, c, i, c->map->value_size, c->map->value_size, true);
	case GPUBPF_ARG_FMT:
		err = check_sized(v, c, i, false);
		return err < 0 ? err : format_check(v, c->h);
	case GPUBPF_ARG_MEM_RD:
		if (c->h->arg[0] == GPUBPF_ARG_FMT && (err = format_check_texts(v, c->h)) < 0)
			return err;
		err = check_sized(v, c, i, false);
		v->reads_texts = false;
		return err;
	case GPUBPF_ARG_MEM_WR:
		return check_sized(v, c, i, true);
	case GPUBPF_ARG_SIZE:
	case GPUBPF_ARG_SIZE_OR_ZERO:
		facts_konst(v, i, r);
		return 0;
	case GPUBPF_ARG_STR:
		return check_string(v, c, i);
	case GPUBPF_ARG_NAME:
		return check_name(v, c, i);
	case GPUBPF_ARG_U64_OUT:
		return check_memory(v, c, i, 8, 8, true);
	case GPUBPF_ARG_MAP_WORD:
		return check_map_word(v, c, i);
	case GPUBPF_ARG_ITER_NEW:
	case GPUBPF_ARG_ITER:
		return iter_check_arg(v, c->h, i);
	case GPUBPF_ARG_DYNPTR_NEW:
	case GPUBPF_ARG_DYNPTR:
	case GPUBPF_ARG_DYNPTR_RECORD:
		return check_dynptr(v, c, i);
	case GPUBPF_ARG_MAP_MEM:
		return check_map_memory(v, c, i);
	case GPUBPF_ARG_CTX:
	case GPUBPF_ARG_CTX_COOKIE:
	case GPUBPF_ARG_CTX_OR_NULL:
		return check_ctx(v, c, i);
	case GPUBPF_ARG_RECORD:
		return check_record(v, c, i);
	case GPUBPF_ARG_CALLBACK:
		return check_callback(v, c, i);
	case GPUBPF_ARG_STACK_OR_NULL:
		return r->type == R_STACK || reg_is_zero(r) ? 0 : bad_arg(v, c, i, "a stack pointer or NULL");
	}
	return 0;
}
