/* SPDX-License-Identifier: Apache-2.0 */
#include "dialect.h"

#include <clang-c/Index.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"

/* a parsed answer */
struct answer {
	const char **value;   /* definition of each of the query's names; NULL if the name is not a macro */
	const char *branches; /* the numbers of the #if branches that the compiler takes, each followed by "." */
};

/* -- answers -- */

/* Find the entry for name i in an answer, at or after `at`. Returns the position of "@i=" or "@i-", or NULL. */
static const char *find_entry(const char *at, uint32_t i)
{
	char mark[16];
	int n = snprintf(mark, sizeof(mark), "@%u", i);

	while ((at = strstr(at, mark)) && at[n] != '=' && at[n] != '-')
		at++;
	return at;
}

/* Parse a compiler's answer to a query. Returns false if the text does not answer this query, or is truncated. */
static bool read_answer(const char *text, const struct cl_query *q, struct gpubpf_pool *pool, struct answer *a)
{
	const char *end, *at = text ? find_entry(text, 0) : NULL;

	a->value = gpubpf_pool_alloc(pool, q->nnames, sizeof(*a->value));
	for (uint32_t i = 0; a->value && at && i < q->nnames; i++) {
		const char *next = i + 1 < q->nnames ? find_entry(at, i + 1) : strstr(at, "@@");
		const char *value = strpbrk(at, "=-");

		if (next && *value == '=')
			a->value[i] = gpubpf_pool_strndup(pool, value + 1, next - value - 1);
		at = next;
	}
	end = at ? strstr(at + 2, "@@") : NULL;
	a->branches = end ? gpubpf_pool_strndup(pool, at + 2, end - at - 2) : NULL;
	return a->value && a->branches;
}

static const char *find_value(const struct cl_query *q, const struct answer *a, const char *name)
{
	for (uint32_t i = 0; i < q->nnames; i++)
		if (!strcmp(q->name[i].text, name))
			return a->value[i];
	return NULL;
}

/* -- clang's answer -- */

static struct CXUnsavedFile *list_files(const struct cl_query *q, const struct cl_dialect *d, struct gpubpf_pool *pool)
{
	struct CXUnsavedFile *files = gpubpf_pool_alloc(pool, q->nheaders + 2, sizeof(*files));

	if (!files)
		return NULL;
	files[0] = (struct CXUnsavedFile){ GPUBPF_CL_FOLDER "/gpubpf-query.cl", q->text, strlen(q->text) };
	files[1] = (struct CXUnsavedFile){ GPUBPF_CL_MACROS, d->macros, strlen(d->macros) };
	for (uint32_t i = 0; i < q->nheaders; i++) {
		char *name = gpubpf_pool_alloc(pool, strlen(q->header[i].name) + sizeof(GPUBPF_CL_FOLDER) + 2, 1);

		if (!name)
			return NULL;
		sprintf(name, "%s/%s", GPUBPF_CL_FOLDER, q->header[i].name);
		files[i + 2] = (struct CXUnsavedFile){ name, q->header[i].data, q->header[i].size };
	}
	return files;
}

/*
 * The _Static_assert in the query fails, and the message of clang contains the answer. Returns this message, or NULL if
 * there is none.
 */
static const char *find_message(CXTranslationUnit tu, struct gpubpf_pool *pool)
{
	const char *found = NULL;

	for (unsigned i = 0; !found && i < clang_getNumDiagnostics(tu); i++) {
		CXDiagnostic d = clang_getDiagnostic(tu, i);
		CXString s = clang_getDiagnosticSpelling(d);
		const char *at = strstr(clang_getCString(s), "gpubpf:");

		found = at ? gpubpf_pool_strndup(pool, at, strlen(at)) : NULL;
		clang_disposeString(s);
		clang_disposeDiagnostic(d);
	}
	return found;
}

/* Returns clang's answer to the query, or NULL if clang gives no answer. */
static const char *query_clang(const struct cl_query *q, const struct cl_dialect *d,
			       const struct gpubpf_device_caps *caps, struct gpubpf_pool *pool)
{
	struct gpubpf_cl_source source = { .text = q->text,
					   .size = strlen(q->text),
					   .options = q->options,
					   .headers = q->header,
					   .nheaders = q->nheaders + 1,
					   .dialect = d };
	struct CXUnsavedFile *files = list_files(q, d, pool);
	struct gpubpf_cl_args args;
	CXTranslationUnit tu;
	const char *found = NULL;
	CXIndex index;

	if (!files || gpubpf_cl_make_args(&source, caps, pool, &args) < 0)
		return NULL;
	index = clang_createIndex(0, 0);
	if (clang_parseTranslationUnit2(index, files[0].Filename, args.arg, args.n, files, q->nheaders + 2,
					CXTranslationUnit_KeepGoing, &tu) == CXError_Success) {
		found = find_message(tu, pool);
		clang_disposeTranslationUnit(tu);
	}
	clang_disposeIndex(index);
	return found;
}

/* -- the language -- */

/*
 * Returns clang's -cl-std option for the language of the device's compiler, or NULL if that language is unknown. For
 * OpenCL C after 3.0 this is the option for 3.0, the latest version that clang 22 supports.
 */
static const char *find_standard(const struct cl_query *q, const struct answer *a)
{
	static const struct {
		int version;
		const char *option;
	} c[] = { { 300, "-cl-std=CL3.0" },
		  { 200, "-cl-std=CL2.0" },
		  { 120, "-cl-std=CL1.2" },
		  { 110, "-cl-std=CL1.1" },
		  { 100, "-cl-std=CL1.0" } };
	const char *cpp = find_value(q, a, "__OPENCL_CPP_VERSION__"), *version = find_value(q, a, "__OPENCL_C_VERSION__");

	if (cpp)
		return atoi(cpp) >= 202100 ? "-cl-std=CLC++2021" : "-cl-std=CLC++1.0";
	for (size_t i = 0; version && i < sizeof(c) / sizeof(*c); i++)
		if (atoi(version) >= c[i].version)
			return c[i].option;
	return NULL;
}

/*
 * Optional features that change the meaning of the same text: overloads, and address spaces of pointers and variables.
 * For some features, clang also requires the features in needs[] (clang/lib/Basic/OpenCLOptions.cpp). All other
 * features are enabled, because a source that the device's compiler accepts uses only features of the device.
 */
static const struct {
	const char *name, *needs[2];
} features[] = {
	{ "__opencl_c_generic_address_space" },
	{ "__opencl_c_program_scope_global_variables" },
	{ "__opencl_c_pipes", { "__opencl_c_generic_address_space" } },
	{ "__opencl_c_device_enqueue", { "__opencl_c_generic_address_space", "__opencl_c_program_scope_global_variables" } },
};

/*
 * Returns clang's option -cl-ext. The option lists features only for OpenCL C 3.0 and C++ for OpenCL 2021, where
 * features are optional. OpenCL C 2.0 always has them.
 */
static const char *list_features(const struct cl_query *q, const struct answer *a, const char *standard,
				 struct gpubpf_pool *pool)
{
	static const char all[] = "-cl-ext=+all";
	char *list = gpubpf_pool_alloc(pool, sizeof(features) / sizeof(*features) + 1, 64), *to = list;

	if (list)
		to = stpcpy(list, all);
	if (!list || (strcmp(standard, "-cl-std=CL3.0") && strcmp(standard, "-cl-std=CLC++2021")))
		return list;
	for (size_t i = 0; i < sizeof(features) / sizeof(*features); i++) {
		bool has = find_value(q, a, features[i].name);

		for (size_t k = 0; k < 2 && features[i].needs[k]; k++)
			has = has && find_value(q, a, features[i].needs[k]);
		to += sprintf(to, ",%c%s", has ? '+' : '-', features[i].name);
	}
	return list;
}

/* -- macros -- */

/* Does the value consist only of numbers and operators? Such a value means the same to both compilers. */
static bool is_numeric(const char *value)
{
	bool word = false;

	for (; *value; value++) {
		if (!isalnum((unsigned char)*value) && !strchr("_. ()+-*/<>|&~", *value))
			return false;
		if ((isalpha((unsigned char)*value) || *value == '_') && !word)
			return false;
		word = isalnum((unsigned char)*value) || *value == '_' || *value == '.';
	}
	return true;
}

static bool is_position_name(const struct cl_name *name)
{
	return !strcmp(name->text, "__LINE__") || !strcmp(name->text, "__COUNTER__");
}

/*
 * Write directives that give clang the device compiler's definition of a name, if the two definitions differ and the
 * source uses the name.
 */
static void write_macro(FILE *out, const struct cl_name *name, const char *device, const char *clang)
{
	if (!name->in_source || is_position_name(name) || (device && clang && !strcmp(device, clang)) ||
	    (!device && !clang))
		return;
	if (device && is_numeric(device))
		fprintf(out, "#undef %s\n#define %s %s\n", name->text, name->text, device);
	else if (!device && name->tested)
		fprintf(out, "#undef %s\n", name->text);
	/*
	 * The device's definition is internal to the vendor's compiler. The directive only makes the macro defined for
	 * clang.
	 */
	else if (device && !clang && name->tested)
		fprintf(out, "#define %s %s\n", name->text, name->text);
}

static const char *write_macros(const struct cl_query *q, const struct answer *device, const struct answer *clang,
				struct gpubpf_pool *pool)
{
	char *text = NULL;
	const char *result;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (uint32_t i = 0; i < q->nnames; i++)
		write_macro(out, &q->name[i], device->value[i], clang->value[i]);
	if (fclose(out))
		text[0] = 0;
	result = gpubpf_pool_strndup(pool, text, size);
	free(text);
	return result;
}

/* -- branches -- */

/* Returns the number of the first branch that only one of the two compilers takes, or q->nbranches if there is none. */
static uint32_t find_first_difference(const struct cl_query *q, const char *a, const char *b)
{
	while (*a && *b && atoi(a) == atoi(b)) {
		a += strcspn(a, ".") + (strchr(a, '.') != NULL);
		b += strcspn(b, ".") + (strchr(b, '.') != NULL);
	}
	if (!*a || (*b && atoi(b) < atoi(a)))
		a = b;
	return (uint32_t)atoi(a) < q->nbranches ? (uint32_t)atoi(a) : q->nbranches;
}

static const char *describe_difference(struct gpubpf_pool *pool, const struct cl_query *q, uint32_t branch)
{
	uint32_t line = branch < q->nbranches ? q->branch[branch].line : 0;
	const char *header = line ? q->branch[branch].header : NULL;
	char *text = gpubpf_pool_alloc(pool, 230, 1);

	if (text && header)
		snprintf(text, 230,
			 "the device's compiler finds '%.60s', but clang 22 does not (line %u); pass the header's "
			 "folder with -I",
			 header, line);
	else if (text)
		snprintf(text, 230,
			 "the device's compiler takes another branch of #if than clang 22 (line %u); define the macro "
			 "that the #if tests with -D",
			 line);
	return text;
}

static const char *describe_unknown(struct gpubpf_pool *pool, const char *why)
{
	char *text = gpubpf_pool_alloc(pool, 230, 1);

	if (text)
		snprintf(text, 230,
			 "the branches of #if that the device's compiler takes are unknown (%.90s); build from preprocessed "
			 "source",
			 why);
	return text;
}

/*
 * Returns true if the compilers may take different branches because of __LINE__ or __COUNTER__. In a query, __COUNTER__
 * has other values than in the source. The compilers take the same branches if all macros that are tested together with
 * __COUNTER__ have equal values. Lines have the same numbers in the query as in the source.
 */
static bool tests_differing_values(const struct cl_query *q, const struct answer *a, const struct answer *b)
{
	for (uint32_t i = 0; i < q->nnames; i++) {
		bool same = a->value[i] && b->value[i] ? !strcmp(a->value[i], b->value[i]) : a->value[i] == b->value[i];

		if (!same && (q->name[i].with_counter || is_position_name(&q->name[i])))
			return true;
	}
	return false;
}

/* Returns a header that the device's compiler no longer finds, although the build of the program found it, or NULL. */
static const char *find_missing_header(const struct cl_query *q, const char *branches)
{
	for (; *branches; branches += strcspn(branches, ".") + (strchr(branches, '.') != NULL)) {
		uint32_t i = (uint32_t)atoi(branches);

		if (i < q->nbranches && q->branch[i].header && !q->branch[i].found)
			return q->branch[i].header;
	}
	return NULL;
}

/* -- comparison -- */

static int compare_answers(const struct cl_query *q, const struct answer *device, const struct gpubpf_device_caps *caps,
			   struct gpubpf_pool *pool, struct cl_dialect *d)
{
	struct answer clang;

	if (!read_answer(query_clang(q, d, caps, pool), q, pool, &clang)) {
		d->differs = q->nbranches ? describe_unknown(pool, "clang 22 reported no macros") : NULL;
		return 0;
	}
	d->macros = write_macros(q, device, &clang, pool);
	if (!d->macros)
		return -ENOMEM;
	if (d->macros[0] && !read_answer(query_clang(q, d, caps, pool), q, pool, &clang))
		d->differs = describe_unknown(pool, "clang 22 reported no macros");
	else if (strcmp(device->branches, clang.branches))
		d->differs = describe_difference(pool, q, find_first_difference(q, device->branches, clang.branches));
	else if (tests_differing_values(q, device, &clang))
		d->differs = describe_unknown(
			pool, "it tests __LINE__ or __COUNTER__, and macros whose values differ between the compilers");
	return 0;
}

int gpubpf_cl_dialect(const struct gpubpf_cl_source *source, const char *answer, const struct gpubpf_device_caps *caps,
		      struct gpubpf_pool *pool, struct cl_dialect *dialect, struct gpubpf_diag *diag)
{
	struct cl_query q;
	struct answer device;
	const char *gone;
	int err = gpubpf_cl_query(source, pool, &q);

	*dialect = (struct cl_dialect){ .features = "", .macros = "" };
	if (err < 0)
		return err;
	if (answer[0] == '!' || !read_answer(answer, &q, pool, &device)) {
		dialect->differs = q.nbranches ? describe_unknown(pool, answer[0] == '!' ?
										answer + 1 :
										"the compiler's answer is truncated") :
						 NULL;
		return 0;
	}
	gone = find_missing_header(&q, device.branches);
	if (gone)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "'%.200s'" GPUBPF_CL_HEADER_MISSING, gone);
	dialect->standard = find_standard(&q, &device);
	if (dialect->standard)
		dialect->features = list_features(&q, &device, dialect->standard, pool);
	err = dialect->features ? compare_answers(&q, &device, caps, pool, dialect) : -ENOMEM;
	if (!err && q.unsure && q.nbranches)
		dialect->differs = describe_unknown(pool, q.unsure);
	return pool->failed ? -ENOMEM : err;
}
