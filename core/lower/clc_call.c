/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helper calls of verified programs. The device library (maps/devlib.h) wants memory arguments in
 * private memory: the program's stack is passed as it is, device memory through a copy.
 */
#include <errno.h>
#include <stdio.h>

#include "clc.h"
#include "core/diag.h"

#define MAX_COPY 16384 /* bytes of private memory that one argument may need */

struct call {
	struct clc *c;
	uint32_t pc;
	const struct gpubpf_helper *helper;
	const struct gpubpf_call_facts *facts;
};

static const struct gpubpf_access *argument(const struct call *call, uint32_t arg)
{
	return &call->facts->arg[arg - 1];
}

static bool only_stack(const struct call *call, uint32_t arg)
{
	return !(argument(call, arg)->spaces & ~(GPUBPF_SPACE_STACK | GPUBPF_SPACE_NULL));
}

/* Declare the private copy that an argument needs, if it does. */
static int declare(const struct call *call, uint32_t arg, uint64_t room)
{
	if (only_stack(call, arg))
		return 0;
	if (argument(call, arg)->spaces & GPUBPF_SPACE_CTX)
		return gpubpf_diag_set(call->c->diag, GPUBPF_E_TARGET_LACKS, call->pc,
				       "helper %s cannot take memory of the context", call->helper->name);
	if (room > MAX_COPY)
		return gpubpf_diag_set(call->c->diag, GPUBPF_E_TARGET_LACKS, call->pc,
				       "helper %s would copy %llu bytes of map memory, %d is the most",
				       call->helper->name, (unsigned long long)room, MAX_COPY);
	text_add(call->c->t, "ulong t%u[%llu]; ", arg, (unsigned long long)(room ? (room + 7) / 8 : 1));
	return 0;
}

/* The argument as a pointer to private bytes. */
static void pointer(const struct call *call, uint32_t arg)
{
	char index[48];

	if (only_stack(call, arg))
		text_add(call->c->t, "stack + %s", clc_stack_index(call->c, argument(call, arg), arg, 0, index));
	else
		text_add(call->c->t, "(GPUBPF_PRIVATE uchar *)t%u", arg);
}

/* Copy between an argument's private copy and where it points; `size` is an expression. */
static void copy(const struct call *call, uint32_t arg, const char *size, bool out)
{
	static const struct gpubpf_access anywhere = { .frame = GPUBPF_ANY_FRAME };
	bool stack = argument(call, arg)->spaces & GPUBPF_SPACE_STACK;
	struct text *t = call->c->t;
	char index[48];

	if (only_stack(call, arg))
		return;
	clc_stack_index(call->c, &anywhere, arg, 0, index);
	if (stack)
		text_add(t, "if (r%u < 0x%xUL) ", arg, GPUBPF_PTR_LIMIT);
	if (stack && out)
		text_add(t, "gpubpf_clc_copy(stack + %s, (GPUBPF_PRIVATE uchar *)t%u, %s); else ", index, arg, size);
	else if (stack)
		text_add(t, "gpubpf_clc_copy((GPUBPF_PRIVATE uchar *)t%u, stack + %s, %s); else ", arg, index, size);
	if (out)
		text_add(t, "gpubpf_clc_out(r%u, (GPUBPF_PRIVATE uchar *)t%u, %s); ", arg, arg, size);
	else
		text_add(t, "gpubpf_clc_in((GPUBPF_PRIVATE uchar *)t%u, r%u, %s); ", arg, arg, size);
}

/* Bring an argument of a size that is known when lowering. */
static int bring(const struct call *call, uint32_t arg, uint64_t size)
{
	char text[24];
	int err = declare(call, arg, size);

	if (err < 0)
		return err;
	snprintf(text, sizeof(text), "%lluUL", (unsigned long long)size);
	copy(call, arg, text, false);
	return 0;
}

/* Bring an argument whose size is in the next one. */
static int bring_sized(const struct call *call, uint32_t arg)
{
	char text[8];
	int err = declare(call, arg, argument(call, arg)->size_max);

	if (err < 0)
		return err;
	snprintf(text, sizeof(text), "r%u", arg + 1);
	copy(call, arg, text, false);
	return 0;
}

/* Helpers 1, 2, 3 on one map. */
static int keyed(const struct call *call, uint32_t map, const char *op)
{
	const struct gpubpf_map *m = &call->c->job->unit->maps[map];
	bool update = call->helper->id == 2;
	struct text *t = call->c->t;
	int err = bring(call, 2, m->key_size);

	if (!err && update)
		err = bring(call, 3, m->value_size);
	if (err < 0)
		return err;
	text_add(t, "r0 = (u64)gpubpf_map%u_%s(env, ", map, op);
	pointer(call, 2);
	if (update) {
		text_add(t, ", ");
		pointer(call, 3);
		text_add(t, ", r4");
	}
	text_add(t, "); ");
	return 0;
}

static int output(const struct call *call, uint32_t map, uint32_t data)
{
	const struct clc *c = call->c;
	int err = bring_sized(call, data);

	if (err < 0)
		return err;
	text_add(c->t, "r0 = (u64)gpubpf_map%u_output(env, ", map);
	pointer(call, data);
	text_add(c->t, ", r%u); ", data + 1);
	return 0;
}

/* ringbuf_reserve, ringbuf_query: one number beside the map */
static int ring_number(const struct call *call, uint32_t map, const char *op)
{
	text_add(call->c->t, "r0 = (u64)gpubpf_map%u_%s(env, r2); ", map, op);
	return 0;
}

static int on_map(const struct call *call, uint32_t map)
{
	switch (call->helper->id) {
	case 1: return keyed(call, map, "lookup");
	case 2: return keyed(call, map, "update");
	case 3: return keyed(call, map, "delete");
	case 25: return output(call, map, 4);
	case 130: return output(call, map, 2);
	case 131: return ring_number(call, map, "reserve");
	}
	return ring_number(call, map, "query");
}

/* The register of the map argument, 0 if the helper takes none. */
static uint32_t map_argument(const struct gpubpf_helper *helper)
{
	for (uint32_t i = 0; i < 5; i++)
		if (helper->arg[i] == GPUBPF_ARG_MAP)
			return i + 1;
	return 0;
}

/* A map that several paths disagree about: one branch for each map that it can be. */
static int on_any_map(const struct call *call, uint32_t reg)
{
	uint32_t wants = call->helper->id <= 3 ? GPUBPF_MAP_KEYED : GPUBPF_MAP_RING;
	const struct gpubpf_unit *unit = call->c->job->unit;

	for (uint32_t i = 0; i < unit->nmaps; i++) {
		int err;

		if (!(unit->maps[i].type->flags & wants))
			continue;
		text_add(call->c->t, "if (r%u == 0x%xUL) { ", reg, GPUBPF_PTR_MAP + i);
		err = on_map(call, i);
		text_add(call->c->t, "} else ");
		if (err < 0)
			return err;
	}
	text_add(call->c->t, "r0 = 0; ");
	return 0;
}

/* helpers 503, 504, 505, 508 */
static int coordinates(const struct call *call)
{
	struct text *t = call->c->t;

	text_add(t, "u64 x[3]; ");
	text_add(t, "r0 = (u64)gpubpf_helper_%s(env, &x[0], &x[1], &x[2]); ", call->helper->name);
	for (uint32_t arg = 1; arg <= 3; arg++) {
		const struct gpubpf_access *access = argument(call, arg);
		bool stack = access->spaces & GPUBPF_SPACE_STACK, device = access->spaces & ~GPUBPF_SPACE_STACK;
		char index[48];

		if (stack && device)
			text_add(t, "if (r%u < 0x%xUL) ", arg, GPUBPF_PTR_LIMIT);
		if (stack)
			text_add(t, "GPUBPF_PRIV(gpubpf_w8a1, %s) = x[%u]; ",
				 clc_stack_index(call->c, access, arg, 0, index), arg - 1);
		if (stack && device)
			text_add(t, "else ");
		if (device)
			text_add(t, "GPUBPF_GLOB(gpubpf_w8a1, r%u) = x[%u]; ", arg, arg - 1);
	}
	return 0;
}

static int print(const struct call *call)
{
	const struct gpubpf_lower_job *job = call->c->job;
	bool printk = call->helper->id == 6;
	struct text *t = call->c->t;
	uint32_t prog = call->c->desc->progs[call->c->slot];
	int err;

	if (!job->print_ring) {
		text_add(t, "r0 = (u64)-%dL; ", EOPNOTSUPP);
		return 0;
	}
	err = printk ? bring_sized(call, 1) : bring(call, 1, argument(call, 1)->size_max);
	if (err < 0)
		return err;
	text_add(t, "r0 = (u64)gpubpf_print_%s(env, %u, ", call->helper->name, prog);
	pointer(call, 1);
	if (printk)
		text_add(t, ", r2, r3, r4, r5); ");
	else
		text_add(t, ", %uUL); ", argument(call, 1)->size_max);
	return 0;
}

static int read_arg(const struct call *call)
{
	const struct gpubpf_site_desc *desc = call->c->desc;
	uint64_t index = call->facts->konst[1];
	const struct gpubpf_param *param = index < desc->nparams ? &desc->params[index] : NULL;
	struct text *t = call->c->t;
	int err = declare(call, 4, argument(call, 4)->size_max);

	if (err < 0)
		return err;
	if (param && param->bytes_off == UINT32_MAX)
		param = NULL;
	text_add(t, "r0 = (u64)gpubpf_helper_read_arg(env, %uUL, %uUL, r3, ", param ? param->bytes_off : 0,
		 param ? param->size : 0);
	pointer(call, 4);
	text_add(t, ", r5); ");
	copy(call, 4, "r5", true);
	return 0;
}

static int end_thread(const struct call *call)
{
	if (!call->c->desc->may_end_thread)
		return gpubpf_diag_set(call->c->diag, GPUBPF_E_SIMT_EXIT, call->pc,
				       "helper exit_thread cannot be used at this site");
	text_add(call->c->t, "*ended = 1; return 0; ");
	return 0;
}

/* helpers without memory */
static int plain(const struct call *call)
{
	struct text *t = call->c->t;

	text_add(t, "r0 = (u64)gpubpf_helper_%s(env); ", call->helper->name);
	return 0;
}

static int record(const struct call *call, const char *op)
{
	text_add(call->c->t, "gpubpf_ring_%s(env, r1, r2); r0 = 0; ", op);
	return 0;
}

static int body(const struct call *call)
{
	uint32_t reg = map_argument(call->helper);

	if (reg && call->facts->map >= 0)
		return on_map(call, call->facts->map);
	if (reg)
		return on_any_map(call, reg);
	switch (call->helper->id) {
	case 6: case 501: return print(call);
	case 132: return record(call, "submit");
	case 133: return record(call, "discard");
	case 503: case 504: case 505: case 508: return coordinates(call);
	case 507: return end_thread(call);
	case 520: return read_arg(call);
	}
	return plain(call);
}

int clc_call(struct clc *c, uint32_t pc)
{
	struct call call = { c, pc, gpubpf_helper_find(c->prog->insns[pc].imm), c->prog->facts->insn[pc].call };
	int err;

	if (!call.helper || !(call.helper->flags & GPUBPF_HELPER_DEV) || !call.facts)
		return gpubpf_diag_set(c->diag, GPUBPF_E_BAD_HELPER, pc, "helper %d cannot run on a device",
				       c->prog->insns[pc].imm);
	text_add(c->t, "{ ");
	err = body(&call);
	text_add(c->t, "}\n");
	return err;
}
