/* SPDX-License-Identifier: Apache-2.0 */
#include "query.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/spirv/common/options.h"
#include "lines.h"
#include "query_builder.h"

static void write_branch(struct builder *b, struct cl_branch branch)
{
	struct cl_query *q = b->query;

	q->branch = clquery_grow(b, q->branch, q->nbranches, sizeof(*q->branch));
	if (q->branch)
		q->branch[q->nbranches] = branch;
	fprintf(b->out, "\"%u.\"\n", q->nbranches++);
}

/*
 * Write an #include whose header is in no known folder, as two branches of an #if. The answer shows whether the
 * device's compiler reaches this #include, and whether it finds the header in its default folders.
 */
static void write_missing(struct builder *b, const struct cl_line *line, const char *quoted, const char *header)
{
	fprintf(b->out, "#ifndef __has_include\n#include %s\n#elif __has_include(%s)\n", quoted, quoted);
	write_branch(b, (struct cl_branch){ line->number, header, true });
	fprintf(b->out, "#include %s\n#else\n", quoted);
	write_branch(b, (struct cl_branch){ line->number, header, false });
	fprintf(b->out, "#endif\n");
}

static void write_include(struct builder *b, const struct file *from, const struct cl_line *line, const char *operand)
{
	const char *open = operand + strspn(operand, " \t"),
		   *close = open[0] ? strchr(open + 1, *open == '<' ? '>' : '"') : NULL;
	const char *name = (*open == '<' || *open == '"') && close ?
				   gpubpf_pool_strndup(b->pool, open + 1, close - open - 1) :
				   NULL;
	uint32_t found = 0;

	if (name)
		found = clquery_find_included(b, from, name, *open == '"');
	else
		clquery_add_mentioned(b, operand);
	if (found)
		fprintf(b->out, "#include \"gpubpf-file-%u.h\"\n", found);
	else if (name)
		write_missing(b, line, gpubpf_pool_strndup(b->pool, open, close + 1 - open), name);
	else
		fprintf(b->out, "#include%s\n", operand);
}

static bool mentions_positional(struct builder *b, enum positional positional, const char *line)
{
	size_t size;

	for (const char *at = line; b->npositional[positional] && (at = clread_identifier(at, &size)); at += size)
		if (clquery_has_text(b->positional[positional], b->npositional[positional],
				     gpubpf_pool_strndup(b->pool, at, size)))
			return true;
	return false;
}

/* Is the directive of a kind that neither defines nor removes macros? */
static bool leaves_macros(const char *name, const char *rest)
{
	static const char *const harmless[] = { "else",  "elif",    "elifdef", "elifndef", "endif",
						"error", "warning", "line",    "" };

	return IS_ANY(name, harmless) || (!strcmp(name, "pragma") && !strstr(rest, "_macro") && !strstr(rest, "once"));
}

/*
 * Track the nesting of #if, and find conditions that test __COUNTER__. A query contains no code, so __COUNTER__ has
 * other values in it than in the source. In the source, both compilers count alike because they read the same code.
 * Therefore no macro and no other branch may depend on a branch that tests __COUNTER__.
 */
static void track_conditions(struct builder *b, const char *name, const char *rest)
{
	if (b->counter_depth && (!leaves_macros(name, rest) || strstr(rest, "__has_")))
		b->query->unsure = "a macro definition or another branch depends on a branch that tests __COUNTER__";
	b->depth += !strncmp(name, "if", 2);
	if (b->depth > MAX_DEPTH) {
		b->query->unsure = "its #if conditions nest too deeply";
		b->depth = MAX_DEPTH;
	}
	if (!strncmp(name, "if", 2))
		b->extra_endifs[b->depth] = 0;
	if (!b->counter_depth && (!strcmp(name, "if") || !strcmp(name, "elif")) && mentions_positional(b, COUNTER, rest)) {
		b->counter_depth = b->depth;
		if (strstr(rest, "__has_"))
			b->query->unsure = "an #if tests both __COUNTER__ and a feature of the compiler (__has_...)";
	}
	if (b->counter_depth && (!strcmp(name, "if") || !strncmp(name, "elif", 4)))
		clquery_add_with_counter(b, rest);
}

/*
 * Write a condition, after a #line with its line number in the source. An #elif becomes #else and #if, because a #line
 * in the skipped branch before an #elif has no effect.
 */
static void write_condition(struct builder *b, const struct cl_line *line, const char *name, const char *rest)
{
	if (!b->npositional[LINE] || (strcmp(name, "if") && strcmp(name, "elif"))) {
		fprintf(b->out, "#%s%s\n", name, rest);
		return;
	}
	if (!strcmp(name, "elif")) {
		fprintf(b->out, "#else\n");
		b->extra_endifs[b->depth]++;
	}
	fprintf(b->out, "#line %u\n#if%s\n", line->number, rest);
}

static void write_end(struct builder *b)
{
	for (uint32_t i = 0; i <= b->extra_endifs[b->depth]; i++)
		fprintf(b->out, "#endif\n");
	if (b->counter_depth == b->depth)
		b->counter_depth = 0;
	b->depth -= b->depth != 0;
}

/* Is the file in one of the source's include folders? Sets *sure to false if compilers may disagree about that. */
static bool has_file(struct builder *b, const struct file *from, const char *operand, size_t size, bool *sure)
{
	const char *name = gpubpf_pool_strndup(b->pool, operand + 1, size - 2);
	struct file elsewhere = { .folder = "" };
	bool quoted = *operand == '"', found = clquery_find_included(b, from, name, quoted);

	/* compilers disagree whether a quoted include searches the folder of the main file */
	if (found && quoted && from == &b->file[0] && !clquery_find_included(b, &elsewhere, name, true))
		*sure = false;
	return found;
}

/*
 * Parse a file name operand in parentheses. Returns the position after the parentheses, or NULL if the operand is not a
 * file name.
 */
static const char *read_operand(const char *at, const char **operand, size_t *size)
{
	const char *end;

	at += strspn(at, " \t");
	if (*at++ != '(')
		return NULL;
	at += strspn(at, " \t");
	end = *at == '<' || *at == '"' ? strchr(at + 1, *at == '<' ? '>' : '"') : NULL;
	if (!end)
		return NULL;
	*operand = at;
	*size = end + 1 - at;
	end += 1 + strspn(end + 1, " \t");
	return *end == ')' ? end + 1 : NULL;
}

/*
 * Replace each __has_include(NAME) by 1 if the source's include folders contain the file NAME. All other tests stay in
 * the query, so that the compilers answer them without the source's include folders.
 */
static const char *resolve_files(struct builder *b, const struct file *from, const char *rest)
{
	static const char *const names[] = { "__has_include", "__has_include_next", "__has_embed" };
	char *text = gpubpf_pool_strndup(b->pool, rest, strlen(rest)), *to = text;
	const char *at, *from_here = rest, *operand, *end;
	size_t size, operand_size;
	bool sure = true;

	for (at = rest; text && (at = clread_identifier(at, &size)); at += size) {
		const char *name = gpubpf_pool_strndup(b->pool, at, size);

		if (!name || !IS_ANY(name, names) || at[size + strspn(at + size, " \t")] != '(')
			continue;
		end = read_operand(at + size, &operand, &operand_size);
		if (end && !has_file(b, from, operand, operand_size, &sure))
			continue;
		sure = sure && end && !strcmp(name, "__has_include");
		if (!sure)
			continue;
		to += sprintf(to, "%.*s1", (int)(at - from_here), from_here);
		from_here = end;
		at = end;
		size = 0;
	}
	if (!sure)
		b->query->unsure = "it tests whether files exist (__has_include)";
	if (text)
		strcpy(to, from_here);
	return text ? text : rest;
}

static void write_directive(struct builder *b, const struct file *from, const struct cl_line *line, const char *name,
			    const char *rest)
{
	static const char *const conditions[] = { "if", "ifdef", "ifndef", "elif", "elifdef", "elifndef" };
	static const char *const others[] = { "else", "define", "undef" };
	static const char *const once[] = { "once", "push_macro", "pop_macro" };
	const char *word = rest + strspn(rest, " \t");

	track_conditions(b, name, rest);
	if (IS_ANY(name, conditions))
		clquery_add_tested(b, rest);
	if (!strcmp(name, "define"))
		clquery_add_macro(b, rest);
	if (!strcmp(name, "include"))
		write_include(b, from, line, rest);
	else if (IS_ANY(name, conditions))
		write_condition(b, line, name, resolve_files(b, from, rest));
	else if (!strcmp(name, "endif"))
		write_end(b);
	else if (IS_ANY(name, others))
		fprintf(b->out, "#%s%s\n", name, rest);
	for (size_t i = 0; !strcmp(name, "pragma") && i < sizeof(once) / sizeof(*once); i++)
		if (!strncmp(word, once[i], strlen(once[i])))
			fprintf(b->out, "#pragma %s\n", word);
	if (IS_ANY(name, conditions) || !strcmp(name, "else"))
		write_branch(b, (struct cl_branch){ line->number });
}

/* Does the identifier look like a macro that a compiler predefines? */
static bool looks_predefined(const char *at, size_t size)
{
	if (size < 3 || (at[0] == '_' && (at[1] == '_' || isupper((unsigned char)at[1]))))
		return size >= 3;
	for (size_t i = 0; i < size; i++)
		if (islower((unsigned char)at[i]))
			return false;
	return true;
}

static void read_code(struct builder *b, const char *line)
{
	size_t size;

	for (const char *at = line; (at = clread_identifier(at, &size)); at += size)
		if (looks_predefined(at, size))
			clquery_add_name(b, &b->mentioned, &b->nmentioned, at, size);
	if (strstr(line, "_Pragma") && strstr(line, "_macro"))
		b->query->unsure = "it changes macros with _Pragma";
}

/* If conditions test __LINE__, check that each of these #if is on one line, and that the source has no #line. */
static void check_line(struct builder *b, const struct cl_lines *lines, uint32_t i, const char *name, const char *rest)
{
	bool one = i + 1 == lines->n || lines->line[i + 1].number == lines->line[i].number + 1;

	if (b->npositional[LINE] && (!strcmp(name, "line") || isdigit((unsigned char)*name)))
		b->query->unsure = "it tests __LINE__ and contains #line";
	if (!one && mentions_positional(b, LINE, rest))
		b->query->unsure = "an #if that tests __LINE__ spans several lines";
}

static int write_file(struct builder *b, const struct file *f)
{
	struct cl_lines lines;
	char name[16];

	if (clread_split_lines(f->text, f->size, b->pool, &lines) < 0)
		return -ENOMEM;
	if (lines.trigraphs)
		b->query->unsure = "it has trigraphs";
	b->depth = b->counter_depth = b->extra_endifs[0] = 0;
	for (uint32_t i = 0; i < lines.n; i++) {
		const char *rest = clread_directive(lines.line[i].text, name);

		if (rest)
			check_line(b, &lines, i, name, rest + strspn(rest, " \t"));
		if (rest)
			write_directive(b, f, &lines.line[i], name, rest);
		else
			read_code(b, lines.line[i].text);
	}
	return 0;
}

/* -- options -- */

static void read_define(struct builder *b, const char *word)
{
	size_t size;
	const char *name = clread_identifier(word, &size);

	if (name)
		clquery_add_name(b, &b->defined, &b->ndefined, name, size);
	clquery_add_macro(b, word);
}

static void add_folder(struct builder *b, const char *folder)
{
	const char *cwd = b->source->cwd && folder[0] != '/' ? b->source->cwd : "";

	b->folder[b->nfolders++] = clquery_join(b, cwd, folder);
}

/* Copy the source's options to the query, without -I. The query needs no folders, because it contains all files. */
static int read_options(struct builder *b)
{
	const char *options = b->source->options ? b->source->options : "";
	struct gpubpf_cl_words words;
	char *result, *to;

	if (gpubpf_cl_split(options, b->pool, &words) < 0)
		return -ENOMEM;
	result = to = gpubpf_pool_alloc(b->pool, strlen(options) + 2, 1);
	b->folder = gpubpf_pool_alloc(b->pool, words.n + 1, sizeof(*b->folder));
	if (!result || !b->folder)
		return -ENOMEM;
	for (uint32_t i = 0; i < words.n; i++) {
		const char *w = words.word[i].text, *before = i ? words.word[i - 1].text : "";

		if (!strcmp(before, "-I"))
			add_folder(b, w);
		else if (!strncmp(w, "-I", 2) && w[2])
			add_folder(b, w + 2);
		else if (strcmp(w, "-I"))
			to += sprintf(to, "%.*s ", (int)(words.word[i].end - words.word[i].start),
				      options + words.word[i].start);
		if (!strcmp(before, "-D"))
			read_define(b, w);
		else if (!strncmp(w, "-D", 2) && w[2])
			read_define(b, w + 2);
	}
	b->query->options = result;
	return 0;
}

/* -- the query -- */

static void write_names(const struct builder *b, FILE *out)
{
	for (uint32_t i = 0; i < b->query->nnames; i++) {
		const char *name = b->query->name[i].text;

		fprintf(out, "#ifdef %s\n\"@%u=\" gpubpf_x(%s)\n#else\n\"@%u-\"\n#endif\n", name, i, name, i);
	}
}

/*
 * Returns the text that write() writes to b->out, allocated in the pool. Returns NULL if write() fails or memory runs
 * out.
 */
static char *write_to_pool(struct builder *b, int (*write)(struct builder *b, const void *arg), const void *arg)
{
	char *text = NULL, *result = NULL;
	size_t size;

	b->out = open_memstream(&text, &size);
	if (!b->out)
		return NULL;
	if ((!write(b, arg)) & !fclose(b->out))
		result = gpubpf_pool_strndup(b->pool, text, size);
	free(text);
	return result;
}

static int write_a_file(struct builder *b, const void *arg)
{
	return write_file(b, arg);
}

/* Older compilers (NVIDIA's driver 580, clang 7) support variadic macros only in OpenCL C 2.0 and later. */
static const char stringify_macros[] =
	"#if defined(__OPENCL_CPP_VERSION__) || __OPENCL_C_VERSION__ >= 200\n"
	"#define gpubpf_s(...) #__VA_ARGS__\n#define gpubpf_x(...) gpubpf_s(__VA_ARGS__)\n#else\n"
	"#define gpubpf_s(a) #a\n#define gpubpf_x(a) gpubpf_s(a)\n#endif\n";

static int write_main(struct builder *b, const void *text)
{
	fprintf(b->out, "%s_Static_assert(0, \"gpubpf:\"\n", stringify_macros);
	write_names(b, b->out);
	fprintf(b->out, "\"@@\"\n%s\"@@\");\n", (const char *)text);
	return 0;
}

static int write_headers(struct builder *b)
{
	for (uint32_t i = 1; i < b->nfiles; i++) {
		struct gpubpf_header *h = &b->query->header[b->query->nheaders];
		char *name = gpubpf_pool_alloc(b->pool, 32, 1), *text = write_to_pool(b, write_a_file, &b->file[i]);

		if (!name || !text)
			return -ENOMEM;
		sprintf(name, "gpubpf-file-%u.h", i);
		*h = (struct gpubpf_header){ name, text, strlen(text) };
		b->query->nheaders++;
	}
	return 0;
}

static int start_query(struct builder *b, const struct gpubpf_cl_source *source, struct gpubpf_pool *pool,
		       struct cl_query *query)
{
	*query = (struct cl_query){ .header = gpubpf_pool_alloc(pool, MAX_FILES, sizeof(*query->header)) };
	*b = (struct builder){ .source = source, .pool = pool, .query = query, .nfiles = 1 };
	b->file[0] = (struct file){ "", source->cwd && source->cwd[0] ? clquery_join(b, source->cwd, "/") : "", false,
				    source->text, source->size };
	return query->header ? 0 : -ENOMEM;
}

static int write_query(struct builder *b)
{
	int err = read_options(b);
	char *text = err ? NULL : write_to_pool(b, write_a_file, &b->file[0]);

	if (text)
		err = write_headers(b);
	if (text && !err)
		err = clquery_list_names(b);
	b->query->text = text && !err ? write_to_pool(b, write_main, text) : NULL;
	return b->pool->failed || !b->query->text ? -ENOMEM : err;
}

int gpubpf_cl_query(const struct gpubpf_cl_source *source, struct gpubpf_pool *pool, struct cl_query *query)
{
	struct builder *b = gpubpf_pool_alloc(pool, 1, sizeof(*b)), *again;
	struct cl_query first;
	int err;

	if (!b)
		return -ENOMEM;
	err = start_query(b, source, pool, query);
	err = err ? err : write_query(b);
	if (err || query->unsure || (!query->lines && !query->counts))
		return err;
	again = gpubpf_pool_alloc(pool, 1, sizeof(*again));
	first = *query;
	err = again ? start_query(again, source, pool, query) : -ENOMEM;
	if (!err && first.lines)
		clquery_list_positional(b, again, LINE);
	if (!err && first.counts)
		clquery_list_positional(b, again, COUNTER);
	return err ? err : write_query(again);
}
