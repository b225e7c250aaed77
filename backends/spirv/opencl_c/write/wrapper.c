/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the wrapper of a kernel, which runs BPF programs before and after the kernel's body. Also writes the copies of
 * called functions that contain probed places.
 */
#include "wrapper.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "called.h"
#include "fill.h"
#include "maps/device/devlib.h"

/*
 * Declaration of struct gpubpf_env as in maps/device/devlib.h, with type names that every version of OpenCL C supports.
 */
static const char env_text[] = "#ifndef GPUBPF_ENV_DECLARED\n"
			       "#define GPUBPF_ENV_DECLARED\n"
			       "struct gpubpf_env { ulong arena, launch, pid_tgid, kernel_id; uint device, flags;"
			       " ulong arg[32]; __private const uchar *arg_bytes; ulong clock_offset; };\n"
			       "#endif\n";
_Static_assert(GPUBPF_ENV_ARGS == 32 && sizeof(struct gpubpf_env) == 8 * (5 + 32 + 2),
	       "env_text must match struct gpubpf_env");

static void write_env(struct wrapper *w)
{
	fprintf(w->out,
		"\tstruct gpubpf_env gpubpf_env;\n"
		"\tgpubpf_env.arena = (ulong)gpubpf_arena;\n"
		"\tgpubpf_env.launch = gpubpf_launch;\n"
		"\tgpubpf_env.pid_tgid = gpubpf_pid;\n"
		"\tgpubpf_env.kernel_id = %lluul;\n\tgpubpf_env.device = %uu;\n\tgpubpf_env.flags = 0;\n",
		(unsigned long long)w->site->kernel_id, w->job->caps->ordinal);
	gpubpf_cl_fill(&(struct cl_fill){ w->out, w->wrap->kernel, w->site, "gpubpf_env", w->use });
}

/*
 * Write the name of parameter i. If the wrapper repeats the kernel's body, this is the original name, otherwise
 * gpubpf_p<i>.
 */
static void write_name(struct wrapper *w, uint32_t i)
{
	const char *name = w->wrap->kernel->info.params[i].name;

	if (w->is_body_repeated && *name)
		fputs(name, w->out);
	else
		fprintf(w->out, "gpubpf_p%u", i);
}

/*
 * Write "type name, ". If the name would have to be inside the type, as for a pointer to an array, write
 * __typeof__(type).
 */
static void write_param(struct wrapper *w, uint32_t i)
{
	const char *type = w->wrap->kernel->type[i];

	fprintf(w->out, strstr(type, "(*") ? "__typeof__(%s) " : "%s ", type);
	write_name(w, i);
	fputs(", ", w->out);
}

/* Define gpubpf_p<i> as macros for the parameters of a repeated body, or undefine them. */
static void write_aliases(struct wrapper *w, bool define)
{
	const struct gpubpf_kernel_info *info = &w->wrap->kernel->info;

	for (uint32_t i = 0; w->is_body_repeated && i < info->nparams; i++)
		if (info->params[i].name[0])
			fprintf(w->out, define ? "#define gpubpf_p%u %s\n" : "#undef gpubpf_p%u\n", i,
				info->params[i].name);
}

/*
 * Write code that counts the work-items of a work-group, to find the last one that returns. A __local variable holds
 * the number of work-items that have not returned. Before the kernel's body, all work-items wait at a barrier until the
 * variable is initialised. No work-item waits when it returns.
 */
static void write_counting(struct wrapper *w)
{
	fprintf(w->out, "\t__local uint gpubpf_lanes;\n"
			"\tif (!(get_local_id(0) | get_local_id(1) | get_local_id(2)))"
			" gpubpf_lanes = (uint)(get_local_size(0) * get_local_size(1) * get_local_size(2));\n"
			"\tbarrier(CLK_LOCAL_MEM_FENCE);\n");
}

/*
 * Make the execution of the kernel's body depend on the work-item, if only the wrapper contains a barrier. In kernels
 * with a barrier, PoCL 3.1 adds barriers to inner loops. These are wrong in some loops that work-items leave at
 * different times (core/lower/opencl_c/prelude.cl).
 */
static void write_divergence(struct wrapper *w, const char *then)
{
	if (w->wrap->end != UINT32_MAX && !(w->wrap->kernel->info.flags & GPUBPF_KINFO_BARRIER))
		fprintf(w->out, "\t%s\n", then);
}

/*
 * Write code that calls the site of the block's end in the last work-item that returns. The fences make the memory
 * writes of the other work-items visible to the last one.
 */
static void write_last_lane(struct wrapper *w)
{
	fprintf(w->out,
		"\tmem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);\n"
		"\tif (atomic_dec(&gpubpf_lanes) == 1) { mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"
		" gpubpf_site_%u(&gpubpf_env); }\n",
		w->wrap->end);
}

/* Write the wrapper up to the kernel's body or its call. */
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
		fprintf(w->out,
			"\tif (!(get_local_id(0) | get_local_id(1) | get_local_id(2))) gpubpf_site_%u(&gpubpf_env);\n",
			w->wrap->begin);
	if (w->wrap->entry != UINT32_MAX)
		fprintf(w->out,
			w->use.ends_thread ? "\tif (gpubpf_site_%u(&gpubpf_env)) goto gpubpf_ended;\n" :
					     "\tgpubpf_site_%u(&gpubpf_env);\n",
			w->wrap->entry);
	if (w->wrap->places) {
		fprintf(w->out, "\tstruct gpubpf_at gpubpf_here;\n\t__private struct gpubpf_at *gpubpf_at = &gpubpf_here;\n"
				"\tgpubpf_here.env = gpubpf_env;\n");
		gpubpf_weave_variables(&w->weave, w->out);
	}
	if (w->is_body_repeated) {
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

/* Write the rest of the wrapper, after the kernel's body or its call. */
static void write_after(struct wrapper *w)
{
	if (w->is_body_repeated)
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
 * Returns the names of the application's macros that occur in the generated text, each once. The generated text must
 * not be changed by these macros, because it contains code that is already preprocessed.
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

char *gpubpf_wrap_print(struct wrapper *w, void (*write)(struct wrapper *w), struct gpubpf_pool *pool)
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

int gpubpf_wrap_words(FILE *out, const char *text, const struct gpubpf_cl_unit *unit, struct gpubpf_pool *pool)
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

void gpubpf_wrap_line(FILE *out, uint32_t line, uint32_t column, const char *file)
{
	fprintf(out, file ? "#line %u \"" : "#line %u", line);
	for (; file && *file; file++)
		fprintf(out, strchr("\"\\", *file) ? "\\%c" : "%c", *file);
	fprintf(out, "%s\n%*s", file ? "\"" : "", column > 1 ? (int)column - 1 : 0, "");
}

/*
 * Write the kernel's body again, with the application's macros active. Each return becomes a jump to the code after the
 * body.
 */
static void write_repeated_body(FILE *out, const struct wrapper *w, const struct gpubpf_cl_source *source)
{
	const struct gpubpf_cl_kernel *k = w->wrap->kernel;

	fprintf(out, "#define return goto gpubpf_out\n");
	gpubpf_names_define(&w->names, out);
	gpubpf_wrap_line(out, k->body_line, k->body_column, k->body_file);
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

void gpubpf_wrap_number_lines(FILE *out, const struct gpubpf_wrap *wrap)
{
	fprintf(out, "#line %u\n", GPUBPF_WRAP_LINE + wrap->first_site * GPUBPF_WRAP_LINES);
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

/* Declare the wrapper of a function that has sites at its calls. Callers call the wrapper instead of the function. */
static int write_declaration(FILE *out, struct wrapper *w, uint32_t callee, const struct gpubpf_cl_unit *unit,
			     struct gpubpf_pool *pool)
{
	w->callee = callee;
	return gpubpf_wrap_words(out, gpubpf_wrap_print(w, write_called_declaration, pool), unit, pool);
}

/* Write the declarations that must precede the text of a function with probed places. */
static int write_declarations(FILE *out, struct wrapper *w, const struct gpubpf_cl_unit *unit, struct gpubpf_pool *pool)
{
	const struct gpubpf_cl_function *f = &unit->function[w->weave.function];
	int err = gpubpf_wrap_words(out, gpubpf_wrap_print(w, write_types, pool), unit, pool);

	for (uint32_t i = 0; i < f->ncallees; i++)
		if (w->wrap->called[f->callee[i]].has_sites)
			err = err ? err : write_declaration(out, w, f->callee[i], unit, pool);
		else if (w->wrap->copied[f->callee[i]]) {
			gpubpf_weave_head(&w->weave, f->callee[i], out);
			fprintf(out, ";\n");
			gpubpf_wrap_number_lines(out, w->wrap);
		}
	return err ? err : gpubpf_wrap_words(out, gpubpf_wrap_print(w, write_helpers, pool), unit, pool);
}

static int write_copy(FILE *out, struct wrapper *w, const struct gpubpf_cl_unit *unit, struct gpubpf_pool *pool)
{
	const struct gpubpf_cl_function *f = &unit->function[w->weave.function];
	int err = write_declarations(out, w, unit, pool);

	gpubpf_weave_head(&w->weave, w->weave.function, out);
	fprintf(out, "\n{\n");
	err = err ? err : gpubpf_wrap_words(out, gpubpf_wrap_print(w, write_variables, pool), unit, pool);
	gpubpf_names_define(&w->names, out);
	gpubpf_wrap_line(out, f->body_line, f->body_column, f->body_file);
	gpubpf_weave_body(&w->weave, out);
	fprintf(out, "\n");
	gpubpf_names_undefine(&w->names, out);
	fprintf(out, "}\n");
	return err;
}

int gpubpf_wrap_function(FILE *out, struct wrapper *w, const struct gpubpf_cl_unit *unit, struct gpubpf_pool *pool)
{
	int err = w->wrap->copied[w->weave.function] ? write_copy(out, w, unit, pool) : 0;

	if (!w->wrap->called[w->weave.function].has_sites)
		return err;
	gpubpf_wrap_number_lines(out, w->wrap);
	err = err ? err : gpubpf_wrap_words(out, gpubpf_wrap_print(w, write_types, pool), unit, pool);
	return err ? err : gpubpf_wrap_words(out, gpubpf_wrap_print(w, write_called, pool), unit, pool);
}

int gpubpf_wrap_kernel(FILE *out, struct wrapper *w, const struct gpubpf_cl_source *source,
		       const struct gpubpf_cl_unit *unit, struct gpubpf_pool *pool)
{
	int err = w->wrap->places ? write_declarations(out, w, unit, pool) : 0;

	gpubpf_wrap_number_lines(out, w->wrap);
	err = err ? err : gpubpf_wrap_words(out, gpubpf_wrap_print(w, write_before, pool), unit, pool);
	if (!err && w->is_body_repeated)
		write_repeated_body(out, w, source);
	else if (!err)
		err = gpubpf_wrap_words(out, gpubpf_wrap_print(w, write_call, pool), unit, pool);
	return err ? err : gpubpf_wrap_words(out, gpubpf_wrap_print(w, write_after, pool), unit, pool);
}
