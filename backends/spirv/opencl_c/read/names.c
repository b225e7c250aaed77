/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"

#include <stddef.h>
#include <string.h>

/*
 * The kind of value that replaces a name. NAME: an array of characters with the function's name. STRING: a pointer to
 * the function's name. PRETTY: an array with the value of __PRETTY_FUNCTION__.
 */
enum { NAME, STRING, PRETTY };

static const struct {
	const char *macro, *parameters;
	int kind;
} macros[] = {
	{ "__func__", "", NAME },
	{ "__FUNCTION__", "", NAME },
	{ "__builtin_FUNCTION", "()", STRING },
	{ "__PRETTY_FUNCTION__", "", PRETTY },
};

#define NMACROS (sizeof(macros) / sizeof(*macros))

void gpubpf_names_type(const struct cl_names *n, FILE *out)
{
	fprintf(out, "\ttypedef __constant const char gpubpf_name[%zu];\n", strlen(n->name) + 1);
	if (n->pretty)
		fprintf(out, "\ttypedef __constant const char gpubpf_pretty[%zu];\n", strlen(n->pretty) + 1);
}

static void define_name(const struct cl_names *n, size_t i, FILE *out)
{
	static const char *const form[] = { [NAME] = "(*(gpubpf_name *)&\"%s\")\n",
					    [STRING] = "(&\"%s\"[0])\n",
					    [PRETTY] = "(*(gpubpf_pretty *)&\"%s\")\n" };

	fprintf(out, "#pragma push_macro(\"%s\")\n#ifndef %s\n#define %s%s ", macros[i].macro, macros[i].macro,
		macros[i].macro, macros[i].parameters);
	fprintf(out, form[macros[i].kind], macros[i].kind == PRETTY ? n->pretty : n->name);
	fprintf(out, "#endif\n");
}

void gpubpf_names_define(const struct cl_names *n, FILE *out)
{
	for (size_t i = 0; i < NMACROS; i++)
		if (macros[i].kind != PRETTY || n->pretty)
			define_name(n, i, out);
}

void gpubpf_names_undefine(const struct cl_names *n, FILE *out)
{
	for (size_t i = 0; i < NMACROS; i++)
		if (macros[i].kind != PRETTY || n->pretty)
			fprintf(out, "#pragma pop_macro(\"%s\")\n", macros[i].macro);
}

/*
 * The generated check is the value of an enum constant, because the compiler must evaluate it. OpenCL C has no other
 * constant expression that can read the characters of a string.
 */
void gpubpf_names_check(const struct cl_names *n, FILE *out)
{
	fprintf(out, "{ enum { gpubpf_other_pretty_function = 1 / (sizeof(__PRETTY_FUNCTION__) == %zu",
		strlen(n->pretty) + 1);
	for (size_t i = 0; n->pretty[i]; i++)
		fprintf(out, " && __PRETTY_FUNCTION__[%zu] == '%c'", i, n->pretty[i]);
	fprintf(out, ") }; }\n");
}
