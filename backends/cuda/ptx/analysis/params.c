/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the parameters of a PTX kernel (PTX ISA 5.1.6.1 and 5.1.6.3). */
#include "params.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *type;
	uint8_t size, kind;
} types[] = {
	{ ".u8", 1, GPUBPF_PARAM_INT },      { ".u16", 2, GPUBPF_PARAM_INT },   { ".u32", 4, GPUBPF_PARAM_INT },
	{ ".u64", 8, GPUBPF_PARAM_INT },     { ".s8", 1, GPUBPF_PARAM_INT },    { ".s16", 2, GPUBPF_PARAM_INT },
	{ ".s32", 4, GPUBPF_PARAM_INT },     { ".s64", 8, GPUBPF_PARAM_INT },   { ".b8", 1, GPUBPF_PARAM_INT },
	{ ".b16", 2, GPUBPF_PARAM_INT },     { ".b32", 4, GPUBPF_PARAM_INT },   { ".b64", 8, GPUBPF_PARAM_INT },
	{ ".f16", 2, GPUBPF_PARAM_FLOAT },   { ".f32", 4, GPUBPF_PARAM_FLOAT }, { ".f64", 8, GPUBPF_PARAM_FLOAT },
	{ ".b128", 16, GPUBPF_PARAM_BYTES },
};

static uint64_t parse_number(const struct ptx_module *m, uint32_t token)
{
	char buf[24] = "";
	uint32_t len = m->tokens[token].len;

	if (m->tokens[token].kind != PTX_NUMBER || len >= sizeof(buf))
		return 0;
	memcpy(buf, ptx_token_text(m, token), len);
	return strtoull(buf, NULL, 0);
}

static void fill_param(const struct ptx_module *m, const struct ptx_node *node, struct gpubpf_param *param)
{
	uint32_t len = m->tokens[node->name].len;
	bool pointer = false;

	param->bytes_off = UINT32_MAX;
	memcpy(param->name, ptx_token_text(m, node->name), len < sizeof(param->name) ? len : sizeof(param->name) - 1);
	for (uint32_t t = node->first; t < node->name; t++) {
		pointer |= ptx_token_is(m, t, ".ptr");
		if (ptx_token_is(m, t, ".align") && !pointer)
			param->align = parse_number(m, t + 1);
		if (ptx_token_is(m, t, ".texref") || ptx_token_is(m, t, ".samplerref") || ptx_token_is(m, t, ".surfref"))
			param->kind = GPUBPF_PARAM_OPAQUE;
		for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
			if (!param->size && ptx_token_is(m, t, types[i].type)) {
				param->size = types[i].size;
				param->kind = types[i].kind;
			}
	}
	if (pointer)
		param->kind = GPUBPF_PARAM_POINTER;
	if (!param->align)
		param->align = param->size;
	if (node->name + 1 < node->end && ptx_token_is(m, node->name + 1, "[")) {
		param->size *= parse_number(m, node->name + 2);
		param->kind = GPUBPF_PARAM_BYTES;
	}
}

uint32_t cuda_param_node(const struct ptx_module *m, uint32_t function, uint32_t i)
{
	for (uint32_t c = m->nodes[function].child; c != PTX_NONE; c = m->nodes[c].next)
		if (m->nodes[c].kind == PTX_PARAM && !m->nodes[c].result && !i--)
			return c;
	return PTX_NONE;
}

int cuda_params(const struct ptx_module *m, uint32_t function, struct gpubpf_param **params, uint32_t *nparams)
{
	uint32_t n = 0;

	while (cuda_param_node(m, function, n) != PTX_NONE)
		n++;
	*params = calloc(n + 1, sizeof(**params));
	if (!*params)
		return -ENOMEM;
	*nparams = n;
	for (uint32_t i = 0; i < n; i++)
		fill_param(m, &m->nodes[cuda_param_node(m, function, i)], &(*params)[i]);
	return 0;
}
