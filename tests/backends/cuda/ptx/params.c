/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of a PTX kernel: size, alignment and kind of each type, of arrays, and of pointers (PTX ISA 5.1.6). */
#include "backends/cuda/ptx/analysis/params.h"

#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "tests/tap.h"

static const char text[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry kernel(.param .u64 .ptr .global .align 1 to, .param .u64 number, .param .u8 byte,\n"
	"\t.param .s16 half, .param .f32 single, .param .f64 real, .param .b32 bits, .param .align 8 .b8 pair[24],\n"
	"\t.param .align 16 .b32 vector[4], .param .b32 plain[3], .param .u64 .texref texture)\n{\n\tret;\n}\n";

static const struct {
	const char *name;
	uint32_t size, align, kind;
} wanted[] = {
	{ "to", 8, 8, GPUBPF_PARAM_POINTER },      { "number", 8, 8, GPUBPF_PARAM_INT },
	{ "byte", 1, 1, GPUBPF_PARAM_INT },        { "half", 2, 2, GPUBPF_PARAM_INT },
	{ "single", 4, 4, GPUBPF_PARAM_FLOAT },    { "real", 8, 8, GPUBPF_PARAM_FLOAT },
	{ "bits", 4, 4, GPUBPF_PARAM_INT },        { "pair", 24, 8, GPUBPF_PARAM_BYTES },
	{ "vector", 16, 16, GPUBPF_PARAM_BYTES },  { "plain", 12, 4, GPUBPF_PARAM_BYTES },
};
#define NWANTED (sizeof(wanted) / sizeof(wanted[0]))

int main(void)
{
	struct gpubpf_param *params = NULL;
	struct gpubpf_diag diag;
	struct ptx_module m;
	uint32_t n = 0;

	gpubpf_diag_init(&diag);
	if (!ok(!ptx_parse(text, sizeof(text) - 1, &m, &diag), "it is PTX: %s", diag.code ? diag.what : ""))
		return done();
	if (!ok(!cuda_params(&m, ptx_find_function(&m, "kernel"), &params, &n), "they are found"))
		return done();
	ok(n == NWANTED + 1, "%u of them", n);
	for (uint32_t i = 0; i < n && i < NWANTED; i++)
		ok(!strcmp(params[i].name, wanted[i].name) && params[i].size == wanted[i].size &&
		   params[i].align == wanted[i].align && params[i].kind == wanted[i].kind, "%s: %u bytes, aligned to %u, kind %u",
		   params[i].name, params[i].size, params[i].align, params[i].kind);
	ok(n > NWANTED && params[NWANTED].kind == GPUBPF_PARAM_OPAQUE, "a texture is opaque");
	free(params);
	ptx_finish(&m);
	return done();
}
