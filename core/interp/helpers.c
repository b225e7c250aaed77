/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs helpers for the interpreter by calling the device library, compiled for the host. The helper's row in
 * include/gpubpf/helpers.def lists its arguments. This file checks each argument by its kind (core/model/args.def) and
 * does not use the verifier's facts.
 */
#include <errno.h>
#include <string.h>

#include "core/lower/lower.h"
#include "core/model/param.h"
#include "host.h"
#include "maps/impl.h"

/* A call of a helper, with the arguments that the device library takes. Pointers are addresses in this process. */
struct call {
	struct host *h;
	s32 id;
	const struct gpubpf_helper *helper;
	struct gpubpf_map_view view; /* the map argument, or the print ring */
	u64 arg[5];
	u64 more[5]; /* second value of an argument that passes two: the size of a text or parameter */
	/*
	 * for U64_OUT arguments: the helper writes here, and the value is copied to the program's memory, which may be
	 * unaligned
	 */
	u64 word[5];
};

static u64 get_reg(const struct call *c, int i)
{
	return c->h->vm.reg[GPUBPF_R1 + i];
}

static bool fail_argument(const struct call *c, const char *why)
{
	c->h->vm.status = GPUBPF_VM_HELPER;
	c->h->vm.address = (u32)c->id;
	c->h->why = why;
	return false;
}

/* Reads argument i as a map. Returns false if the helper does not support the map. */
static bool read_map_arg(struct call *c, int i)
{
	const struct gpubpf_interp_job *job = c->h->job;
	u64 index = get_reg(c, i) - GPUBPF_PTR_MAP;

	if (!job->arena || index >= job->unit->nmaps || job->unit->maps[index].prototype ||
	    !(job->unit->maps[index].type->ops & GPUBPF_OP_BIT(c->helper->op)))
		return fail_argument(c, "needs a map of another kind");
	c->view = (struct gpubpf_map_view){ job->arena, &job->unit->maps[index], &job->layout->maps[index] };
	return true;
}

static u64 get_arg_bytes(const struct call *c, int i, enum gpubpf_arg_size size)
{
	switch (size) {
	case GPUBPF_SIZE_KEY:
		return c->view.map->key_size;
	case GPUBPF_SIZE_VALUE:
		return c->view.map->value_size;
	case GPUBPF_SIZE_NEXT:
		return get_reg(c, i + 1);
	case GPUBPF_SIZE_WORD:
	case GPUBPF_SIZE_ITER:
		return sizeof(u64);
	case GPUBPF_SIZE_DYNPTR:
		return 2 * sizeof(u64);
	case GPUBPF_SIZE_KNOWN:
	case GPUBPF_SIZE_NONE:
		break;
	}
	return 0;
}

static bool read_memory_arg(struct call *c, int i, u64 size, bool write)
{
	u8 *p = gpubpf_interp_memory(c->h, get_reg(c, i), size, write);

	c->arg[i] = (uintptr_t)p;
	return p != NULL;
}

/* Reads a string argument up to and including its NUL, but at most as many bytes as are printed. */
static bool read_text_arg(struct call *c, int i)
{
	const u8 *end;

	do {
		end = gpubpf_interp_memory(c->h, get_reg(c, i) + c->more[i], 1, false);
		c->more[i]++;
	} while (end && *end && c->more[i] < GPUBPF_PRINT_TEXT);
	return end && read_memory_arg(c, i, c->more[i], false);
}

/* Reads an argument that is a parameter's index. A parameter whose bytes are not available reads as 0. */
static bool read_param_arg(struct call *c, int i)
{
	const struct gpubpf_interp_job *job = c->h->job;
	const struct gpubpf_param *param = get_reg(c, i) < job->nparams ? &job->params[get_reg(c, i)] : NULL;

	if (param && param->bytes_off != UINT32_MAX) {
		c->arg[i] = param->bytes_off;
		c->more[i] = param->size;
	}
	return true;
}

/*
 * Reads an argument that names a parameter of the GPU kernel. The parameter reads as 0 if there is no kernel. An
 * unknown name is an error.
 */
static bool read_named_arg(struct call *c, int i)
{
	const struct gpubpf_interp_job *job = c->h->job;
	struct gpubpf_param_read read = { 0, 0 };
	char why[240];

	if (!read_text_arg(c, i))
		return false;
	if (job->nparams &&
	    gpubpf_param_find(job->params, job->nparams, (const char *)HOST_PTR(c->arg[i]), &read, why, sizeof(why)) < 0)
		return fail_argument(c, "reads a parameter that the GPU kernel does not have");
	c->arg[i] = read.index;
	c->more[i] = (u64)read.bits;
	return true;
}

/* Removes a reserved ring-buffer record from the list of reserved records. */
static bool remove_record(struct call *c, u64 address)
{
	struct host *h = c->h;
	u32 at = 0;

	while (at < h->nrecords && h->records[at].address != address)
		at++;
	if (at == h->nrecords)
		return fail_argument(c, "needs a record that bpf_ringbuf_reserve() returned");
	h->records[at] = h->records[--h->nrecords];
	return true;
}

/* Reads an argument that must be a dynptr: an empty one, or one of accessible memory. */
static bool read_dynptr_arg(struct call *c, int i)
{
	u64 dynptr[2];

	if (!read_memory_arg(c, i, sizeof(dynptr), true))
		return false;
	memcpy(dynptr, HOST_PTR(c->arg[i]), sizeof(dynptr));
	if (c->helper->arg[i] == GPUBPF_ARG_DYNPTR_NEW || !dynptr[0])
		return true;
	return gpubpf_interp_memory(c->h, dynptr[0], dynptr[1], true) &&
	       (c->helper->arg[i] != GPUBPF_ARG_DYNPTR_RECORD || remove_record(c, dynptr[0]));
}

/* Reads an argument that is writable memory in a map value. */
static bool read_map_memory_arg(struct call *c, int i)
{
	s64 off;

	if (gpubpf_interp_where(c->h, get_reg(c, i), &off) < 0)
		return fail_argument(c, "needs memory in a map value");
	return read_memory_arg(c, i, get_reg(c, i + 1), true);
}

/* Reads an argument that is the address of a word in a map value. */
static bool read_word_arg(struct call *c, int i)
{
	s64 off;

	if (get_reg(c, i) % sizeof(u64) || gpubpf_interp_where(c->h, get_reg(c, i), &off) < 0)
		return fail_argument(c, "needs the address of an aligned word in a map value");
	return read_memory_arg(c, i, sizeof(u64), true);
}

static bool read_arg(struct call *c, int i)
{
	const struct gpubpf_map *map = c->view.map;
	const struct gpubpf_arg_row *row = gpubpf_arg_row(gpubpf_helper_arg(c->helper, i, map ? map->type : NULL));

	if (c->helper->arg[i] == GPUBPF_ARG_RECORD && !remove_record(c, get_reg(c, i)))
		return false;
	if (row->size == GPUBPF_SIZE_DYNPTR)
		return read_dynptr_arg(c, i);
	if (c->helper->arg[i] == GPUBPF_ARG_MAP_MEM)
		return read_map_memory_arg(c, i);
	if (c->helper->arg[i] == GPUBPF_ARG_MAP_WORD)
		return read_word_arg(c, i);
	switch (row->pass) {
	case GPUBPF_PASS_NOT:
		break;
	case GPUBPF_PASS_NUMBER:
		c->arg[i] = get_reg(c, i);
		break;
	case GPUBPF_PASS_IN:
		return read_memory_arg(c, i, get_arg_bytes(c, i, row->size), false);
	case GPUBPF_PASS_OUT:
		return read_memory_arg(c, i, get_arg_bytes(c, i, row->size), true);
	case GPUBPF_PASS_TEXT:
		return read_text_arg(c, i);
	case GPUBPF_PASS_PARAM:
		return read_param_arg(c, i);
	case GPUBPF_PASS_NAMED:
		return read_named_arg(c, i);
	case GPUBPF_PASS_COOKIE:
		c->arg[i] = c->h->job->prog->cookie;
		break;
	}
	return true;
}

/*
 * Generates a function for each helper from the table helpers.def; it calls the device library. PASS_<kind>(i) expands
 * to the values of argument i that read_arg() prepared.
 */
#define POINTER(i) , HOST_PTR(c->arg[i])
#define NUMBER(i) , c->arg[i]
#define PASS_NONE(i)
#define PASS_CTX(i)
#define PASS_ANY(i) NUMBER(i)
#define PASS_CTX_COOKIE(i) NUMBER(i)
#define PASS_CONST(i) NUMBER(i)
#define PASS_COST(i) NUMBER(i)
#define PASS_SIZE(i) NUMBER(i)
#define PASS_SIZE_OR_ZERO(i) NUMBER(i)
#define PASS_ALLOC_SIZE(i) NUMBER(i)
#define PASS_RECORD(i) NUMBER(i)
#define PASS_MAP_WORD(i) NUMBER(i)
#define PASS_DYNPTR(i) POINTER(i)
#define PASS_DYNPTR_NEW(i) POINTER(i)
#define PASS_DYNPTR_RECORD(i) POINTER(i)
#define PASS_MAP_MEM(i) NUMBER(i)
#define PASS_MEM_RD(i) POINTER(i)
#define PASS_MEM_WR(i) POINTER(i)
#define PASS_ITER(i) POINTER(i)
#define PASS_ITER_NEW(i) POINTER(i)
#define PASS_FMT(i) POINTER(i)
#define PASS_STR(i) POINTER(i), c->more[i]
#define PASS_NAME(i) NUMBER(i), c->more[i]
#define PASS_PARAM(i) NUMBER(i), c->more[i]
#define PASS_U64_OUT(i) , &c->word[i]
#define RETURN_INT(result) return (u64)(result)
#define RETURN_NUMBER_OR_NULL(result) return (result) ? get_reg(c, 0) : 0
#define RETURN_MEM_OR_NULL(address) return address
#define RETURN_SLICE_OR_NULL(address) return address
#define RETURN_VOID(nothing) nothing; return 0

#define CALL_ENV(name, ret, ...) \
	static u64 call_##name(struct call *c) { RETURN_##ret(gpubpf_helper_##name(&c->h->env __VA_ARGS__)); }
#define CALL_PRINT(name, ret, ...) \
	static u64 call_##name(struct call *c) \
	{ \
		const struct gpubpf_interp_job *job = c->h->job; \
\
		if (!job->arena || !gpubpf_print_view(job->arena, job->layout, &c->view)) \
			return (u64)-EOPNOTSUPP; \
		RETURN_##ret(gpubpf_helper_##name(&c->h->env, GPUBPF_LAYOUT_PASS(c->view.layout), \
						  (u32)(job->prog - job->unit->progs) __VA_ARGS__)); \
	}
#define CALL_MAP(...)
#define CALL_LOOP(...)
#define CALL_TAIL(...)
#define CALL_ENDS(...)
#define CALL_KERNEL(...)
#define GPUBPF_HELPER(id, name, class, op, level, ret, a1, a2, a3, a4, a5, declared, meaning) \
	CALL_##class(name, ret, PASS_##a1(0) PASS_##a2(1) PASS_##a3(2) PASS_##a4(3) PASS_##a5(4))
#include "gpubpf/helpers.def"

/* Calls the map operation of the helper with the prepared arguments, in order. */
static u64 call_on_map(struct call *c)
{
	bool reserves = c->helper->op == GPUBPF_OP_RESERVE || c->helper->op == GPUBPF_OP_RESERVE_DYNPTR;
	u64 arg[5], n = 0, value;
	struct record record;

	for (int i = 0; i < 5; i++)
		if (gpubpf_arg_row(c->helper->arg[i])->pass != GPUBPF_PASS_NOT)
			arg[n++] = c->arg[i];
	if (reserves && c->h->nrecords == MAX_RECORDS)
		return fail_argument(c, "is called while the program holds too many reserved records");
	value = c->view.map->type->impl->op[c->helper->op](&c->h->env, c->view.layout, arg);
	if (c->helper->op == GPUBPF_OP_RESERVE_DYNPTR)
		memcpy(&record, HOST_PTR(arg[2]), sizeof(record));
	else
		record = (struct record){ value, arg[0] };
	if (reserves && record.address)
		c->h->records[c->h->nrecords++] = record;
	return value;
}

/*
 * Begins bpf_loop() or bpf_for_each_map_elem(). The latter may visit as many elements as the map has, whatever the
 * limit of bpf_loop() (uapi/linux/bpf.h).
 */
static u64 call_loop(struct call *c)
{
	u64 n = c->view.map ? c->view.map->max_entries : get_reg(c, 0), target = get_reg(c, 1);

	if (get_reg(c, 3))
		return (u64)-EINVAL;
	if (!c->view.map && n > GPUBPF_LOOP_MAX)
		return (u64)-E2BIG;
	if (target >= c->h->vm.ninsns)
		return fail_argument(c, "needs a function of the program");
	c->h->vm.rounds = (struct gpubpf_vm_rounds){
		.n = n,
		.arg = get_reg(c, 2),
		.map = c->view.map ? get_reg(c, 0) : 0,
		.target = (u32)target,
	};
	return 0;
}

bool gpubpf_interp_element(struct host *h, struct gpubpf_vm_rounds *rounds)
{
	u32 map = (u32)(rounds->map - GPUBPF_PTR_MAP), key = (h->keys + h->vm.depth - 1) * GPUBPF_STACK_SIZE;
	u64 arg[] = { (uintptr_t)&rounds->at, (uintptr_t)(h->vm.stack + key) };
	u64 value = h->job->unit->maps[map].type->impl->op[GPUBPF_OP_FOR_EACH](&h->env, &h->job->layout->maps[map], arg);

	h->vm.reg[GPUBPF_R1] = rounds->map;
	h->vm.reg[GPUBPF_R2] = GPUBPF_PTR_STACK + key;
	h->vm.reg[GPUBPF_R3] = value;
	h->vm.reg[GPUBPF_R4] = rounds->arg;
	return value;
}

static u64 call_end(struct call *c)
{
	c->h->vm.status = GPUBPF_VM_ENDED;
	return 0;
}

/* one function for each row of helpers.def */
static u64 (*const calls[])(struct call *c) = {
#define ROW_ENV(name) call_##name,
#define ROW_PRINT(name) call_##name,
#define ROW_MAP(name) call_on_map,
#define ROW_LOOP(name) call_loop,
#define ROW_TAIL(name) NULL,
#define ROW_ENDS(name) call_end,
#define ROW_KERNEL(name) NULL,
#define GPUBPF_HELPER(id, name, class, op, level, ret, a1, a2, a3, a4, a5, declared, meaning) ROW_##class(name)
#include "gpubpf/helpers.def"
};

static u64 run(struct call *c)
{
	u32 map;
	u64 r0;

	if (!c->helper || !gpubpf_helper_runs(c->helper))
		return fail_argument(c, NULL);
	map = gpubpf_helper_map_arg(c->helper);
	if (map && !read_map_arg(c, map - 1))
		return 0;
	for (int i = 0; i < 5; i++)
		if (!read_arg(c, i))
			return 0;
	r0 = calls[c->helper - gpubpf_helper_at(0)](c);
	for (int i = 0; i < 5; i++)
		if (c->helper->arg[i] == GPUBPF_ARG_U64_OUT)
			memcpy(HOST_PTR(c->arg[i]), &c->word[i], sizeof(u64));
	return r0;
}

void gpubpf_interp_call(struct host *h, s32 id)
{
	struct call c = { .h = h, .id = id, .helper = gpubpf_helper_find((u32)id) };

	h->vm.reg[GPUBPF_R0] = run(&c);
}
