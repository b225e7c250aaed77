/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses probes of the Linux kernel and of programs on the host, such as uprobe:/bin/app:main. Finds their words.
 * libbpf attaches the programs by the names of their sections.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

enum values { ARGS, RESULT, FIELDS };

static const struct provider {
	const char *name, *brief, *section;
	uint32_t parts;
	enum values values;
} providers[] = {
#define LANG_LINUX(NAME, name, brief, section, parts, args) { name, brief, section, parts, args },
#include "cli/lang/tree/linux.def"
};

/* Words of all these probes: a helper, and the bits of its result. 8 is all, 4 the high half, 1 the low half. */
static const struct {
	const char *name;
	uint32_t helper, size;
} words[] = {
	{ "pid", 14, 4 }, { "tid", 14, 1 },  { "gid", 15, 4 }, { "uid", 15, 1 },
	{ "cpu", 8, 8 },  { "nsecs", 5, 8 }, { "rand", 7, 8 },
};

static const struct provider *find_provider(const char *word, size_t n)
{
	for (size_t i = 0; i < sizeof(providers) / sizeof(providers[0]); i++)
		if ((strlen(providers[i].name) == n && !strncmp(providers[i].name, word, n)) ||
		    (strlen(providers[i].brief) == n && !strncmp(providers[i].brief, word, n)))
			return &providers[i];
	return NULL;
}

/* Return the file of a library that is named without its suffix: libc is libc.so.6, as in bpftrace. */
static const char *library(struct lang *l, const char *binary)
{
	static const char *const of_libc[] = { "libc", "libm", "libpthread", "libdl", "librt" };

	if (strchr(binary, '/') || strstr(binary, ".so"))
		return binary;
	for (size_t i = 0; i < sizeof(of_libc) / sizeof(of_libc[0]); i++)
		if (!strcmp(binary, of_libc[i]))
			return lang_format(l, "%s.so.6", binary);
	return strncmp(binary, "lib", 3) ? binary : lang_format(l, "%s.so", binary);
}

/* Split the text at colons into at most `most` parts; the last part has the rest. Returns the number of parts. */
static uint32_t split(char *text, char **part, uint32_t most)
{
	uint32_t n = 0;

	for (char *at = text; at && n < most; n++) {
		char *colon = n + 1 < most ? strchr(at, ':') : NULL;

		if (colon)
			*colon = '\0';
		part[n] = at;
		at = colon ? colon + 1 : NULL;
	}
	return n;
}

static const char *section_of(struct lang *l, const struct provider *p, char **part)
{
	if (p->values == FIELDS)
		return lang_format(l, "%s/%s/%s", p->section, part[0], part[1]);
	if (p->parts == 1)
		return lang_format(l, "%s/%s", p->section, part[0]);
	return lang_format(l, "%s/%s:%s", p->section, library(l, part[0]), part[1]);
}

bool lang_parse_linux(struct lang_lex *x, struct lang_probe *probe, const char *word)
{
	const char *colon = strchr(word, ':');
	const struct provider *p = colon ? find_provider(word, colon - word) : NULL;
	char *part[2] = { "", "" }, *text;
	uint32_t n;

	if (!p)
		return false;
	probe->when = LANG_IN_LINUX;
	probe->linux_kind = (enum lang_linux_kind)(p - providers);
	x->l->linux_probes = true;
	text = lang_copy(x->l, colon + 1, strlen(colon + 1));
	n = text ? split(text, part, p->parts) : 0;
	if (n != p->parts || !part[n - 1][0])
		lang_fail(x->l, x->pos, "uprobe:/bin/app:function, kprobe:function, tracepoint:syscalls:sys_enter_openat",
			  "%.60s needs %u part%s after %s:", word, p->parts, p->parts == 1 ? "" : "s", p->name);
	else if (strpbrk(word, "*?["))
		lang_fail(x->l, x->pos, "name each function in a probe of its own",
			  "%.60s: globs are only supported for GPU kernels", word);
	probe->linux_section = section_of(x->l, p, part);
	return true;
}

/* Store the row of arg0 to arg5 or retval: members of struct pt_regs. Returns false if the machine has no such table. */
static bool find_register(enum values values, const char *word, struct lang_builtin *builtin)
{
#ifdef __x86_64__
	static const uint32_t args[] = { 112, 104, 96, 88, 72, 64 }; /* rdi, rsi, rdx, rcx, r8, r9 */
	static const uint32_t result = 80;                           /* rax */
#else
	static const uint32_t args[] = { 0, 8, 16, 24, 32, 40 }; /* x0 to x5 of AArch64 */
	static const uint32_t result = 0;
#endif
	bool is_arg = values == ARGS && !strncmp(word, "arg", 3) && isdigit((unsigned char)word[3]) && !word[4];

	if (is_arg && word[3] > '5')
		return false;
	if (!is_arg && (values != RESULT || strcmp(word, "retval")))
		return false;
	*builtin = (struct lang_builtin){ is_arg ? "arg" : "retval", LANG_INT, LANG_SOURCE_CTX,
					  is_arg ? args[word[3] - '0'] : result, 8 };
	return true;
}

bool lang_linux_find(const struct lang_probe *probe, const char *word, struct lang_builtin *builtin)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i].name, word)) {
			*builtin = (struct lang_builtin){ words[i].name, LANG_INT, LANG_SOURCE_HELPER, words[i].helper,
							  words[i].size };
			return true;
		}
	if (!strcmp(word, "comm"))
		*builtin = (struct lang_builtin){ "comm", LANG_NAME, LANG_SOURCE_COMM, 0, 0 };
	else if (!strcmp(word, "elapsed"))
		*builtin = (struct lang_builtin){ "elapsed", LANG_INT, LANG_SOURCE_ELAPSED, 0, 8 };
	else if (!strcmp(word, "probe"))
		*builtin = (struct lang_builtin){ "probe", LANG_TEXT, LANG_SOURCE_PROBE, 0, 0 };
	else
		return find_register(providers[probe->linux_kind].values, word, builtin);
	return true;
}

/* -- fields of tracepoints -- */

static FILE *open_format(const char *section)
{
	static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char path[512];
	FILE *f = NULL;

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]) && !f; i++) {
		snprintf(path, sizeof(path), "%s/events/%.300s/format", roots[i], section + strlen("tracepoint/"));
		f = fopen(path, "re");
	}
	return f;
}

/* Parse a line of a format file, which describes a field. Returns true if the field has that name. */
static bool read_field(const char *line, const char *name, struct lang_type *type, struct lang_builtin *b)
{
	char declaration[128];
	unsigned int offset, size, is_signed;
	const char *last;

	if (sscanf(line, " field:%127[^;]; offset:%u; size:%u; signed:%u;", declaration, &offset, &size, &is_signed) != 4)
		return false;
	if (!strncmp(declaration, "__data_loc ", 11) || !strncmp(declaration, "__rel_loc ", 10))
		return false; /* the field holds the place of its value in the record, not a number */
	last = strrchr(declaration, ' ');
	if (!last || strcmp(last + 1, name) || (size != 1 && size != 2 && size != 4 && size != 8))
		return false;
	*b = (struct lang_builtin){ "args", LANG_INT, LANG_SOURCE_CTX, offset, size };
	*type = (struct lang_type){ LANG_INT, is_signed };
	return true;
}

struct lang_node *lang_tracepoint_field(struct lang_parser *p, uint32_t pos)
{
	struct lang_node *n = lang_node(p, LANG_N_CAST, pos);
	const char *section = p->block->probes->linux_section;
	bool found = false;
	char line[512];
	FILE *f;

	if (p->block->probes->next)
		lang_fail(p->l, pos, "write a block for each tracepoint",
			  "args needs a block with a single tracepoint: the places of fields differ");
	n->a = lang_node(p, LANG_N_BUILTIN, pos);
	f = open_format(section);
	if (!f)
		lang_fail(p->l, pos, "mount -t tracefs none /sys/kernel/tracing, and check the name of the tracepoint",
			  "the fields of %.100s cannot be read", section);
	while (f && !found && fgets(line, sizeof(line), f))
		found = read_field(line, p->lex.string, &n->type, &n->a->builtin);
	if (f)
		fclose(f);
	if (!found)
		lang_fail(p->l, p->lex.pos, "the file /sys/kernel/tracing/events/CATEGORY/NAME/format lists the fields",
			  "the tracepoint has no number or address %.60s", p->lex.string);
	n->value = 8 * n->a->builtin.size;
	n->a->type.base = LANG_INT;
	lang_next(&p->lex);
	return n;
}
