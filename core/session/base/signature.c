/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores the parameters of GPU kernels, as their images describe them. The session needs them for `kernel list`, and to
 * format kernel arguments in records of programs.
 */
#include "signature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/param.h"
#include "core/target.h"

struct gpubpf_signature {
	uint32_t n;
	struct gpubpf_typed_param param[]; /* [n]; their names and types follow in the same block */
};

static enum gpubpf_typed_how param_format(const struct gpubpf_param *p)
{
	switch (p->kind) {
	case GPUBPF_PARAM_INT:
		/* an 8-byte integer without a type name may be an address */
		return gpubpf_param_is_signed(p)   ? GPUBPF_TYPED_SIGNED :
		       p->size == 8 && !p->type[0] ? GPUBPF_TYPED_ADDRESS :
						     GPUBPF_TYPED_UNSIGNED;
	case GPUBPF_PARAM_FLOAT:
		return GPUBPF_TYPED_REAL;
	case GPUBPF_PARAM_BYTES:
		return GPUBPF_TYPED_BYTES;
	case GPUBPF_PARAM_POINTER:
	case GPUBPF_PARAM_LOCAL:
	case GPUBPF_PARAM_OPAQUE:
		break;
	}
	return GPUBPF_TYPED_ADDRESS;
}

static const char *append_text(char **at, const char *text)
{
	const char *kept = *at;

	*at = stpcpy(*at, text) + 1;
	return kept;
}

struct gpubpf_signature *gpubpf_signature_create(const struct gpubpf_param *params, uint32_t n)
{
	size_t size = sizeof(struct gpubpf_signature) + n * sizeof(struct gpubpf_typed_param);
	struct gpubpf_signature *s;
	char *at;

	for (uint32_t i = 0; i < n; i++)
		size += strlen(params[i].name) + strlen(params[i].type) + 2;
	s = malloc(size);
	if (!s)
		return NULL;
	s->n = n;
	at = (char *)&s->param[n];
	for (uint32_t i = 0; i < n; i++)
		s->param[i] = (struct gpubpf_typed_param){
			append_text(&at, params[i].name),
			append_text(&at, params[i].type),
			params[i].size,
			param_format(&params[i]),
		};
	return s;
}

struct gpubpf_signature *gpubpf_signature_copy(const struct gpubpf_typed_param *params, uint32_t n)
{
	size_t size = sizeof(struct gpubpf_signature) + n * sizeof(struct gpubpf_typed_param);
	struct gpubpf_signature *s;
	char *at;

	for (uint32_t i = 0; i < n; i++)
		size += strlen(params[i].name) + strlen(params[i].type) + 2;
	s = malloc(size);
	if (!s)
		return NULL;
	s->n = n;
	at = (char *)&s->param[n];
	for (uint32_t i = 0; i < n; i++)
		s->param[i] = (struct gpubpf_typed_param){
			append_text(&at, params[i].name),
			append_text(&at, params[i].type),
			params[i].size,
			params[i].how,
		};
	return s;
}

const struct gpubpf_typed_param *gpubpf_signature_params(const struct gpubpf_signature *s, uint32_t *n)
{
	*n = s ? s->n : 0;
	return s ? s->param : NULL;
}

void gpubpf_signature_print(const struct gpubpf_signature *s, const char *kernel, FILE *out)
{
	char declared[256];

	fprintf(out, "%s(", kernel);
	for (uint32_t i = 0; i < s->n; i++) {
		gpubpf_typed_declare(&s->param[i], i, declared, sizeof(declared));
		fprintf(out, "%s%s", i ? ", " : "", declared);
		if (!s->param[i].type[0])
			fprintf(out, ": %u bytes", s->param[i].size);
	}
	fprintf(out, ")");
}
