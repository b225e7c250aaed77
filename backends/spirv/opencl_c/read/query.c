/* SPDX-License-Identifier: Apache-2.0 */
#include "query.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/spirv/common/options.h"
#include "lines.h"

enum { MAX_FILES = 512, MAX_FILE_BYTES = 8 << 20, MAX_NAMES = 50000, MAX_DEPTH = 1000 };

/* names whose value depends on the code that precedes them */
enum moving { LINE, COUNTER, MOVING };
static const char *const moving_names[MOVING] = { [LINE] = "__LINE__", [COUNTER] = "__COUNTER__" };

/* a file of the source: index 0 is the main one */
struct file {
	const char *path;        /* on disk; for a header of clCompileProgram, its name */
	const char *folder;      /* where quoted includes are searched first: "" or a path that ends with '/' */
	bool embedded;
	const char *text;
	size_t size;
};

/* a macro and an identifier in its replacement */
struct use {
	const char *macro, *name;
};

struct builder {
	const struct gpubpf_cl_source *source;
	struct gpubpf_pool *pool;
	struct cl_query *query;
	const char **folder;     /* folders of -I */
	uint32_t nfolders;
	struct file file[MAX_FILES];
	uint32_t nfiles;
	const char **tested, **mentioned, **defined; /* names, with repetitions; `defined`: names that -D defines */
	uint32_t ntested, nmentioned, ndefined;
	/* names in conditions that depend on __COUNTER__, and names in the replacements of these; sorted at the end */
	const char **weighed;
	uint32_t nweighed;
	struct use *use;
	uint32_t nuses;
	/* sorted: the name itself and all macros that mention it, directly or indirectly */
	const char **moving[MOVING];
	uint32_t nmoving[MOVING];
	/* nesting depth of conditions in the file; depth of the condition that tests __COUNTER__, 0: none */
	uint32_t depth, counted;
	uint32_t closing[MAX_DEPTH + 1]; /* by depth: number of extra #if that replace an #elif and need an #endif */
	FILE *out;
};

/* Names in every query: they identify the language and the features that clang can switch. */
static const char *const common_names[] = {
#define CL_MACRO(name) #name,
#include "macros.def"
};

/* -- lists in the pool -- */

static void *grow(struct builder *b, void *array, uint32_t n, size_t size)
{
	void *bigger;

	if (n & (n - 1) || (n && n < 16))
		return array;
	bigger = gpubpf_pool_alloc(b->pool, n ? 2 * n : 16, size);
	if (bigger && n)
		memcpy(bigger, array, n * size);
	return bigger;
}

static void add_name(struct builder *b, const char ***list, uint32_t *n, const char *at, size_t size)
{
	*list = grow(b, *list, *n, sizeof(**list));
	if (*list)
		(*list)[(*n)++] = gpubpf_pool_strndup(b->pool, at, size);
}

static void add_use(struct builder *b, const char *macro, size_t macro_size, const char *at, size_t size)
{
	b->use = grow(b, b->use, b->nuses, sizeof(*b->use));
	if (b->use)
		b->use[b->nuses++] = (struct use){ gpubpf_pool_strndup(b->pool, macro, macro_size),
						   gpubpf_pool_strndup(b->pool, at, size) };
}

static void add_mentioned(struct builder *b, const char *line)
{
	size_t size;

	for (const char *at = line; (at = clread_identifier(at, &size)); at += size)
		add_name(b, &b->mentioned, &b->nmentioned, at, size);
}

static void add_weighed(struct builder *b, const char *line)
{
	size_t size;

	for (const char *at = line; (at = clread_identifier(at, &size)); at += size)
		add_name(b, &b->weighed, &b->nweighed, at, size);
}

static void add_tested(struct builder *b, const char *line)
{
	size_t size;

	add_mentioned(b, line);
	for (const char *at = line; (at = clread_identifier(at, &size)); at += size)
		add_name(b, &b->tested, &b->ntested, at, size);
}

/* Record a macro's name and the names that its replacement mentions. */
static void add_macro(struct builder *b, const char *text)
{
	size_t macro_size, size;
	const char *macro = clread_identifier(text, &macro_size);

	add_mentioned(b, text);
	for (const char *at = macro ? macro + macro_size : NULL; at && (at = clread_identifier(at, &size)); at += size)
		add_use(b, macro, macro_size, at, size);
}

/* -- files -- */

static const char *join(struct builder *b, const char *folder, const char *name)
{
	char *path = gpubpf_pool_alloc(b->pool, strlen(folder) + strlen(name) + 2, 1);

	if (path)
		sprintf(path, "%s%s%s", folder, folder[0] && folder[strlen(folder) - 1] != '/' ? "/" : "", name);
	return path;
}

static const char *folder_of(struct builder *b, const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? gpubpf_pool_strndup(b->pool, path, slash + 1 - path) : "";
}

static bool load(struct builder *b, struct file *f)
{
	int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	char *text = NULL;
	ssize_t n = -1;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size < MAX_FILE_BYTES)
		text = gpubpf_pool_alloc(b->pool, st.st_size + 1, 1);
	if (text)
		n = read(fd, text, st.st_size);
	close(fd);
	f->text = text;
	f->size = n < 0 ? 0 : strnlen(text, n);
	return n >= 0;
}

static uint32_t find_file(const struct builder *b, const char *path, bool embedded)
{
	for (uint32_t i = 1; i < b->nfiles; i++)
		if (b->file[i].embedded == embedded && !strcmp(b->file[i].path, path))
			return i;
	return 0;
}

static uint32_t add_file(struct builder *b, struct file f)
{
	if (b->nfiles == MAX_FILES) {
		b->query->unsure = "it includes too many files";
		return 0;
	}
	f.folder = folder_of(b, f.path);
	b->file[b->nfiles] = f;
	return b->nfiles++;
}

static uint32_t find_on_disk(struct builder *b, const char *path)
{
	struct file f = { .path = path };
	uint32_t known = path ? find_file(b, path, false) : 0;

	if (known || !path)
		return known;
	return load(b, &f) ? add_file(b, f) : 0;
}

static uint32_t find_embedded(struct builder *b, const char *name)
{
	const struct gpubpf_header *h = b->source->headers;
	uint32_t known = name ? find_file(b, name, true) : 0;

	for (uint32_t i = 0; name && !known && i < b->source->nheaders; i++)
		if (!strcmp(h[i].name, name))
			known = add_file(b, (struct file){ .path = h[i].name, .embedded = true, .text = h[i].data,
							   .size = strnlen(h[i].data, h[i].size) });
	return known;
}

/* Search in the order of clang's command line (args.c). 0: there is no such file. */
static uint32_t find_included(struct builder *b, const struct file *from, const char *name, bool quoted)
{
	uint32_t found = 0;

	if (name[0] == '/')
		return find_on_disk(b, name);
	if (quoted && from->embedded)
		found = find_embedded(b, join(b, from->folder, name));
	else if (quoted && from->folder[0])
		found = find_on_disk(b, join(b, from->folder, name));
	for (uint32_t i = 0; !found && i < b->nfolders; i++)
		found = find_on_disk(b, join(b, b->folder[i], name));
	return found ? found : find_embedded(b, name);
}

/* -- the text -- */

static void write_branch(struct builder *b, struct cl_branch branch)
{
	struct cl_query *q = b->query;

	q->branch = grow(b, q->branch, q->nbranches, sizeof(*q->branch));
	if (q->branch)
		q->branch[q->nbranches] = branch;
	fprintf(b->out, "\"%u.\"\n", q->nbranches++);
}

/* The answer shows whether the device's compiler reaches an #include whose header is in no known folder, and whether it
 * has such a header itself. */
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
	const char *open = operand + strspn(operand, " \t"), *close = open[0] ? strchr(open + 1, *open == '<' ? '>' : '"') : NULL;
	const char *name = (*open == '<' || *open == '"') && close ? gpubpf_pool_strndup(b->pool, open + 1, close - open - 1) : NULL;
	uint32_t found = 0;

	if (name)
		found = find_included(b, from, name, *open == '"');
	else
		add_mentioned(b, operand);
	if (found)
		fprintf(b->out, "#include \"gpubpf-file-%u.h\"\n", found);
	else if (name)
		write_missing(b, line, gpubpf_pool_strndup(b->pool, open, close + 1 - open), name);
	else
		fprintf(b->out, "#include%s\n", operand);
}

static bool is_any(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}
#define IS_ANY(name, list) is_any(name, list, sizeof(list) / sizeof(*(list)))

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has_text(const char *const *sorted, uint32_t n, const char *text)
{
	return sorted && n && bsearch(&text, sorted, n, sizeof(*sorted), compare_texts);
}

static bool mentions_moving(struct builder *b, enum moving moving, const char *line)
{
	size_t size;

	for (const char *at = line; b->nmoving[moving] && (at = clread_identifier(at, &size)); at += size)
		if (has_text(b->moving[moving], b->nmoving[moving], gpubpf_pool_strndup(b->pool, at, size)))
			return true;
	return false;
}

/* Does the directive leave all macros unchanged? */
static bool leaves_macros(const char *name, const char *rest)
{
	static const char *const harmless[] = { "else", "elif", "elifdef", "elifndef", "endif", "error", "warning", "line",
						"" };

	return IS_ANY(name, harmless) || (!strcmp(name, "pragma") && !strstr(rest, "_macro") && !strstr(rest, "once"));
}

/*
 * Follow the nesting of conditions, and find conditions that test __COUNTER__. A query has no code, so its __COUNTER__
 * has other values than in the source. In the source both compilers count alike, because they read the same code.
 * Therefore nothing else may depend on a branch that a counter value decides.
 */
static void track_conditions(struct builder *b, const char *name, const char *rest)
{
	if (b->counted && (!leaves_macros(name, rest) || strstr(rest, "__has_")))
		b->query->unsure = "macros or other branches depend on a branch that tests __COUNTER__";
	b->depth += !strncmp(name, "if", 2);
	if (b->depth > MAX_DEPTH) {
		b->query->unsure = "its conditions nest too deeply";
		b->depth = MAX_DEPTH;
	}
	if (!strncmp(name, "if", 2))
		b->closing[b->depth] = 0;
	if (!b->counted && (!strcmp(name, "if") || !strcmp(name, "elif")) && mentions_moving(b, COUNTER, rest)) {
		b->counted = b->depth;
		if (strstr(rest, "__has_"))
			b->query->unsure = "a condition tests __COUNTER__ and what the compiler supports";
	}
	if (b->counted && (!strcmp(name, "if") || !strncmp(name, "elif", 4)))
		add_weighed(b, rest);
}

/* Write a condition with its line number in the source. A #line in a skipped group has no effect, thus #elif becomes
 * #else and #if. */
static void write_condition(struct builder *b, const struct cl_line *line, const char *name, const char *rest)
{
	if (!b->nmoving[LINE] || (strcmp(name, "if") && strcmp(name, "elif"))) {
		fprintf(b->out, "#%s%s\n", name, rest);
		return;
	}
	if (!strcmp(name, "elif")) {
		fprintf(b->out, "#else\n");
		b->closing[b->depth]++;
	}
	fprintf(b->out, "#line %u\n#if%s\n", line->number, rest);
}

static void write_end(struct builder *b)
{
	for (uint32_t i = 0; i <= b->closing[b->depth]; i++)
		fprintf(b->out, "#endif\n");
	if (b->counted == b->depth)
		b->counted = 0;
	b->depth -= b->depth != 0;
}

/* Is the file in one of the source's folders? The answer does not depend on the compiler. */
static bool has_file(struct builder *b, const struct file *from, const char *operand, size_t size, bool *sure)
{
	const char *name = gpubpf_pool_strndup(b->pool, operand + 1, size - 2);
	struct file elsewhere = { .folder = "" };
	bool quoted = *operand == '"', found = find_included(b, from, name, quoted);

	/* compilers disagree about the folder of the main file */
	if (found && quoted && from == &b->file[0] && !find_included(b, &elsewhere, name, true))
		*sure = false;
	return found;
}

/* Parse an operand in parentheses that names a file. Returns the end, NULL if it names none. */
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

/* Replace tests for files in the source's folders by 1. The compilers answer the other tests, because the query has no
 * folders. */
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
		b->query->unsure = "it tests whether files exist";
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
		add_tested(b, rest);
	if (!strcmp(name, "define"))
		add_macro(b, rest);
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

/* Does it look like a macro that a compiler predefines? */
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
			add_name(b, &b->mentioned, &b->nmentioned, at, size);
	if (strstr(line, "_Pragma") && strstr(line, "_macro"))
		b->query->unsure = "it changes macros by _Pragma";
}

/* Check that a directive that tests its line occupies one line, and that no #line changes the numbers. */
static void check_line(struct builder *b, const struct cl_lines *lines, uint32_t i, const char *name, const char *rest)
{
	bool one = i + 1 == lines->n || lines->line[i + 1].number == lines->line[i].number + 1;

	if (b->nmoving[LINE] && (!strcmp(name, "line") || isdigit((unsigned char)*name)))
		b->query->unsure = "it tests __LINE__ and has #line";
	if (!one && mentions_moving(b, LINE, rest))
		b->query->unsure = "a condition that tests __LINE__ has several lines";
}

static int write_file(struct builder *b, const struct file *f)
{
	struct cl_lines lines;
	char name[16];

	if (clread_split_lines(f->text, f->size, b->pool, &lines) < 0)
		return -ENOMEM;
	if (lines.trigraphs)
		b->query->unsure = "it has trigraphs";
	b->depth = b->counted = b->closing[0] = 0;
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

/* -- names -- */

/* Skip names whose replacement the compilers cannot print alike, except __LINE__ and __COUNTER__ if conditions test
 * them. */
static bool is_excluded(const struct builder *b, const char *name)
{
	static const char *const exact[] = { "defined", "__FILE__", "__LINE__", "__DATE__", "__TIME__", "__TIMESTAMP__", "__COUNTER__",
					     "__BASE_FILE__", "__INCLUDE_LEVEL__", "__FILE_NAME__", "_Pragma", "__pragma" };
	static const char *const begin[] = { "__has_", "__is_", "__VA_", "__building_module", "gpubpf_" };

	for (size_t i = 0; i < sizeof(begin) / sizeof(*begin); i++)
		if (!strncmp(name, begin[i], strlen(begin[i])))
			return true;
	for (enum moving m = 0; m < MOVING; m++)
		if (b->nmoving[m] && !strcmp(name, moving_names[m]))
			return false;
	return IS_ANY(name, exact);
}

static void sort_texts(const char **list, uint32_t n)
{
	if (n)
		qsort(list, n, sizeof(*list), compare_texts);
}

static void add_query_name(struct builder *b, const char *text, bool own)
{
	struct cl_query *q = b->query;

	if (is_excluded(b, text) || has_text(b->defined, b->ndefined, text) || q->nnames == MAX_NAMES)
		return;
	if (q->nnames && !strcmp(q->name[q->nnames - 1].text, text)) {
		q->name[q->nnames - 1].own |= own;
		return;
	}
	q->name[q->nnames++] = (struct cl_name){ .text = text, .own = own };
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct cl_name *)a)->text, ((const struct cl_name *)b)->text);
}

static struct cl_name *find_name(const struct cl_query *q, const char *text)
{
	struct cl_name key = { text };

	return q->nnames ? bsearch(&key, q->name, q->nnames, sizeof(key), compare_names) : NULL;
}

/* Note whether the name has another value in the query than in the source. */
static void check_tested(struct builder *b, const char *name)
{
	b->query->lines |= !strcmp(name, moving_names[LINE]);
	b->query->counts |= !strcmp(name, moving_names[COUNTER]);
}

static void check_used(struct builder *b, const char *name)
{
	static const char *const files[] = { "__has_include", "__has_include_next", "__has_embed" };

	check_tested(b, name);
	if (IS_ANY(name, files))
		b->query->unsure = "a macro tests whether files exist";
}

/* A tested macro tests each name in its replacement. Macros of -D are not listed in the query; they count as tested. */
static void propagate_tests(struct builder *b)
{
	bool changed = true;

	for (uint32_t i = 0; i < b->ntested; i++) {
		struct cl_name *name = find_name(b->query, b->tested[i]);

		if (name)
			name->tested = true;
	}
	for (uint32_t i = 0; i < b->ntested; i++)
		check_tested(b, b->tested[i]);
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < b->nuses; i++) {
			struct cl_name *macro = find_name(b->query, b->use[i].macro), *name = find_name(b->query, b->use[i].name);

			if (macro && !macro->tested)
				continue;
			check_used(b, b->use[i].name);
			if (!name || name->tested)
				continue;
			name->tested = changed = true;
		}
	}
}

static void propagate_weights(struct builder *b)
{
	uint32_t before = 0;

	sort_texts(b->weighed, b->nweighed);
	while (b->nweighed != before && !b->pool->failed) {
		before = b->nweighed;
		for (uint32_t i = 0; i < b->nuses; i++)
			if (has_text(b->weighed, b->nweighed, b->use[i].macro) && !has_text(b->weighed, b->nweighed, b->use[i].name)) {
				add_name(b, &b->weighed, &b->nweighed, b->use[i].name, strlen(b->use[i].name));
				sort_texts(b->weighed, b->nweighed);
			}
	}
	for (uint32_t i = 0; i < b->query->nnames; i++)
		b->query->name[i].weighed = has_text(b->weighed, b->nweighed, b->query->name[i].text);
}

static int list_names(struct builder *b)
{
	size_t n = sizeof(common_names) / sizeof(*common_names), k = 0, m = 0;

	sort_texts(b->mentioned, b->nmentioned);
	sort_texts(b->defined, b->ndefined);
	b->query->name = gpubpf_pool_alloc(b->pool, b->nmentioned + n, sizeof(*b->query->name));
	if (!b->query->name)
		return -ENOMEM;
	while (k < n || m < b->nmentioned) /* merge two sorted lists */
		if (k == n || (m < b->nmentioned && strcmp(b->mentioned[m], common_names[k]) <= 0))
			add_query_name(b, b->mentioned[m++], true);
		else
			add_query_name(b, common_names[k++], false);
	propagate_tests(b);
	propagate_weights(b);
	return 0;
}

/* -- options -- */

static void read_define(struct builder *b, const char *word)
{
	size_t size;
	const char *name = clread_identifier(word, &size);

	if (name)
		add_name(b, &b->defined, &b->ndefined, name, size);
	add_macro(b, word);
}

static void add_folder(struct builder *b, const char *folder)
{
	const char *cwd = b->source->cwd && folder[0] != '/' ? b->source->cwd : "";

	b->folder[b->nfolders++] = join(b, cwd, folder);
}

/* Copy the options without folders, because the query itself contains all files. */
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
			to += sprintf(to, "%.*s ", (int)(words.word[i].end - words.word[i].start), options + words.word[i].start);
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

/* The output of `write`, copied to the pool. */
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

/* Older compilers support variadic macros only in OpenCL C 2.0 and later (NVIDIA's 580, clang 7). */
static const char stringify_macros[] = "#if defined(__OPENCL_CPP_VERSION__) || __OPENCL_C_VERSION__ >= 200\n"
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

static int start_query(struct builder *b, const struct gpubpf_cl_source *source, struct gpubpf_pool *pool, struct cl_query *query)
{
	*query = (struct cl_query){ .header = gpubpf_pool_alloc(pool, MAX_FILES, sizeof(*query->header)) };
	*b = (struct builder){ .source = source, .pool = pool, .query = query, .nfiles = 1 };
	b->file[0] = (struct file){ "", source->cwd && source->cwd[0] ? join(b, source->cwd, "/") : "", false, source->text, source->size };
	return query->header ? 0 : -ENOMEM;
}

static int write_query(struct builder *b)
{
	int err = read_options(b);
	char *text = err ? NULL : write_to_pool(b, write_a_file, &b->file[0]);

	if (text)
		err = write_headers(b);
	if (text && !err)
		err = list_names(b);
	b->query->text = text && !err ? write_to_pool(b, write_main, text) : NULL;
	return b->pool->failed || !b->query->text ? -ENOMEM : err;
}

/* List the macros of a written query that mention the name, directly or indirectly. */
static void list_moving(const struct builder *from, struct builder *to, enum moving moving)
{
	const char ***list = &to->moving[moving];
	uint32_t *n = &to->nmoving[moving], before = 0;

	add_name(to, list, n, moving_names[moving], strlen(moving_names[moving]));
	while (*n != before && !to->pool->failed) {
		before = *n;
		for (uint32_t i = 0; i < from->nuses; i++)
			if (has_text(*list, *n, from->use[i].name) && !has_text(*list, *n, from->use[i].macro)) {
				add_name(to, list, n, from->use[i].macro, strlen(from->use[i].macro));
				sort_texts(*list, *n);
			}
	}
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
		list_moving(b, again, LINE);
	if (!err && first.counts)
		list_moving(b, again, COUNTER);
	return err ? err : write_query(again);
}
