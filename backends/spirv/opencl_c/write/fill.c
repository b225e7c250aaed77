/* SPDX-License-Identifier: Apache-2.0 */
#include "fill.h"

#include "maps/device/devlib.h"

static const char *word_of(uint32_t size)
{
	return size == 1 ? "uchar" : size == 2 ? "ushort" : size == 4 ? "uint" : "ulong";
}

/*
 * Write code that stores the first 8 bytes of a parameter in env.arg. The code uses a union, because the sizes differ
 * and compilers assume that pointers of different types do not alias. The code names the type, because NVIDIA's
 * compiler treats __typeof__(value) as a type in an address space.
 */
static void write_bits(const struct cl_fill *f, uint32_t i, const struct gpubpf_param *p, const char *type)
{
	uint32_t n = p->size < 8 ? p->size : 8;
	bool whole = n == 1 || n == 2 || n == 4 || n == 8;

	fprintf(f->out, "\tunion { %s b%s; %s v; } gpubpf_u%u; gpubpf_u%u.v = gpubpf_p%u;\n",
		whole ? word_of(n) : "uchar", whole ? "" : "[8]", type, i, i, i);
	fprintf(f->out, "\t%s.arg[%u] = ", f->env, i);
	if (whole) {
		fprintf(f->out, "gpubpf_u%u.b;\n", i);
		return;
	}
	for (uint32_t k = 0; k < n; k++)
		fprintf(f->out, "%s(ulong)gpubpf_u%u.b[%u] << %u", k ? " | " : "", i, k, 8 * k);
	fprintf(f->out, ";\n");
}

static void write_arg(const struct cl_fill *f, uint32_t i)
{
	const struct gpubpf_param *p = &f->owner->info.params[i];

	switch (p->kind) {
	case GPUBPF_PARAM_INT:
		fprintf(f->out, "\t%s.arg[%u] = (ulong)(%s)gpubpf_p%u;\n", f->env, i, word_of(p->size), i);
		return;
	case GPUBPF_PARAM_POINTER:
	case GPUBPF_PARAM_LOCAL:
		fprintf(f->out, "\t%s.arg[%u] = (ulong)gpubpf_p%u;\n", f->env, i, i);
		return;
	case GPUBPF_PARAM_FLOAT:
	case GPUBPF_PARAM_BYTES:
		write_bits(f, i, p, f->owner->unqualified[i]);
		return;
	case GPUBPF_PARAM_OPAQUE:
		fprintf(f->out, "\t%s.arg[%u] = 0;\n", f->env, i);
		return;
	}
}

/* Write code that copies one parameter to the buffer that helper 520 reads. */
static void write_bytes(const struct cl_fill *f, uint32_t i, const struct gpubpf_param *p)
{
	bool pointer = p->kind == GPUBPF_PARAM_POINTER || p->kind == GPUBPF_PARAM_LOCAL;

	fprintf(f->out, "\tunion { uchar b[%u]; %s v; } gpubpf_c%u; gpubpf_c%u.v = %sgpubpf_p%u;\n", p->size,
		pointer ? "ulong" : f->owner->unqualified[i], i, i, pointer ? "(ulong)" : "", i);
	fprintf(f->out,
		"\tfor (uint gpubpf_i = 0; gpubpf_i < %u; gpubpf_i++)"
		" gpubpf_bytes[%u + gpubpf_i] = gpubpf_c%u.b[gpubpf_i];\n",
		p->size, p->bytes_off, i);
}

/* Write code that copies the parameters to the buffer of helper 520, at the offsets that the site assigns. */
static void write_arg_bytes(const struct cl_fill *f)
{
	const struct gpubpf_site_desc *site = f->site;
	uint32_t size = gpubpf_env_bytes(&f->use, site);

	if (!size) {
		fprintf(f->out, "\t%s.arg_bytes = 0;\n", f->env);
		return;
	}
	fprintf(f->out, "\tuchar gpubpf_bytes[%u] __attribute__((aligned(16)));\n", size);
	for (uint32_t i = 0; i < site->nparams && i < f->owner->info.nparams; i++)
		if (gpubpf_env_reads_bytes(&f->use, site, i))
			write_bytes(f, i, &site->params[i]);
	fprintf(f->out, "\t%s.arg_bytes = gpubpf_bytes;\n", f->env);
}

void gpubpf_cl_fill(const struct cl_fill *f)
{
	for (uint32_t i = 0; i < GPUBPF_ENV_ARGS; i++)
		if (f->use.args >> i & 1 && i < f->owner->info.nparams)
			write_arg(f, i);
		else if (f->use.args >> i & 1)
			fprintf(f->out, "\t%s.arg[%u] = 0;\n", f->env, i);
	write_arg_bytes(f);
}
