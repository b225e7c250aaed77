/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the files that a text includes or imports. Their bytes are added after the text, so that each position of a node
 * or an error belongs to one file. A header of C only adds constants, from lines such as #define AF_INET 2.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parse.h"

#define MAX_HEADERS 64 /* maximum nesting depth of headers */

static const char *const header_folders[] = {
	"/usr/include",
#ifdef __x86_64__
	"/usr/include/x86_64-linux-gnu",
#else
	"/usr/include/aarch64-linux-gnu",
#endif
};

/* Open a regular file, and never wait for a pipe or a device. Returns a descriptor or -errno. */
static int open_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	*size = st.st_size > 0 ? (size_t)st.st_size : 0;
	return fd;
}

/* Add room for a file after the text. Returns false if the text would be too long. */
static bool grow(struct lang *l, size_t size)
{
	char *grown = size > LANG_SOURCES_SIZE || l->total + size > LANG_SOURCES_SIZE || l->nsources == LANG_SOURCES ?
			      NULL :
			      realloc(l->joined, l->total + size + 2);

	if (!grown)
		return false;
	if (!l->joined)
		memcpy(grown, l->text, l->size);
	l->joined = grown;
	l->text = grown;
	return true;
}

/* Add the bytes of the file. Returns NULL, with *err, if the file cannot be added. */
static struct lang_input *add_file(struct lang *l, const char *path, int *err)
{
	struct lang_input *s = lang_alloc(l, sizeof(*s));
	size_t size = 0;
	ssize_t n;
	int fd = s ? open_file(path, &size) : -ENOMEM;

	*err = fd < 0 ? fd : grow(l, size) ? 0 : -EFBIG;
	if (fd < 0)
		return NULL;
	n = *err ? -1 : pread(fd, l->joined + l->total + 1, size, 0);
	close(fd);
	if (n < 0)
		return NULL;
	l->joined[l->total] = '\n'; /* ends the last line of the file before */
	*s = (struct lang_input){ l->sources, lang_copy(l, path, strlen(path)), (uint32_t)l->total + 1,
				  (uint32_t)(l->total + 1 + (size_t)n) };
	l->total += 1 + (size_t)n;
	l->joined[l->total] = '\0';
	l->sources = s;
	l->nsources++;
	if (memchr(l->text + s->begin, 0, (size_t)n))
		lang_fail(l, s->begin, "include a text file", "the file contains a zero byte");
	return s;
}

static bool is_read(const struct lang *l, const char *path)
{
	for (const struct lang_input *s = l->sources; s; s = s->next)
		if (!strcmp(s->name, path))
			return true;
	return false;
}

/* Return the path of a file whose name is relative to the folder of the file that contains the position. */
static const char *relative_path(struct lang *l, const char *name, uint32_t pos)
{
	const char *from = lang_source_name(l, pos), *slash = strrchr(from, '/');

	return name[0] == '/' || !slash ? name : lang_format(l, "%.*s/%s", (int)(slash - from), from, name);
}

void lang_include(struct lang_parser *p, const char *name, uint32_t pos, uint32_t after, bool once)
{
	struct lang *l = p->l;
	const char *path = name ? relative_path(l, name, pos) : NULL;
	struct lang_define *part = lang_alloc(l, sizeof(*part));
	struct lang_input *s;
	int err = 0;

	p->lex.at = after;
	if (!path || !part || l->failed || (once && is_read(l, path)))
		return;
	if (!l->reads_files || p->lex.nreplacements == LANG_DEFINE_DEPTH) {
		lang_fail(l, pos, "write its text here",
			  l->reads_files ? "files are included more than %u levels deep" : "this text cannot include files",
			  LANG_DEFINE_DEPTH);
		return;
	}
	s = add_file(l, path, &err);
	if (!s) {
		lang_fail(l, pos, "names are relative to the folder of the script", "%.150s cannot be included: %s", path,
			  err == -EFBIG  ? "all files together are too large, or too many" :
			  err == -EINVAL ? "it is no file" :
					   strerror(-err));
		return;
	}
	*part = (struct lang_define){ .name = "", .begin = s->begin, .end = s->end };
	lang_find_macros(l, s->begin, s->end);
	p->lex.replacement[p->lex.nreplacements++] = (struct lang_replacement){ part, after };
	p->lex.at = s->begin;
}

/* -- headers of C -- */

static uint32_t skip_blanks(const char *text, uint32_t at)
{
	while (text[at] == ' ' || text[at] == '\t')
		at++;
	return at;
}

static uint32_t word_end(const char *text, uint32_t at)
{
	while (lang_is_word(text[at]))
		at++;
	return at;
}

/* Names of constants have capital letters, so they replace no word of the language. */
static bool is_constant_name(const char *text, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!isupper((unsigned char)text[i]) && !isdigit((unsigned char)text[i]) && text[i] != '_')
			return false;
	return n > 1;
}

/* Return the end of a value: a number or the name of another constant, also in parentheses. 0: another text. */
static uint32_t value_end(const char *text, uint32_t at)
{
	bool open = text[at] == '(';
	uint32_t begin, end;
	uint64_t value;

	at = skip_blanks(text, at + open);
	begin = at;
	end = word_end(text, at + (text[at] == '-'));
	if (lang_number(text + begin + (text[begin] == '-'), end - begin, &value) == 0 &&
	    !is_constant_name(text + begin, end - begin))
		return 0;
	at = skip_blanks(text, end);
	if (open && text[at] != ')')
		return 0;
	end = at = at + open;
	at = skip_blanks(text, at);
	return text[at] == '\n' || !text[at] || (text[at] == '/' && (text[at + 1] == '*' || text[at + 1] == '/')) ? end :
														    0;
}

static bool is_same_text(const char *text, const struct lang_define *d, uint32_t begin, uint32_t end)
{
	return d->end - d->begin == end - begin && !memcmp(text + d->begin, text + begin, end - begin);
}

/*
 * Add the constant of a line #define NAME value. The header may choose between two values by an #if, which is not
 * evaluated, so a name with two values gets none.
 */
static void add_constant(struct lang *l, uint32_t at)
{
	uint32_t name = skip_blanks(l->text, at), end = word_end(l->text, name), begin = skip_blanks(l->text, end), last;
	struct lang_define *d = l->defines;

	last = is_constant_name(l->text + name, end - name) && begin > end ? value_end(l->text, begin) : 0;
	if (!last)
		return;
	while (d && (strlen(d->name) != end - name || strncmp(d->name, l->text + name, end - name)))
		d = d->next;
	if (d && !is_same_text(l->text, d, begin, last))
		d->name = "";
	if (d)
		return;
	d = lang_alloc(l, sizeof(*d));
	if (!d)
		return;
	*d = (struct lang_define){ l->defines, lang_copy(l, l->text + name, end - name), begin, last };
	l->defines = d;
}

static bool add_header(struct lang *l, const char *name, const char *folder, uint32_t depth);

/* Add the header that a line #include <NAME> or "NAME" of another header names. */
static void add_inner_header(struct lang *l, const struct lang_input *s, uint32_t at, uint32_t depth)
{
	uint32_t begin = skip_blanks(l->text, at) + 1, end = begin;
	const char *slash = strrchr(s->name, '/'), *name;

	while (end < s->end && l->text[end] != '>' && l->text[end] != '"' && l->text[end] != '\n')
		end++;
	name = lang_copy(l, l->text + begin, end - begin);
	if (name && (l->text[begin - 1] == '<' || l->text[begin - 1] == '"'))
		add_header(l, name, lang_format(l, "%.*s", (int)(slash - s->name), s->name), depth + 1);
}

static void add_constants(struct lang *l, const struct lang_input *s, uint32_t depth)
{
	for (uint32_t at = s->begin; at < s->end && !l->failed; at++) {
		uint32_t word = skip_blanks(l->text, at);

		if (l->text[word] == '#') {
			word = skip_blanks(l->text, word + 1);
			if (!strncmp(l->text + word, "define ", 7) || !strncmp(l->text + word, "define\t", 7))
				add_constant(l, word + 7);
			else if (!strncmp(l->text + word, "include", 7))
				add_inner_header(l, s, word + 7, depth);
		}
		while (at < s->end && l->text[at] != '\n')
			at++;
	}
}

/* Add a header of the folders of the C library, or of the folder of the header that names it. */
static bool add_header(struct lang *l, const char *name, const char *folder, uint32_t depth)
{
	const char *const folders[] = { folder, header_folders[0], header_folders[1] };
	struct lang_input *s;
	int err;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && depth < MAX_HEADERS; i++) {
		const char *path = folders[i] ? lang_format(l, "%s/%s", folders[i], name) : NULL;

		if (!path)
			continue;
		if (is_read(l, path))
			return true;
		s = access(path, R_OK) ? NULL : add_file(l, path, &err);
		if (!s)
			continue;
		add_constants(l, s, depth);
		return true;
	}
	return false;
}

void lang_include_header(struct lang_parser *p, const char *name, uint32_t pos)
{
	if (!name || p->l->failed || (p->l->reads_files && add_header(p->l, name, NULL, 0)) || lang_btf(p->l))
		return; /* types come from the Linux kernel's BTF */
	lang_fail(p->l, pos, "define the types of the script: struct pair { int a; int b; }",
		  "the header %.100s cannot be read, and the Linux kernel has no BTF", name);
}
