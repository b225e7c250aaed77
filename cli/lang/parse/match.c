/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what the glob of a probe matches: functions of a file or of the Linux kernel, and tracepoints. The names are
 * sorted, and no name occurs twice.
 */
#include <bpf/btf.h>
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parse.h"

struct names {
	struct lang *l;
	const char *pattern;
	const struct names *among; /* the names must also be in this sorted list; NULL: all are possible */
	const char **name;
	uint32_t n, room;
};

static void add(struct names *names, const char *name, size_t size)
{
	const char *copy, **grown = names->name;

	if (names->n == names->room) {
		names->room = names->room ? 2 * names->room : 256;
		grown = reallocarray(names->name, names->room, sizeof(*grown));
	}
	copy = grown ? lang_copy(names->l, name, size) : NULL;
	if (!copy) {
		lang_fail(names->l, 0, "use a longer glob", "out of memory");
		names->room = names->n;
		return;
	}
	names->name = grown;
	names->name[names->n++] = copy;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort(struct names *names)
{
	if (names->n)
		qsort(names->name, names->n, sizeof(*names->name), by_name);
}

static bool is_among(const struct names *names, const char *name)
{
	return names->n && bsearch(&name, names->name, names->n, sizeof(*names->name), by_name);
}

static void add_if_matched(struct names *names, const char *name)
{
	if (!fnmatch(names->pattern, name, 0) && (!names->among || is_among(names->among, name)))
		add(names, name, strlen(name));
}

/* -- functions of a file -- */

/* Add the functions of a table of symbols. A symbol may have a version, as in memcpy@GLIBC_2.14. */
static void add_symbols(void *arg, Elf *elf, Elf_Scn *scn, const GElf_Shdr *header)
{
	struct names *names = arg;
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	GElf_Sym sym;

	for (size_t i = 0; data && i < n && !names->l->failed && gelf_getsym(data, (int)i, &sym); i++) {
		const char *name = elf_strptr(elf, header->sh_link, sym.st_name);
		char plain[256];

		if (!name || GELF_ST_TYPE(sym.st_info) != STT_FUNC || !sym.st_value || !sym.st_shndx)
			continue;
		snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(name, "@"), name);
		add_if_matched(names, plain);
	}
}

/* Call `visit` for each table of symbols of the file. Returns false if the file cannot be read. */
static bool visit_tables(const char *path, void (*visit)(void *arg, Elf *elf, Elf_Scn *scn, const GElf_Shdr *header),
			 void *arg)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf *elf = NULL;
	Elf_Scn *s = NULL;
	GElf_Shdr header;

	elf_version(EV_CURRENT);
	if (fd >= 0)
		elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	while (elf && (s = elf_nextscn(elf, s)))
		if (gelf_getshdr(s, &header) && (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			visit(arg, elf, s, &header);
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool add_functions(struct names *names, const char *path)
{
	return visit_tables(path, add_symbols, names);
}

struct symbol {
	const char *name;
	uint64_t address, bytes;
};

static void find_symbol(void *arg, Elf *elf, Elf_Scn *scn, const GElf_Shdr *header)
{
	struct symbol *wanted = arg;
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	GElf_Sym sym;

	for (size_t i = 0; data && i < n && !wanted->address && gelf_getsym(data, (int)i, &sym); i++) {
		const char *name = elf_strptr(elf, header->sh_link, sym.st_name);

		if (!name || !sym.st_shndx || strcmp(name, wanted->name))
			continue;
		wanted->address = sym.st_value;
		wanted->bytes = sym.st_size;
	}
}

bool lang_symbol_address(const char *path, const char *name, uint64_t *address, uint64_t *bytes)
{
	struct symbol wanted = { .name = name };

	if (!visit_tables(path, find_symbol, &wanted) || !wanted.address)
		return false;
	*address = wanted.address;
	*bytes = wanted.bytes;
	return true;
}

/* -- functions of the Linux kernel -- */

/*
 * Read a line of /proc/kallsyms or of available_filter_functions: [ADDRESS KIND] NAME [MODULE]. Returns the name if it
 * is a function that a probe can name, or NULL.
 */
static char *function_in_line(char *line, bool is_filter, const char **module)
{
	char *name = line, *end;

	if (!is_filter) {
		name = strchr(line, ' ');
		if (!name || !strchr("tTwW", name[1]) || name[2] != ' ')
			return NULL;
		name += 3;
	}
	end = name + strcspn(name, " \t\n");
	*module = end[strspn(end, " \t")] == '[' ? end + strspn(end, " \t") + 1 : "vmlinux]";
	*end = '\0';
	return strchr(name, '.') || !strncmp(name, "__pfx_", 6) || !strncmp(name, "__cfi_", 6) ? NULL : name;
}

static bool is_module(const char *found, const char *wanted, size_t n)
{
	return !n || (!strncmp(found, wanted, n) && found[n] == ']');
}

/* Add functions that match [MODULE:]PATTERN. The first file has only functions that can be probed, but may be unreadable. */
static bool add_kernel_functions(struct names *names)
{
	static const char *const files[] = { "/sys/kernel/tracing/available_filter_functions",
					     "/sys/kernel/debug/tracing/available_filter_functions", "/proc/kallsyms" };
	const char *colon = strrchr(names->pattern, ':'), *wanted = names->pattern, *module;
	FILE *f = NULL;
	char line[512];
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]) && !f; i++)
		f = fopen(files[i], "re");
	names->pattern = colon ? colon + 1 : names->pattern;
	while (f && !names->l->failed && fgets(line, sizeof(line), f)) {
		char *name = function_in_line(line, i < sizeof(files) / sizeof(files[0]), &module);

		if (name && is_module(module, wanted, colon ? (size_t)(colon - wanted) : 0))
			add_if_matched(names, name);
	}
	if (f)
		fclose(f);
	return f;
}

/* Add names that BTF has: of functions, or of the typedefs btf_trace_NAME, one for each raw tracepoint. */
static bool add_btf_names(struct names *names, bool is_tracepoint)
{
	static const char prefix[] = "btf_trace_";
	const struct btf *btf = lang_btf(names->l);
	const char *colon = strrchr(names->pattern, ':');
	size_t skip = is_tracepoint ? strlen(prefix) : 0;

	names->pattern = colon ? colon + 1 : names->pattern;
	for (uint32_t id = 1; btf && id < btf__type_cnt(btf) && !names->l->failed; id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);
		const char *name = t ? btf__name_by_offset(btf, t->name_off) : NULL;

		if (name && (is_tracepoint ? btf_is_typedef(t) && !strncmp(name, prefix, skip) : btf_is_func(t)))
			add_if_matched(names, name + skip);
	}
	return btf;
}

/* Add functions that BTF has and that the kernel did not inline everywhere. */
static bool add_typed_functions(struct names *names)
{
	struct names all = { .l = names->l, .pattern = names->pattern };
	bool ok = add_kernel_functions(&all);

	sort(&all);
	names->among = &all;
	ok = add_btf_names(names, false) && ok;
	names->among = NULL;
	free(all.name);
	return ok;
}

/* -- tracepoints -- */

static void add_tracepoints(struct names *names, const char *root, const char *category)
{
	char path[512];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/%.200s", root, category);
	folder = opendir(path);
	while (folder && !names->l->failed && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && entry->d_type == DT_DIR && !fnmatch(names->pattern, entry->d_name, 0)) {
			const char *name = lang_format(names->l, "%s:%s", category, entry->d_name);

			if (name)
				add(names, name, strlen(name));
		}
	if (folder)
		closedir(folder);
}

static bool add_categories(struct names *names, const char *category)
{
	static const char *const roots[] = { "/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events" };
	struct dirent *entry;
	DIR *folder = NULL;
	size_t i;

	for (i = 0; i < sizeof(roots) / sizeof(roots[0]) && !folder; i++)
		folder = opendir(roots[i]);
	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && entry->d_type == DT_DIR && !fnmatch(category, entry->d_name, 0))
			add_tracepoints(names, roots[i - 1], entry->d_name);
	if (folder)
		closedir(folder);
	return folder;
}

/* -- results -- */

/* Return a list of the names, without the second of two equal ones. */
static struct lang_match *list(struct names *names, uint32_t *n)
{
	struct lang_match *first = NULL, **end = &first;

	sort(names);
	*n = 0;
	for (uint32_t i = 0; i < names->n; i++) {
		if (i && !strcmp(names->name[i], names->name[i - 1]))
			continue;
		*end = lang_alloc(names->l, sizeof(**end));
		if (!*end)
			break;
		(*end)->name = names->name[i];
		end = &(*end)->next;
		++*n;
	}
	return first;
}

static bool find(struct names *names, enum lang_linux_kind kind, const char *first)
{
	switch (kind) {
	case LANG_LINUX_UPROBE:
	case LANG_LINUX_URETPROBE:
		return add_functions(names, first);
	case LANG_LINUX_KPROBE:
	case LANG_LINUX_KRETPROBE:
		return add_kernel_functions(names);
	case LANG_LINUX_TRACEPOINT:
		return add_categories(names, first);
	case LANG_LINUX_RAW_TRACEPOINT:
		return add_btf_names(names, true);
	default:
		return add_typed_functions(names);
	}
}

/* what to do if no name matches */
static const char *remedy_for(enum lang_linux_kind kind)
{
	switch (kind) {
	case LANG_LINUX_UPROBE:
	case LANG_LINUX_URETPROBE:
		return "nm FILE and nm -D FILE list the functions of a file";
	case LANG_LINUX_KPROBE:
	case LANG_LINUX_KRETPROBE:
		return "grep NAME /proc/kallsyms lists the functions";
	case LANG_LINUX_TRACEPOINT:
		return "mount -t tracefs none /sys/kernel/tracing, whose folder events has the tracepoints";
	default:
		return "bpftool btf dump file /sys/kernel/btf/vmlinux lists the names";
	}
}

struct lang_match *lang_matches(struct lang_lex *x, enum lang_linux_kind kind, const char *word, const char *first,
				const char *pattern)
{
	struct names names = { .l = x->l, .pattern = pattern };
	bool ok = find(&names, kind, first);
	struct lang_match *found;
	uint32_t n;

	found = list(&names, &n);
	free(names.name);
	if (!ok)
		lang_fail(x->l, x->pos, remedy_for(kind),
			  "the glob %.100s cannot be expanded: no list of names is readable", word);
	else if (!n)
		lang_fail(x->l, x->pos, remedy_for(kind), "%.100s matches nothing", word);
	else if (n > LANG_PROBES)
		lang_fail(x->l, x->pos, "use a longer glob", "%.100s matches %u probes; the maximum is %u", word, n,
			  LANG_PROBES);
	return x->l->failed ? NULL : found;
}
