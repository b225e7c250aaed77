/* SPDX-License-Identifier: Apache-2.0 */
#include "called.h"

#include <string.h>

#include "core/lower/ctx.h"
#include "fill.h"

void gpubpf_call_wrapper_head(const struct gpubpf_weave *w, uint32_t function, FILE *out)
{
	const struct gpubpf_cl_function *f = &w->unit->function[function];

	fprintf(out, "GPUBPF_STATIC %s ", f->result_type ? f->result_type : "void");
	gpubpf_weave_name(w, function, out);
	fprintf(out, "(__private struct gpubpf_at *gpubpf_from");
	for (uint32_t i = 0; i < f->signature->info.nparams; i++)
		fprintf(out, strstr(f->signature->type[i], "(*") ? ", __typeof__(%s) gpubpf_p%u" : ", %s gpubpf_p%u",
			f->signature->type[i], i);
	fprintf(out, ")");
}

static void put_call(const struct gpubpf_weave *w, FILE *out)
{
	const struct gpubpf_cl_function *f = &w->unit->function[w->function];
	uint32_t n = f->signature->info.nparams;

	if (w->copied[w->function])
		gpubpf_weave_copy_name(w, w->function, out);
	else
		fputs(f->name, out);
	fprintf(out, w->copied[w->function] ? n ? "(gpubpf_from, " : "(gpubpf_from" : "(");
	for (uint32_t i = 0; i < n; i++)
		fprintf(out, i ? ", gpubpf_p%u" : "gpubpf_p%u", i);
	fprintf(out, ");\n");
}

/* Store the function's result in the context, in the same representation as an argument (include/gpubpf/ctx.h). */
static void put_result(const struct gpubpf_weave *w, FILE *out)
{
	const struct gpubpf_cl_function *f = &w->unit->function[w->function];
	uint32_t word = ctx_word_of("result", GPUBPF_SITE_CALL_EXIT), size = f->result.size < 8 ? f->result.size : 8;

	if (!f->result_type || f->result.kind == GPUBPF_PARAM_OPAQUE)
		fprintf(out, "\tgpubpf_here.word[%u] = 0;\n", word);
	else if (f->result.kind == GPUBPF_PARAM_POINTER || f->result.kind == GPUBPF_PARAM_LOCAL)
		fprintf(out, "\tgpubpf_here.word[%u] = (ulong)gpubpf_v;\n", word);
	else
		fprintf(out,
			"\t{ union { ulong w; %s v; } gpubpf_u; gpubpf_u.w = 0; gpubpf_u.v = gpubpf_v;"
			" gpubpf_here.word[%u] = gpubpf_u.w & %lluul; }\n",
			f->result_type, word, size < 8 ? (1ull << 8 * size) - 1 : ~0ull);
}

static void put_fill(const struct gpubpf_weave *w, FILE *out)
{
	const struct cl_call_sites *called = &w->called[w->function];
	struct cl_fill fill = { .out = out,
				.owner = w->unit->function[w->function].signature,
				.env = "gpubpf_here.env",
				.site = &w->job->sites[called->call != UINT32_MAX ? called->call : called->call_exit] };

	gpubpf_env_use(w->job, called->call, &fill.use);
	gpubpf_env_use(w->job, called->call_exit, &fill.use);
	gpubpf_cl_fill(&fill);
}

void gpubpf_call_wrapper_write(const struct gpubpf_weave *w, FILE *out)
{
	const struct gpubpf_cl_function *f = &w->unit->function[w->function];
	const uint32_t sites[] = { w->called[w->function].call, w->called[w->function].call_exit };

	for (size_t i = 0; i < sizeof(sites) / sizeof(*sites); i++)
		if (sites[i] != UINT32_MAX)
			fprintf(out, "int gpubpf_site_%u(__private const struct gpubpf_env *);\n", sites[i]);
	gpubpf_call_wrapper_head(w, w->function, out);
	fprintf(out, "\n{\n\tstruct gpubpf_at gpubpf_here;\n\tgpubpf_here.env = gpubpf_from->env;\n");
	put_fill(w, out);
	if (sites[0] != UINT32_MAX)
		fprintf(out, "\tgpubpf_site_%u(&gpubpf_here.env);\n", sites[0]);
	fprintf(out, "\t");
	if (f->result_type)
		fprintf(out, "%s gpubpf_v = ", f->result_type);
	put_call(w, out);
	if (sites[1] != UINT32_MAX) {
		put_result(w, out);
		fprintf(out, "\tgpubpf_site_%u(&gpubpf_here.env);\n", sites[1]);
	}
	fprintf(out, f->result_type ? "\treturn gpubpf_v;\n}\n" : "}\n");
}
