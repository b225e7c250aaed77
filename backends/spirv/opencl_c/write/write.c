/* SPDX-License-Identifier: Apache-2.0 */
#include "write.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/spirv/common/env_use.h"
#include "maps/device/devlib.h"
#include "called.h"
#include "fill.h"
#include "backends/spirv/opencl_c/read/names.h"

/* struct gpubpf_env of maps/device/devlib.h, with type names that every version of OpenCL C has */
static const char env_text[] =
	"#ifndef GPUBPF_ENV_DECLARED\n"
	"#define GPUBPF_ENV_DECLARED\n"
	"struct gpubpf_env { ulong arena, launch, pid_tgid, kernel_id; uint device, flags;"
	" ulong arg[32]; __private const uchar *arg_bytes; ulong clock_offset; };\n"
	"#endif\n";
_Static_assert(GPUBPF_ENV_ARGS == 32 && sizeof(struct gpubpf_env) == 8 * (5 + 32 + 2), "env_text repeats it");

/* a wrapper being written */
struct wrapper {
	FILE *out;
	const struct gpubpf_lower_job *job;
	const struct gpubpf_wrap *wrap;
	const struct gpubpf_site_desc *site;  /* of its first site */
	bool paste;                           /* the wrapper repeats the kernel's body instead of calling the kernel */
	struct gpubpf_env_use use;
	struct gpubpf_weave weave;            /* the text with places, of the kernel or of a called function */
	uint32_t callee;                      /* the function whose declaration is written */
	struct cl_names names;                /* of the function with the repeated body */
};

static void write_env(struct wrapper *w)
{
	fprintf(w->out, "\tstruct gpubpf_env gpubpf_env;\n"
		"\tgpubpf_env.arena = (ulong)gpubpf_arena;\n"
		"\tgpubpf_env.launch = gpubpf_launch;\n"
		"\tgpubpf_env.pid_tgid = gpubpf_pid;\n"
		"\tgpubpf_env.kernel_id = %lluul;\n\tgpubpf_env.device = %uu;\n\tgpubpf_env.flags = 0;\n",
		(unsigned long long)w->site->kernel_id, w->job->caps->ordinal);
	gpubpf_cl_fill(&(struct cl_fill){ w->out, w->wrap->kernel, w->site, "gpubpf_env", w->use });
}

/* A repeated body uses its parameters' original names; our own code uses numbers. */
static void write_name(struct wrapper *w, uint32_t i)
{
	const char *name = w->wrap->kernel->info.params[i].name;

	if (w->paste && *name)
		fputs(name, w->out);
	else
		fprintf(w->out, "gpubpf_p%u", i);
}

/* Write "type name"; with __typeof__ if the name would stand inside the type. */
static void write_param(struct wrapper *w, uint32_t i)
{
	const char *type = w->wrap->kernel->type[i];

	fprintf(w->out, strstr(type, "(*") ? "__typeof__(%s) " : "%s ", type);
	write_name(w, i);
	fputs(", ", w->out);
}

/* Define gpubpf_p<i> as aliases of the parameters of a repeated body. */
static void write_aliases(struct wrapper *w, bool define)
{
	const struct gpubpf_kernel_info *info = &w->wrap->kernel->info;

	for (uint32_t i = 0; w->paste && i < info->nparams; i++)
		if (info->params[i].name[0])
			fprintf(w->out, define ? "#define gpubpf_p%u %s\n" : "#undef gpubpf_p%u\n", i,
				info->params[i].name);
}

/* Count a block's lanes to find the last one: a word in the block's memory holds the number of lanes that have not
 * returned. All lanes wait once, before the kernel's work, until the word is initialised. They do not wait where they
 * return. */
static void write_counting(struct wrapper *w)
{
	fprintf(w->out, "\t__local uint gpubpf_lanes;\n"
		"\tif (!(get_local_id(0) | get_local_id(1) | get_local_id(2)))"
		" gpubpf_lanes = (uint)(get_local_size(0) * get_local_size(1) * get_local_size(2));\n"
		"\tbarrier(CLK_LOCAL_MEM_FENCE);\n");
}

/*
 * Make the work of a kernel without a barrier depend on the work-item, if it follows our barrier. In kernels with a
 * barrier, PoCL 3.1 inserts more barriers into inner loops. It does so wrongly in some loops that work-items leave at
 * different times (core/lower/opencl_c/prelude.cl).
 */
static void write_divergence(struct wrapper *w, const char *then)
{
	if (w->wrap->end != UINT32_MAX && !(w->wrap->kernel->info.flags & GPUBPF_KINFO_BARRIER))
		fprintf(w->out, "\t%s\n", then);
}

/* The fences make the last lane see all memory that the other lanes wrote. */
static void write_last_lane(struct wrapper *w)
{
	fprintf(w->out, "\tmem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);\n"
		"\tif (atomic_dec(&gpubpf_lanes) == 1) { mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"
		" gpubpf_site_%u(&gpubpf_env); }\n", w->wrap->end);
}

/* Does the wrapper repeat the kernel's body instead of calling the kernel? */
static bool repeats_body(const struct gpubpf_wrap *wrap)
{
	return wrap->kernel->info.flags & GPUBPF_KINFO_LOCAL || wrap->places;
}

/* Write the wrapper's start, up to the kernel's work. */
static void write_before(struct wrapper *w)
{
	const struct gpubpf_cl_kernel *k = w->wrap->kernel;
	const struct gpubpf_kernel_info *info = &k->info;
	const uint32_t sites[] = { w->wrap->entry, w->wrap->exit, w->wrap->begin, w->wrap->end };

	fputs(env_text, w->out);
	for (size_t i = 0; i < sizeof(sites) / sizeof(*sites); i++)
		if (sites[i] != UINT32_MAX)
			fprintf(w->out, "int gpubpf_site_%u(__private const struct gpubpf_env *);\n", sites[i]);
	fprintf(w->out, "%s void gpubpf_twin_%s(", k->head, info->name);
	for (uint32_t i = 0; i < info->nparams; i++)
		write_param(w, i);
	fprintf(w->out, "__global uchar *gpubpf_arena, ulong gpubpf_launch, ulong gpubpf_pid)%s\n{\n", k->tail);
	write_aliases(w, true);
	for (uint32_t i = 0; i < info->nparams; i++)
		if (info->params[i].size && info->params[i].kind == GPUBPF_PARAM_BYTES)
			fprintf(w->out, "\t(void)sizeof(char[sizeof(gpubpf_p%u) == %u ? 1 : -1]);\n", i,
				info->params[i].size);
	write_env(w);
	if (w->wrap->end != UINT32_MAX)
		write_counting(w);
	if (w->wrap->begin != UINT32_MAX)
		fprintf(w->out, "\tif (!(get_local_id(0) | get_local_id(1) | get_local_id(2))) gpubpf_site_%u(&gpubpf_env);\n",
			w->wrap->begin);
	if (w->wrap->entry != UINT32_MAX)
		fprintf(w->out, w->use.ends_thread ? "\tif (gpubpf_site_%u(&gpubpf_env)) goto gpubpf_ended;\n" :
						 "\tgpubpf_site_%u(&gpubpf_env);\n", w->wrap->entry);
	if (w->wrap->places) {
		fprintf(w->out, "\tstruct gpubpf_at gpubpf_here;\n\t__private struct gpubpf_at *gpubpf_at = &gpubpf_here;\n"
			"\tgpubpf_here.env = gpubpf_env;\n");
		gpubpf_weave_variables(&w->weave, w->out);
	}
	if (w->paste) {
		gpubpf_names_type(&w->names, w->out);
		write_divergence(w, "if (get_local_id(0) == ~0ul) goto gpubpf_out;");
	}
	write_aliases(w, false);
}

static void write_call(struct wrapper *w)
{
	const struct gpubpf_kernel_info *info = &w->wrap->kernel->info;

	write_divergence(w, "if (get_local_id(0) != ~0ul)");
	fprintf(w->out, "\t%s(", w->wrap->kernel->name);
	for (uint32_t i = 0; i < info->nparams; i++)
		fprintf(w->out, "%sgpubpf_p%u", i ? ", " : "", i);
	fprintf(w->out, ");\n");
}

/* Write the wrapper's end, after the kernel's work. */
static void write_after(struct wrapper *w)
{
	if (w->paste)
		fprintf(w->out, "\tgpubpf_out: ;\n");
	if (w->wrap->exit != UINT32_MAX)
		fprintf(w->out, "\tgpubpf_site_%u(&gpubpf_env);\n", w->wrap->exit);
	if (w->use.ends_thread)
		fprintf(w->out, "\tgpubpf_ended: ;\n");
	if (w->wrap->end != UINT32_MAX)
		write_last_lane(w);
	fprintf(w->out, "}\n");
}

static int compare_name(const void *key, const void *name)
{
	return strcmp(key, *(const char *const *)name);
}

/*
 * The application's macros whose names occur in the wrapper's text, each once. This text comes from preprocessed code
 * and must not be preprocessed again.
 */
static char **find_collisions(const char *text, const struct gpubpf_cl_unit *unit, struct gpubpf_pool *pool)
{
	size_t n = strlen(text), found = 0;
	char **names = gpubpf_pool_alloc(pool, n / 2 + 2, sizeof(*names));

	for (const char *at = text; names && *at;) {
		const char *word = at;
		char *name;

		while (isalnum((unsigned char)*at) || *at == '_')
			at++;
		if (at == word) {
			at++;
			continue;
		}
		name = gpubpf_pool_strndup(pool, word, at - word);
		if (!name || !unit->nmacros ||
		    !bsearch(name, unit->macro, unit->nmacros, sizeof(*unit->macro), compare_name))
			continue;
		for (size_t i = 0; name && i < found; i++)
			if (strcmp(names[i], name) == 0)
				name = NULL;
		if (name)
			names[found++] = name;
	}
	return names;
}

/* The output of write(), copied to the pool; NULL: no memory. */
static char *print_to_pool(struct wrapper *w, void (*write)(struct wrapper *w), struct gpubpf_pool *pool)
{
	char *text = NULL, *result = NULL;
	size_t size;

	w->out = open_memstream(&text, &size);
	if (!w->out)
		return NULL;
	write(w);
	if (fclose(w->out) == 0)
		result = gpubpf_pool_strndup(pool, text, size);
	free(text);
	return result;
}

/* Write our own text with the application's macros of the same names disabled. */
static int write_words(FILE *out, const char *text, const struct gpubpf_cl_unit *unit, struct gpubpf_pool *pool)
{
	char **names = text ? find_collisions(text, unit, pool) : NULL;

	if (!names)
		return -ENOMEM;
	for (char **name = names; *name; name++)
		fprintf(out, "#pragma push_macro(\"%s\")\n#undef %s\n", *name, *name);
	fputs(text, out);
	for (char **name = names; *name; name++)
		fprintf(out, "#pragma pop_macro(\"%s\")\n", *name);
	return 0;
}

/* `file`: NULL keeps the current file name. */
static void write_line(FILE *out, uint32_t line, uint32_t column, const char *file)
{
	fprintf(out, file ? "#line %u \"" : "#line %u", line);
	for (; file && *file; file++)
		fprintf(out, strchr("\"\\", *file) ? "\\%c" : "%c", *file);
	fprintf(out, "%s\n%*s", file ? "\"" : "", column > 1 ? (int)column - 1 : 0, "");
}

/* Write the body again, with the application's macros active. Returns jump to the exit site. */
static void write_repeated_body(FILE *out, const struct wrapper *w, const struct gpubpf_cl_source *source)
{
	const struct gpubpf_cl_kernel *k = w->wrap->kernel;

	fprintf(out, "#define return goto gpubpf_out\n");
	gpubpf_names_define(&w->names, out);
	write_line(out, k->body_line, k->body_column, k->body_file);
	if (w->wrap->places)
		gpubpf_weave_body(&w->weave, out);
	else
		fwrite(source->text + k->body, 1, k->body_end - k->body, out);
	fprintf(out, "\n#undef return\n");
	gpubpf_names_undefine(&w->names, out);
}

/* -- places of instructions -- */

static void write_types(struct wrapper *w)
{
	fputs(env_text, w->out);
	gpubpf_weave_type(w->out);
}

static void write_helpers(struct wrapper *w)
{
	gpubpf_weave_helpers(&w->weave, w->out);
}

static void write_variables(struct wrapper *w)
{
	gpubpf_names_type(&w->names, w->out);
	gpubpf_weave_variables(&w->weave, w->out);
}

static void number_lines(FILE *out, const struct gpubpf_wrap *wrap)
{
	fprintf(out, "#line %u\n", GPUBPF_WRAP_LINE + wrap->first * GPUBPF_WRAP_LINES);
}

static void write_called_declaration(struct wrapper *w)
{
	gpubpf_call_wrapper_head(&w->weave, w->callee, w->out);
	fprintf(w->out, ";\n");
}

static void write_called(struct wrapper *w)
{
	gpubpf_call_wrapper_write(&w->weave, w->out);
}

/* Declare the wrapper of a function with programs at its calls; callers use its name instead of the function's. */
static int write_declaration(FILE *out, struct wrapper *w, uint32_t callee, const struct gpubpf_cl_unit *unit,
			     struct gpubpf_pool *pool)
{
	w->callee = callee;
	return write_words(out, print_to_pool(w, write_called_declaration, pool), unit, pool);
}

/* Write the declarations that must precede the text with places. */
static int write_declarations(FILE *out, struct wrapper *w, const struct gpubpf_cl_unit *unit, struct gpubpf_pool *pool)
{
	const struct gpubpf_cl_function *f = &unit->function[w->weave.function];
	int err = write_words(out, print_to_pool(w, write_types, pool), unit, pool);

	for (uint32_t i = 0; i < f->ncallees; i++)
		if (w->wrap->called[f->callee[i]].sites)
			err = err ? err : write_declaration(out, w, f->callee[i], unit, pool);
		else if (w->wrap->copied[f->callee[i]]) {
			gpubpf_weave_head(&w->weave, f->callee[i], out);
			fprintf(out, ";\n");
			number_lines(out, w->wrap);
		}
	return err ? err : write_words(out, print_to_pool(w, write_helpers, pool), unit, pool);
}

static int write_copy(FILE *out, struct wrapper *w, const struct gpubpf_cl_unit *unit, struct gpubpf_pool *pool)
{
	const struct gpubpf_cl_function *f = &unit->function[w->weave.function];
	int err = write_declarations(out, w, unit, pool);

	gpubpf_weave_head(&w->weave, w->weave.function, out);
	fprintf(out, "\n{\n");
	err = err ? err : write_words(out, print_to_pool(w, write_variables, pool), unit, pool);
	gpubpf_names_define(&w->names, out);
	write_line(out, f->body_line, f->body_column, f->body_file);
	gpubpf_weave_body(&w->weave, out);
	fprintf(out, "\n");
	gpubpf_names_undefine(&w->names, out);
	fprintf(out, "}\n");
	return err;
}

/* Write the copy of a function with places, and the wrapper of one with programs at its calls. */
static int write_function(FILE *out, struct wrapper *w, const struct gpubpf_cl_unit *unit, struct gpubpf_pool *pool)
{
	int err = w->wrap->copied[w->weave.function] ? write_copy(out, w, unit, pool) : 0;

	if (!w->wrap->called[w->weave.function].sites)
		return err;
	number_lines(out, w->wrap);
	err = err ? err : write_words(out, print_to_pool(w, write_types, pool), unit, pool);
	return err ? err : write_words(out, print_to_pool(w, write_called, pool), unit, pool);
}

static int write_wrapper(FILE *out, struct wrapper *w, const struct gpubpf_cl_source *source,
			 const struct gpubpf_cl_unit *unit, struct gpubpf_pool *pool)
{
	int err = w->wrap->places ? write_declarations(out, w, unit, pool) : 0;

	number_lines(out, w->wrap);
	err = err ? err : write_words(out, print_to_pool(w, write_before, pool), unit, pool);
	if (!err && w->paste)
		write_repeated_body(out, w, source);
	else if (!err)
		err = write_words(out, print_to_pool(w, write_call, pool), unit, pool);
	return err ? err : write_words(out, print_to_pool(w, write_after, pool), unit, pool);
}

/* -- the whole source -- */

/* a wrapper, a copy of a function for a wrapper, or a check inside a function that is copied */
struct piece {
	size_t at;
	uint32_t line, column;         /* of the source text that follows */
	const struct gpubpf_wrap *wrap;
	uint32_t function;             /* index in the unit; UINT32_MAX: the kernel's wrapper */
	const char *pretty;            /* NULL: the piece is no check */
};

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->wrap < y->wrap ? -1 : x->wrap > y->wrap;
}

/* A repeated body that uses __PRETTY_FUNCTION__ needs a check. */
static void add_check(struct piece *list, size_t *n, const struct gpubpf_wrap *wrap, const struct gpubpf_cl_kernel *k)
{
	if (k->pretty && repeats_body(wrap))
		list[(*n)++] = (struct piece){ k->body, k->body_line, k->body_column, wrap, UINT32_MAX, k->pretty };
}

static void add_function(struct piece *list, size_t *n, const struct gpubpf_wrap *wrap, const struct gpubpf_cl_function *f,
			 uint32_t function)
{
	list[(*n)++] = (struct piece){ f->at, f->line, f->column, wrap, function };
	if (f->pretty && wrap->copied[function])
		list[(*n)++] = (struct piece){ f->body, f->body_line, f->body_column, wrap, function, f->pretty };
}

static struct piece *list_pieces(const struct gpubpf_cl_unit *unit, const struct gpubpf_wrap *wraps, uint32_t nwraps,
				 struct gpubpf_pool *pool, size_t *n)
{
	struct piece *list = gpubpf_pool_alloc(pool, 2 * (size_t)nwraps * (unit->nfunctions + 1), sizeof(*list));

	*n = 0;
	for (uint32_t i = 0; list && i < nwraps; i++) {
		const struct gpubpf_cl_kernel *k = wraps[i].kernel;

		list[(*n)++] = (struct piece){ k->at, k->line, k->column, &wraps[i], UINT32_MAX };
		add_check(list, n, &wraps[i], k);
		for (uint32_t f = 0; wraps[i].copied && f < unit->nfunctions; f++)
			if (wraps[i].copied[f] || wraps[i].called[f].sites)
				add_function(list, n, &wraps[i], &unit->function[f], f);
	}
	if (list && *n)
		qsort(list, *n, sizeof(*list), compare_pieces);
	return list;
}

/* Derive the state for writing a piece from its wrapper. */
static struct wrapper wrapper_of(const struct piece *piece, const struct gpubpf_cl_source *source, const struct gpubpf_cl_unit *unit,
				 const struct gpubpf_lower_job *job)
{
	const struct gpubpf_wrap *wrap = piece->wrap;
	struct wrapper w = { .job = job, .wrap = wrap, .site = gpubpf_env_site(job, wrap->first), .paste = repeats_body(wrap),
			     .names = { wrap->kernel->name, wrap->kernel->pretty } };
	uint32_t function = piece->function == UINT32_MAX ? wrap->kernel->function : piece->function;

	if (piece->function != UINT32_MAX)
		w.names = (struct cl_names){ unit->function[function].name, unit->function[function].pretty };
	if (wrap->places)
		w.weave = (struct gpubpf_weave){ source, unit, job, function, wrap->first, wrap->places[function],
						 wrap->nplaces[function], wrap->copied, wrap->called };
	return w;
}

static void write_name_check(struct wrapper *w)
{
	gpubpf_names_check(&w->names, w->out);
}

static int write_piece(FILE *out, const struct piece *piece, const struct gpubpf_cl_source *source,
		       const struct gpubpf_cl_unit *unit, const struct gpubpf_lower_job *job)
{
	struct wrapper w = wrapper_of(piece, source, unit, job);
	struct gpubpf_pool pool = GPUBPF_POOL_INIT;
	int err;

	for (uint32_t i = 0; i < job->nsites; i++)
		if (!strcmp(job->sites[i].kernel, w.site->kernel) && !job->sites[i].function[0])
			gpubpf_env_use(job, i, &w.use);
	fprintf(out, "\n#ifndef GPUBPF_SKIP_%u\n", w.wrap->first);
	number_lines(out, w.wrap);
	if (piece->pretty)
		err = write_words(out, print_to_pool(&w, write_name_check, &pool), unit, &pool);
	else
		err = piece->function == UINT32_MAX ? write_wrapper(out, &w, source, unit, &pool) :
						      write_function(out, &w, unit, &pool);
	fprintf(out, "#endif\n");
	write_line(out, piece->line, piece->column, NULL);
	if (ferror(out) || pool.failed)
		err = -ENOMEM;
	gpubpf_pool_finish(&pool);
	return err;
}

int gpubpf_wrap_write(const struct gpubpf_cl_source *source, const struct gpubpf_cl_unit *unit,
		      const struct gpubpf_lower_job *job, const struct gpubpf_wrap *wraps, uint32_t nwraps,
		      char **text, size_t *size)
{
	struct gpubpf_pool pool = GPUBPF_POOL_INIT;
	struct piece *pieces;
	size_t at = 0, n;
	int err = 0;
	FILE *out;

	out = open_memstream(text, size);
	pieces = list_pieces(unit, wraps, nwraps, &pool, &n);
	if (!out || !pieces)
		err = -ENOMEM;
	for (size_t i = 0; i < n && err == 0; i++) {
		fwrite(source->text + at, 1, pieces[i].at - at, out);
		at = pieces[i].at;
		err = write_piece(out, &pieces[i], source, unit, job);
	}
	gpubpf_pool_finish(&pool);
	if (!out)
		return -ENOMEM;
	fwrite(source->text + at, 1, source->size - at, out);
	/* headers in folders of -I are part of the compiled text: a cache keyed by content must see their changes */
	fprintf(out, "\n/* %016llx */\n%s", (unsigned long long)unit->includes, unit->included);
	if (fclose(out) != 0)
		err = -ENOMEM;
	if (err < 0)
		free(*text);
	return err;
}
