/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include <errno.h>
#include <stdlib.h>

#include "fill.h"
#include "place_values.h"
#include "backends/spirv/spirv/module/named.h"

struct spv_call_sites *spv_call_sites(const struct inject *in, uint32_t function)
{
	for (uint32_t i = 0; i < in->ncalled; i++)
		if (in->called[i].function->function == function)
			return &in->called[i];
	return NULL;
}

/* Returns the index of the function's first instruction before which a call may be inserted. */
static uint32_t first_call_position(const struct gpubpf_spv *m, uint32_t function)
{
	uint32_t i = m->def[function];

	while (i < m->ninsns && !gpubpf_spv_is_executed(m, &m->insn[i]))
		i++;
	return i;
}

/*
 * Copy all words of the kernel's environment except the arguments: the launch's data, the clock offset and the twin's
 * number.
 */
static void copy_kernel_env(struct spv_fill *f)
{
	const uint32_t parts[][2] = { { 0, ENV_WORD(arg) }, { ENV_WORD(clock_offset), 1 }, { spv_twin_word(f->in), 1 } };
	uint32_t from = f->in->env[f->owner->function], p64 = f->in->p64, p8 = f->in->p8, ends[2];

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		ends[0] = spv_emit_unary(f->in, f->body, SpvOpBitcast, p8,
					 spv_element_pointer(f->in, f->body, p64, f->env, parts[i][0]));
		ends[1] = spv_emit_unary(f->in, f->body, SpvOpBitcast, p8,
					 spv_element_pointer(f->in, f->body, p64, from, parts[i][0]));
		spv_copy_bytes(f->in, f->body, ends[0], ends[1], 8 * parts[i][1]);
	}
}

/* If the function returns a struct or array, declare a variable for it, so that BPF programs can read its bytes. */
static void declare_result(struct spv_call_sites *c, struct spv_fill *f)
{
	const struct gpubpf_spv *m = f->in->b.m;
	uint32_t type = gpubpf_spv_type_of(m, c->function->function), align;
	const struct gpubpf_spv_insn *t = gpubpf_spv_def(m, type);

	if (t && (t->op == SpvOpTypeStruct || t->op == SpvOpTypeArray) && gpubpf_spv_layout(m, type, &c->size, &align))
		c->result_bytes = spv_new_bytes(f, type, c->size, &c->result);
}

static int add_function(struct inject *in, const struct gpubpf_spv_kernel *function, const struct spv_body *first)
{
	struct spv_call_sites *c = &in->called[in->ncalled++];
	struct spv_fill fill = { .in = in,
				 .variables = &c->variables,
				 .body = &c->body,
				 .owner = function,
				 .site = &in->job->sites[first->place.site] };
	uint32_t *param = calloc(function->info.nparams + 1, sizeof(*param));

	if (!param)
		return -ENOMEM;
	for (uint32_t i = 0; i < function->info.nparams; i++)
		param[i] = gpubpf_spv_word(in->b.m, &in->b.m->insn[function->first_param + i], 2);
	for (uint32_t i = 0; i < in->nbodies; i++)
		if (in->body[i].place.function == function)
			gpubpf_env_use(in->job, in->body[i].place.site, &fill.use);
	fill.param = param;
	*c = (struct spv_call_sites){ .function = function, .top = first_call_position(in->b.m, function->function) };
	c->env = fill.env = spv_new_env(&fill);
	copy_kernel_env(&fill);
	spv_fill_args(&fill);
	declare_result(c, &fill);
	free(param);
	return c->variables.failed || c->body.failed ? -ENOMEM : 0;
}

int spv_calls_init(struct inject *in)
{
	int err = 0;

	in->called = calloc(in->nbodies + 1, sizeof(*in->called));
	if (!in->called)
		return -ENOMEM;
	for (uint32_t i = 0; i < in->nbodies && !err; i++) {
		const struct gpubpf_spv_kernel *function = in->body[i].place.function;

		if (function && !spv_call_sites(in, function->function))
			err = add_function(in, function, &in->body[i]);
	}
	return err;
}

void spv_calls_finish(struct inject *in)
{
	for (uint32_t i = 0; i < in->ncalled; i++) {
		free(in->called[i].variables.data);
		free(in->called[i].body.data);
	}
	free(in->called);
}
