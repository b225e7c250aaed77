/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the arguments of a GPU kernel, with the names and types of its parameters if they are known. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/load/load.h"
#include "typed.h"

/* describes the parameter of an argument if the GPU kernel's parameters are unknown */
static const struct gpubpf_typed_param unknown = { "", "", 8, GPUBPF_TYPED_ADDRESS };

void gpubpf_typed_declare(const struct gpubpf_typed_param *param, uint32_t i, char *buf, size_t size)
{
	size_t end = strlen(param->type);
	bool star = end && param->type[end - 1] == '*';
	char number[16];

	snprintf(number, sizeof(number), "arg%u", i);
	snprintf(buf, size, "%s%s%s", param->type, end && !star ? " " : "", param->name[0] ? param->name : number);
}

/* Sign-extends an argument from `size` bytes. The context holds it zero-extended. */
static int64_t sign_extend(uint64_t v, uint32_t size)
{
	uint32_t shift = size && size < 8 ? 64 - 8 * size : 0;

	return (int64_t)(v << shift) >> shift;
}

static double convert_real(uint64_t bits, uint32_t size)
{
	union {
		uint64_t bits;
		double d;
		float f;
	} v = { .bits = bits };

	return size == 4 ? (double)v.f : v.d;
}

static void put_value(FILE *out, const struct gpubpf_typed_param *p, uint64_t v)
{
	if (!p->size)
		fprintf(out, "?");
	else if (p->how == GPUBPF_TYPED_SIGNED)
		fprintf(out, "%" PRId64, sign_extend(v, p->size));
	else if (p->how == GPUBPF_TYPED_UNSIGNED)
		fprintf(out, "%" PRIu64, v);
	else if (p->how == GPUBPF_TYPED_REAL && p->size >= 4)
		fprintf(out, "%.9g", convert_real(v, p->size));
	else
		fprintf(out, "0x%" PRIx64 "%s", v, p->how == GPUBPF_TYPED_BYTES && p->size > 8 ? "..." : "");
}

/* Writes a GPU kernel and its arguments, as in scale(float *x = 0x7f0012340000, unsigned n = 1000). */
void typed_args_text(struct typed_writer *w, const char *name, const char *kernel,
		     const struct gpubpf_typed_param *params, const uint64_t *value, uint32_t n)
{
	char *text = NULL, declared[256];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out) {
		w->bad = true;
		return;
	}
	fprintf(out, "%s(", kernel);
	for (uint32_t i = 0; i < n; i++) {
		gpubpf_typed_declare(params ? &params[i] : &unknown, i, declared, sizeof(declared));
		fprintf(out, "%s%s = ", i ? ", " : "", declared);
		put_value(out, params ? &params[i] : &unknown, value[i]);
	}
	fprintf(out, ")");
	if (fclose(out) == EOF || !text)
		w->bad = true;
	else
		w->ops->word(w, name, text);
	free(text);
}

static void write_json_value(struct typed_writer *w, const struct gpubpf_typed_param *p, uint64_t v)
{
	char text[32];

	if (!p->size)
		return;
	if (p->how == GPUBPF_TYPED_SIGNED || p->how == GPUBPF_TYPED_UNSIGNED) {
		bool is_signed = p->how == GPUBPF_TYPED_SIGNED;

		w->ops->integer(w, "value", is_signed ? (uint64_t)sign_extend(v, p->size) : v, is_signed);
	} else if (p->how == GPUBPF_TYPED_REAL && p->size >= 4) {
		w->ops->real(w, "value", convert_real(v, p->size));
	} else {
		snprintf(text, sizeof(text), "0x%" PRIx64, v);
		w->ops->word(w, "value", text);
	}
}

void typed_args_json(struct typed_writer *w, const char *name, const char *kernel,
		     const struct gpubpf_typed_param *params, const uint64_t *value, uint32_t n)
{
	w->ops->open(w, name, false);
	w->ops->word(w, "kernel", kernel);
	w->ops->open(w, "args", true);
	for (uint32_t i = 0; i < n; i++) {
		const struct gpubpf_typed_param *p = params ? &params[i] : &unknown;

		w->ops->open(w, "", false);
		w->ops->word(w, "name", p->name);
		w->ops->word(w, "type", p->type);
		write_json_value(w, p, value[i]);
		w->ops->close(w);
	}
	w->ops->close(w);
	w->ops->close(w);
}
