/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helpers. The device library (maps/devlib.h) takes memory in private memory: the stack goes as it is,
 * memory of other kinds through a private copy. Which map is a constant of the call; where it is not, a
 * switch over the maps that it can be.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "llvm_low.h"

#define MAX_COPY 16384 /* bytes of private memory that one argument may need */
#define DEVICE_SPACES (GPUBPF_SPACE_MAP_VALUE | GPUBPF_SPACE_RECORD)

struct call {
	struct low_frame *f;
	struct low *l;
	uint32_t pc;
	const struct gpubpf_helper *helper;
	const struct gpubpf_call_facts *facts;
	uint32_t map;               /* the map that the code being made is for */
	LLVMValueRef temp[6];       /* private copies, by register */
};

unsigned low_map_args(struct low *l, const struct gpubpf_map_layout *m, LLVMValueRef *args)
{
	args[0] = low_const32(l, m->flags);
	args[1] = low_const32(l, m->key_size);
	args[2] = low_const32(l, m->value_size);
	args[3] = low_const32(l, m->max_entries);
	args[4] = low_const32(l, m->copies);
	args[5] = low_const(l, m->ctl);
	args[6] = low_const(l, m->data);
	args[7] = low_const(l, m->stride);
	args[8] = low_const(l, m->copy_stride);
	return 9;
}

static const struct gpubpf_access *argument(const struct call *c, unsigned reg)
{
	return &c->facts->arg[reg - 1];
}

static LLVMValueRef get(const struct call *c, unsigned reg)
{
	return low_get(c->f, reg);
}

static bool only_stack(const struct call *c, unsigned reg)
{
	return argument(c, reg)->spaces == GPUBPF_SPACE_STACK;
}

struct branch {
	LLVMBasicBlockRef no, after;
};

/* if (cond) { code that follows } until end_if() */
static struct branch begin_if(const struct call *c, LLVMValueRef cond)
{
	LLVMBasicBlockRef yes = low_block(c->f->p, "yes");
	struct branch b = { low_block(c->f->p, "no"), low_block(c->f->p, "after") };

	LLVMBuildCondBr(c->l->b, cond, yes, b.no);
	LLVMPositionBuilderAtEnd(c->l->b, yes);
	return b;
}

static void begin_else(const struct call *c, const struct branch *b)
{
	LLVMBuildBr(c->l->b, b->after);
	LLVMPositionBuilderAtEnd(c->l->b, b->no);
}

static void end_if(const struct call *c, const struct branch *b)
{
	LLVMBuildBr(c->l->b, b->after);
	LLVMPositionBuilderAtEnd(c->l->b, b->after);
}

static LLVMValueRef below_limit(const struct call *c, unsigned reg)
{
	return LLVMBuildICmp(c->l->b, LLVMIntULT, get(c, reg), low_const(c->l, GPUBPF_PTR_LIMIT), "");
}

/* The bytes of the context that an argument covers, into its copy. */
static int copy_ctx(const struct call *c, unsigned reg)
{
	const struct gpubpf_access *a = argument(c, reg);

	if (a->off_min != a->off_max)
		return gpubpf_diag_set(c->l->diag, GPUBPF_E_CTX_ACCESS, c->pc, "the offset into the context varies");
	for (uint32_t i = 0; i < a->size_max; i += 8) {
		LLVMValueRef v = low_ctx(c->f->p, a->off_min + i, 8);

		if (!v)
			return -EINVAL;
		LLVMSetAlignment(LLVMBuildStore(c->l->b, v, low_byte_ptr(c->l, c->temp[reg], low_const32(c->l, i))), 8);
	}
	return 0;
}

/* read-only data that the compiler knows: no memory is read */
static const char *known_bytes(const struct call *c, unsigned reg, uint64_t size)
{
	const struct gpubpf_access *a = argument(c, reg);
	const struct gpubpf_map *map;

	if (a->spaces != GPUBPF_SPACE_MAP_VALUE || a->map < 0 || a->off_min != a->off_max || a->off_min < 0)
		return NULL;
	map = &c->l->job->unit->maps[a->map];
	if (!map->rdonly || !map->init || a->off_min + size > map->value_size)
		return NULL;
	return (const char *)map->init + a->off_min;
}

static void store_known(const struct call *c, unsigned reg, const char *bytes, uint64_t size)
{
	struct low *l = c->l;

	for (uint64_t i = 0; i < size; i += 8) {
		uint64_t word = 0;

		memcpy(&word, bytes + i, size - i < 8 ? size - i : 8);
		LLVMSetAlignment(
			LLVMBuildStore(l->b, low_const(l, word), low_byte_ptr(l, c->temp[reg], low_const(l, i))), 8);
	}
}

/* Between the copy and what the argument points to; out: back to it. */
static void transfer(const struct call *c, unsigned reg, LLVMValueRef size, bool out)
{
	const struct gpubpf_access *a = argument(c, reg);
	bool stack = a->spaces & GPUBPF_SPACE_STACK, device = a->spaces & DEVICE_SPACES;
	bool null = a->spaces & GPUBPF_SPACE_NULL;
	LLVMValueRef temp = c->temp[reg];
	struct low *l = c->l;
	struct branch on_stack, not_null;

	if (stack && (device || null))
		on_stack = begin_if(
			c, LLVMBuildAnd(l->b, below_limit(c, reg), LLVMBuildIsNotNull(l->b, get(c, reg), ""), ""));
	if (stack) {
		LLVMValueRef ptr = low_stack_ptr(c->f->p, a, get(c, reg));

		LLVMBuildMemCpy(l->b, out ? ptr : temp, out ? 1 : 8, out ? temp : ptr, out ? 8 : 1, size);
	}
	if (stack && (device || null))
		begin_else(c, &on_stack);
	if (device) {
		LLVMValueRef ptr = low_device_ptr(l, get(c, reg));
		unsigned align = a->align ? a->align : 1;

		if (null)
			not_null = begin_if(c, LLVMBuildIsNotNull(l->b, get(c, reg), ""));
		LLVMBuildMemCpy(l->b, out ? ptr : temp, out ? align : 8, out ? temp : ptr, out ? 8 : align, size);
		if (null) {
			begin_else(c, &not_null);
			end_if(c, &not_null);
		}
	}
	if (stack && (device || null))
		end_if(c, &on_stack);
}

/*
 * An argument as private memory: c->temp[reg] is made and filled where the stack itself will not do.
 * room: the most bytes it has; size: how many there are (i64).
 */
static int bring(struct call *c, unsigned reg, uint64_t room, LLVMValueRef size)
{
	const struct gpubpf_access *a = argument(c, reg);
	const char *known = known_bytes(c, reg, room);

	c->temp[reg] = NULL;
	if (only_stack(c, reg))
		return 0;
	if (room > MAX_COPY)
		return gpubpf_diag_set(c->l->diag, GPUBPF_E_TARGET_LACKS, c->pc,
				       "helper %s would copy %llu bytes of map memory, %d is the most", c->helper->name,
				       (unsigned long long)room, MAX_COPY);
	c->temp[reg] = low_alloca(c->f->p, LLVMArrayType2(c->l->i8, (room + 15) & ~7ull), 8, "copy");
	if (a->spaces & GPUBPF_SPACE_CTX) {
		if (a->spaces != GPUBPF_SPACE_CTX)
			return gpubpf_diag_set(c->l->diag, GPUBPF_E_TARGET_LACKS, c->pc,
					       "helper %s takes memory that may be the context or other memory",
					       c->helper->name);
		return copy_ctx(c, reg);
	}
	if (known)
		store_known(c, reg, known, room);
	else
		transfer(c, reg, size, false);
	return 0;
}

static int bring_fixed(struct call *c, unsigned reg, uint64_t size)
{
	return bring(c, reg, size, low_const(c->l, size));
}

/* the size is in the next register */
static int bring_sized(struct call *c, unsigned reg)
{
	return bring(c, reg, argument(c, reg)->size_max, get(c, reg + 1));
}

/* what the library gets; after bring() */
static LLVMValueRef pointer(const struct call *c, unsigned reg)
{
	return c->temp[reg] ? c->temp[reg] : low_stack_ptr(c->f->p, argument(c, reg), get(c, reg));
}

/* Call the library; r0 is what it returns, 0 if nothing. */
static int finish(struct call *c, const char *name, const LLVMValueRef *args, unsigned n)
{
	LLVMValueRef v = low_call(c->l, name, args, n);

	if (c->l->diag->code != GPUBPF_OK)
		return -EINVAL;
	low_set(c->f, GPUBPF_R0, v ? v : low_const(c->l, 0));
	return 0;
}

static int finish_map(struct call *c, const char *op, LLVMValueRef *args, unsigned n)
{
	const struct gpubpf_map_type *type = c->l->job->unit->maps[c->map].type;
	char name[64];
	LLVMValueRef v;

	snprintf(name, sizeof(name), "gpubpf_%s_%s", type->impl, op);
	if (!low_shares(type))
		return finish(c, name, args, n);
	v = low_call_shared(c->l, name, &c->l->job->layouts[c->map], args, n);
	if (!v)
		return -EINVAL;
	low_set(c->f, GPUBPF_R0, v);
	return 0;
}

static unsigned map_head(struct call *c, LLVMValueRef *args)
{
	args[0] = c->f->p->env;
	return 1 + low_map_args(c->l, &c->l->job->layouts[c->map], args + 1);
}

static int keyed(struct call *c, const char *op, bool update)
{
	const struct gpubpf_map *map = &c->l->job->unit->maps[c->map];
	LLVMValueRef args[16];
	unsigned n = map_head(c, args);
	int err = bring_fixed(c, GPUBPF_R2, map->key_size);

	if (!err && update)
		err = bring_fixed(c, GPUBPF_R3, map->value_size);
	if (err < 0)
		return err;
	args[n++] = pointer(c, GPUBPF_R2);
	if (update) {
		args[n++] = pointer(c, GPUBPF_R3);
		args[n++] = get(c, GPUBPF_R4);
	}
	return finish_map(c, op, args, n);
}

static int lookup(struct call *c)
{
	return keyed(c, "lookup", false);
}

static int update(struct call *c)
{
	return keyed(c, "update", true);
}

static int delete(struct call *c)
{
	return keyed(c, "delete", false);
}

static int output(struct call *c, unsigned data)
{
	LLVMValueRef args[16];
	unsigned n = map_head(c, args);
	int err = bring_sized(c, data);

	if (err < 0)
		return err;
	args[n++] = pointer(c, data);
	args[n++] = get(c, data + 1);
	return finish_map(c, "output", args, n);
}

static int perf_event_output(struct call *c)
{
	return output(c, GPUBPF_R4);
}

static int ringbuf_output(struct call *c)
{
	return output(c, GPUBPF_R2);
}

static int reserve(struct call *c)
{
	LLVMValueRef args[16];
	unsigned n = map_head(c, args);

	args[n++] = get(c, GPUBPF_R2);
	return finish_map(c, "reserve", args, n);
}

static int query(struct call *c)
{
	LLVMValueRef args[16];
	unsigned n = map_head(c, args);

	args[n++] = get(c, GPUBPF_R2);
	return finish_map(c, "query", args, n);
}

static int record(struct call *c, const char *name)
{
	LLVMValueRef args[] = { c->f->p->env, get(c, GPUBPF_R1), get(c, GPUBPF_R2) };

	return finish(c, name, args, 3);
}

static int submit(struct call *c)
{
	return record(c, "gpubpf_ring_submit");
}

static int discard(struct call *c)
{
	return record(c, "gpubpf_ring_discard");
}

/* helpers without arguments */
static int plain(struct call *c)
{
	char name[64];

	snprintf(name, sizeof(name), "gpubpf_helper_%s", c->helper->name);
	return finish(c, name, &c->f->p->env, 1);
}

/* helpers 503, 504, 505, 508 */
static int coordinates(struct call *c)
{
	LLVMValueRef args[4] = { c->f->p->env }, size = low_const(c->l, 8);
	char name[64];
	int err = 0;

	for (unsigned reg = GPUBPF_R1; reg <= GPUBPF_R3 && !err; reg++) {
		err = bring(c, reg, 8, size);
		if (!err)
			args[reg] = pointer(c, reg);
	}
	snprintf(name, sizeof(name), "gpubpf_helper_%s", c->helper->name);
	if (!err)
		err = finish(c, name, args, 4);
	for (unsigned reg = GPUBPF_R1; reg <= GPUBPF_R3 && !err; reg++)
		if (c->temp[reg])
			transfer(c, reg, size, true);
	return err;
}

/* the ring, which program, the text */
static unsigned print_head(struct call *c, LLVMValueRef *args)
{
	unsigned n = 1 + low_map_args(c->l, &c->l->job->print_layout, args + 1);

	args[0] = c->f->p->env;
	args[n++] = low_const32(c->l, c->f->p->index);
	args[n++] = pointer(c, GPUBPF_R1);
	return n;
}

static int no_ring(struct call *c)
{
	low_set(c->f, GPUBPF_R0, low_const(c->l, -EOPNOTSUPP));
	return 0;
}

static int trace_printk(struct call *c)
{
	LLVMValueRef args[20];
	unsigned n;
	int err;

	if (!c->l->job->print_ring)
		return no_ring(c);
	err = bring_sized(c, GPUBPF_R1);
	if (err < 0)
		return err;
	n = print_head(c, args);
	for (unsigned reg = GPUBPF_R2; reg <= GPUBPF_R5; reg++)
		args[n++] = get(c, reg);
	return finish(c, "gpubpf_helper_trace_printk", args, n);
}

static int puts_(struct call *c)
{
	uint32_t size = argument(c, GPUBPF_R1)->size_max;
	LLVMValueRef args[20];
	unsigned n;
	int err;

	if (!c->l->job->print_ring)
		return no_ring(c);
	err = bring_fixed(c, GPUBPF_R1, size);
	if (err < 0)
		return err;
	n = print_head(c, args);
	args[n++] = low_const(c->l, size);
	return finish(c, "gpubpf_helper_puts", args, n);
}

static int exit_thread(struct call *c)
{
	if (!c->f->p->site->may_end_thread)
		return gpubpf_diag_set(c->l->diag, GPUBPF_E_SIMT_EXIT, c->pc,
				       "helper exit_thread cannot be used at this site of kernel %s",
				       c->f->p->site->kernel);
	LLVMBuildBr(c->l->b, c->f->p->ended);
	return 0;
}

/* helper 520 */
static int read_arg(struct call *c)
{
	const struct gpubpf_site_desc *site = c->f->p->site;
	uint64_t index = c->facts->konst[1];
	const struct gpubpf_param *param = index < site->nparams ? &site->params[index] : NULL;
	LLVMValueRef args[6] = { c->f->p->env };
	int err = bring_sized(c, GPUBPF_R4);

	if (err < 0)
		return err;
	if (param && param->bytes_off == UINT32_MAX)
		param = NULL;
	args[1] = low_const(c->l, param ? param->bytes_off : 0);
	args[2] = low_const(c->l, param ? param->size : 0);
	args[3] = get(c, GPUBPF_R3);
	args[4] = pointer(c, GPUBPF_R4);
	args[5] = get(c, GPUBPF_R5);
	err = finish(c, "gpubpf_helper_read_arg", args, 6);
	if (!err && c->temp[GPUBPF_R4])
		transfer(c, GPUBPF_R4, get(c, GPUBPF_R5), true);
	return err;
}

/* how each helper is called; those that are not here take nothing but the environment */
static const struct {
	uint32_t id;
	int (*call)(struct call *c);
} calls[] = {
	{ 1, lookup }, { 2, update }, { 3, delete },
	{ 6, trace_printk }, { 501, puts_ },
	{ 25, perf_event_output }, { 130, ringbuf_output }, { 131, reserve },
	{ 132, submit }, { 133, discard }, { 134, query },
	{ 503, coordinates }, { 504, coordinates }, { 505, coordinates }, { 508, coordinates },
	{ 507, exit_thread }, { 520, read_arg },
};

static int one(struct call *c)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].id == c->helper->id)
			return calls[i].call(c);
	return plain(c);
}

/* the register of the map argument, 0 if there is none */
static unsigned map_register(const struct gpubpf_helper *helper)
{
	for (unsigned i = 0; i < 5; i++)
		if (helper->arg[i] == GPUBPF_ARG_MAP)
			return i + 1;
	return 0;
}

/* paths disagree about the map: a case for each that the helper could take */
static int any_map(struct call *c, unsigned reg)
{
	const struct gpubpf_unit *unit = c->l->job->unit;
	uint32_t wants = c->helper->id <= 3 ? GPUBPF_MAP_KEYED : GPUBPF_MAP_RING;
	LLVMBasicBlockRef none = low_block(c->f->p, "no_map"), after = low_block(c->f->p, "after");
	LLVMValueRef which = LLVMBuildSwitch(c->l->b, get(c, reg), none, unit->nmaps);

	for (c->map = 0; c->map < unit->nmaps; c->map++) {
		LLVMBasicBlockRef block;
		int err;

		if (!(unit->maps[c->map].type->flags & wants))
			continue;
		block = low_block(c->f->p, "map");
		LLVMAddCase(which, low_const(c->l, GPUBPF_PTR_MAP + c->map), block);
		LLVMPositionBuilderAtEnd(c->l->b, block);
		err = one(c);
		if (err < 0)
			return err;
		LLVMBuildBr(c->l->b, after);
	}
	LLVMPositionBuilderAtEnd(c->l->b, none);
	low_set(c->f, GPUBPF_R0, low_const(c->l, 0));
	LLVMBuildBr(c->l->b, after);
	LLVMPositionBuilderAtEnd(c->l->b, after);
	return 0;
}

int low_helper(struct low_frame *f, uint32_t pc)
{
	const struct gpubpf_prog *prog = f->p->prog;
	struct call c = {
		.f = f, .l = f->p->l, .pc = pc, .helper = gpubpf_helper_find(prog->insns[pc].imm),
		.facts = prog->facts->insn[pc].call,
	};
	unsigned reg;

	if (!c.helper || !(c.helper->flags & GPUBPF_HELPER_DEV) || !c.facts)
		return gpubpf_diag_set(c.l->diag, GPUBPF_E_BAD_HELPER, pc, "helper %d cannot run on a device",
				       prog->insns[pc].imm);
	reg = map_register(c.helper);
	if (!reg)
		return one(&c);
	if (c.facts->map == GPUBPF_NO_MAP)
		return gpubpf_diag_set(c.l->diag, GPUBPF_E_HELPER_ARG, pc, "helper %s without a map", c.helper->name);
	if (c.facts->map == GPUBPF_ANY_MAP)
		return any_map(&c, reg);
	c.map = c.facts->map;
	return one(&c);
}
