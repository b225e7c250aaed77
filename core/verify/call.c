/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks helper calls: compares the arguments with the rows of include/gpubpf/helpers.def, like the Linux kernel checks
 * its helpers (Documentation/bpf/verifier.rst).
 */
#include <errno.h>
#include <string.h>

#include "core/model/places.h"
#include "core/model/stack_frame.h"
#include "verify.h"

#define F_ARMS (1u << 26) /* GPUBPF_F_ARMS of include/gpubpf/arm.h */
#define F_RDONLY_PROG (1u << 7)
#define HOST_CALL_COST 10000 /* a call takes about 10 us; as helper 524, each ns counts as an instruction */
#define CHANGES (GPUBPF_USE_UPDATE | GPUBPF_USE_DELETE)

struct call {
	const struct gpubpf_helper *h;
	const struct gpubpf_map *map;
	int map_index;
	struct reg *ref;    /* register with the record that the call releases */
	uint64_t alloc;     /* size in bytes of the record that the call reserves */
	uint64_t out_bytes; /* maximum of the size argument, in bytes */
	uint32_t callback;  /* pc of the callback, or 0 */
};

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

static int check_const(struct verifier *v, const struct call *c, int i, uint64_t *value)
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

static int check_arg(struct verifier *v, struct call *c, int i)
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

/* Refuses a helper that does not exist on a GPU, and states an alternative if there is one. */
static int no_helper(struct verifier *v, const struct gpubpf_insn *insn, const struct gpubpf_helper *h)
{
	char why[200];

	if (!v->opts.any_ctx && gpubpf_linux_advice((uint32_t)insn->imm, NULL, why, sizeof(why)))
		gpubpf_diag_remedy(v->diag, "%s", why);
	return refuse(v, GPUBPF_E_BAD_HELPER, "calls helper %d%s%s, which does not exist on a GPU", insn->imm,
		      h ? " " : "", h ? h->name : "");
}

/* Returns true for the helpers of the data buffer, which only direct runs have (core/wire/direct.h). */
static bool is_of_run(const struct gpubpf_helper *h)
{
	return h->op == GPUBPF_OP_DATA;
}

/* Refuses a helper that programs on the CPU cannot call (core/model/host_helpers.def). */
static int check_host_helper(struct verifier *v, const struct gpubpf_helper *h)
{
	static const struct {
		const char *name, *instead;
	} refused[] = {
#define GPUBPF_NOT_ON_HOST(name, instead) { name, instead },
#include "core/model/host_helpers.def"
	};

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (!strcmp(refused[i].name, h->name)) {
			gpubpf_diag_remedy(v->diag, "%s", refused[i].instead);
			return refuse(v, GPUBPF_E_BAD_HELPER,
				      "calls helper %u %s, which programs of section %.100s cannot call", h->id,
				      h->name, v->prog->section);
		}
	return 0;
}

static int find_helper(struct verifier *v, const struct gpubpf_insn *insn, const struct gpubpf_helper **h)
{
	if (insn->imm == GPUBPF_CORE_POISON)
		return refuse(v, GPUBPF_E_NO_FIELD,
			      "uses a field or type that the context does not have: its CO-RE relocation found nothing");
	*h = gpubpf_helper_find((uint32_t)insn->imm);
	if (!*h || (!gpubpf_helper_runs(*h) && !v->opts.allow_kernel_helpers) || (v->opts.any_ctx && (*h)->id >= 500))
		return no_helper(v, insn, *h);
	if (gpubpf_place_is_host(v->prog->site) && check_host_helper(v, *h) < 0)
		return -EINVAL;
	if ((*h)->class == GPUBPF_CLASS_TAIL && !v->opts.allow_kernel_helpers)
		return refuse(v, GPUBPF_E_BAD_HELPER,
			      "calls helper %d %s, but the programs that it may call are unknown: they must be in "
			      "its object",
			      insn->imm, (*h)->name);
	if ((*h)->op == GPUBPF_OP_TAIL_CALL && v->cur->nrefs)
		return refuse(v, GPUBPF_E_REF_LEAK, "makes a tail call while it holds a reserved record");
	if ((*h)->op == GPUBPF_OP_HOST_CALL && v->cur->nrefs) {
		gpubpf_diag_remedy(v->diag, "submit or discard the record before the call");
		return refuse(v, GPUBPF_E_REF_LEAK,
			      "waits for the host (helper %d) while it holds a reserved record, at which the ring's reader stops",
			      insn->imm);
	}
	if (is_of_run(*h) && !v->prog->is_run && v->prog->site != GPUBPF_SITE_NONE) {
		gpubpf_diag_remedy(v->diag, "put the program into a section gpu/run/NAME, and run it with gpubpf prog run");
		return refuse(v, GPUBPF_E_BAD_HELPER,
			      "calls %s, but only a program that gpubpf prog run runs has a data buffer", (*h)->name);
	}
	if ((*h)->class == GPUBPF_CLASS_ENDS && !v->opts.allow_exit_thread)
		return refuse(v, GPUBPF_E_SIMT_EXIT, "ends the thread (helper %d) at a place that does not allow it",
			      insn->imm);
	if ((*h)->class == GPUBPF_CLASS_ENDS && v->cur->nrefs)
		return refuse(v, GPUBPF_E_REF_LEAK, "ends the thread while it holds a reserved record");
	return 0;
}

/*
 * Checks a call of helper 27 (get_stackid). The session walks the host's stack before each launch, so all calls must
 * request the same frames.
 */
static int check_stack_id(struct verifier *v, const struct call *c)
{
	struct gpubpf_facts *f = v->facts;
	uint32_t skip, depth = c->map->value_size / gpubpf_stack_frame_size(c->map->map_flags);
	uint64_t flags = 0;
	int err = check_const(v, c, 2, &flags);

	if (err < 0)
		return err;
	skip = flags & 0xff;
	if (f->stack_ids && (f->stack_skip != skip || f->stack_depth != depth)) {
		gpubpf_diag_remedy(v->diag,
				   "skip the same number of frames in all calls, and use maps with one value size");
		return refuse(v, GPUBPF_E_HELPER_ARG,
			      "requests stacks of %u frames and skips %u frames here, but another call requests other frames",
			      depth, skip);
	}
	f->stack_ids = true;
	f->stack_skip = skip;
	f->stack_depth = depth;
	return 0;
}

static void note_call(struct verifier *v, const struct call *c)
{
	struct gpubpf_facts *f = v->facts;
	uint32_t use = gpubpf_op_row(c->h->op)->use;

	if (c->map)
		f->map_use[c->map_index] |= use;
	/* ringbuf_reserve sets alloc, ringbuf_output sets out_bytes; the other member is 0 */
	if (c->map && use & GPUBPF_USE_OUTPUT)
		v->cur->tally.cost.event_bytes += c->alloc + c->out_bytes;
	if (c->h->op == GPUBPF_OP_HOST_CALL)
		v->cur->tally.cost.insns += HOST_CALL_COST;
	if (c->h->class == GPUBPF_CLASS_PRINT)
		v->cur->tally.cost.prints++;
	facts_helper(f, c->h);
}

/* Returns true if the look-up always finds an element: it is in an array, at a constant index inside the array. */
static bool is_certain_hit(struct verifier *v, const struct call *c)
{
	const struct reg *key = &cur_regs(v)[GPUBPF_R2];
	uint64_t index;

	return c->h->op == GPUBPF_OP_LOOKUP && !v->opts.any_ctx &&
	       (c->map->type->flags & (GPUBPF_MAP_U32KEY | GPUBPF_MAP_THREAD | GPUBPF_MAP_OF_MAPS)) == GPUBPF_MAP_U32KEY &&
	       c->map->key_size == 4 && stack_known(v, key, 4, &index) && index < c->map->max_entries;
}

/* Records a constant index outside of the array. A call with this index always fails. */
static void note_outside(struct verifier *v, const struct call *c)
{
	const struct reg *key = &cur_regs(v)[GPUBPF_R2];
	bool by_index = c->map && c->map->type->flags & GPUBPF_MAP_U32KEY && c->map->key_size == 4 && !v->opts.any_ctx;
	bool takes_key = c->h->op == GPUBPF_OP_LOOKUP || c->h->op == GPUBPF_OP_UPDATE;
	uint64_t index;

	if (by_index && takes_key && stack_known(v, key, 4, &index) && index >= c->map->max_entries) {
		v->aux[v->pc].outside = true;
		v->aux[v->pc].index = (uint32_t)index;
	}
}

/* Sets r0 to memory of the call's constant size, or NULL. */
static int set_memory(struct verifier *v, const struct call *c, struct reg *r0)
{
	if (!c->alloc || c->alloc >= MAX_OFFSET)
		return refuse(v, GPUBPF_E_HELPER_ARG, "requests %llu bytes of %s; the size must be 1 to %d bytes",
			      (unsigned long long)c->alloc, c->h->name, MAX_OFFSET - 1);
	reg_const(r0, 0);
	r0->type = R_MEM;
	r0->map = GPUBPF_NO_MAP;
	r0->size = (uint32_t)c->alloc;
	r0->or_null = true;
	r0->id = new_id(v);
	return 0;
}

static int set_return(struct verifier *v, const struct call *c, bool there)
{
	struct reg *r0 = &cur_regs(v)[GPUBPF_R0];

	reg_uninit(r0);
	switch (c->h->ret) {
	case GPUBPF_RET_VOID:
		return 0;
	case GPUBPF_RET_INT:
		reg_unknown(r0);
		return 0;
	case GPUBPF_RET_MEM_OR_NULL:
		return set_memory(v, c, r0);
	case GPUBPF_RET_MAP_VALUE_OR_NULL:
	case GPUBPF_RET_RECORD_OR_NULL:
	case GPUBPF_RET_NUMBER_OR_NULL: /* iter_call() */
		break;
	}
	reg_const(r0, 0);
	r0->type = c->h->ret == GPUBPF_RET_RECORD_OR_NULL ? R_RECORD : c->map->inner ? R_MAP : R_VALUE;
	r0->map = (int16_t)(c->map->inner ? (int)c->map->inner - 1 : c->map_index);
	r0->or_null = !there;
	r0->id = there ? 0 : new_id(v);
	if (r0->type != R_RECORD)
		return 0;
	if (c->alloc >= MAX_OFFSET)
		return refuse(v, GPUBPF_E_HELPER_ARG,
			      "reserves a record of %llu bytes; a record must have less than %d bytes",
			      (unsigned long long)c->alloc, MAX_OFFSET);
	r0->size = (uint32_t)c->alloc;
	return ref_acquire(v, &r0->ref);
}

int do_call(struct verifier *v, const struct gpubpf_insn *insn)
{
	struct call c = { .map_index = GPUBPF_NO_MAP };
	bool there;
	int err = find_helper(v, insn, &c.h);

	if (err < 0)
		return err;
	facts_map_arg(v, GPUBPF_NO_MAP);
	for (int i = 0; i < 5 && c.h->arg[i] != GPUBPF_ARG_NONE; i++) {
		err = check_arg(v, &c, i);
		if (err < 0)
			return err;
	}
	err = c.h->op == GPUBPF_OP_STACK_ID && !v->opts.any_ctx ? check_stack_id(v, &c) : 0;
	if (err < 0)
		return err;
	err = format_check_written(v, c.h);
	if (err < 0)
		return err;
	note_call(v, &c);
	if (c.h->arg[0] == GPUBPF_ARG_ITER_NEW || c.h->arg[0] == GPUBPF_ARG_ITER)
		return iter_call(v, c.h);
	if (c.callback || c.h->arg[1] == GPUBPF_ARG_CALLBACK)
		return callback_enter(v, c.h, c.map_index, c.callback);
	there = c.map && is_certain_hit(v, &c);
	note_outside(v, &c);
	if (c.ref) {
		err = ref_release(v, c.ref->ref);
		if (err < 0)
			return err;
	}
	for (int r = GPUBPF_R1; r <= GPUBPF_R5; r++)
		reg_uninit(&cur_regs(v)[r]);
	err = set_return(v, &c, there);
	v->pc++;
	return err;
}
