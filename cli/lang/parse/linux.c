/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses probes of the Linux kernel and of programs on the host, such as uprobe:/bin/app:main. Finds their words.
 * libbpf attaches the programs by the names of their sections.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

enum values { ARGS, RESULT, FIELDS, ARRAY, PARAMETERS, NOTED, NONE };

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
	{ "pid", 14, 4 },  { "tid", 14, 1 }, { "gid", 15, 4 },    { "uid", 15, 1 },      { "cpu", 8, 8 },
	{ "nsecs", 5, 8 }, { "rand", 7, 8 }, { "cgroup", 80, 8 }, { "jiffies", 118, 8 }, { "numaid", 42, 8 },
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

/* -- events of CPUs -- */

/* names of software and hardware events, with their numbers in perf_event_open(2) and the default number of events */
static const struct {
	const char *name;
	uint32_t type, config, count;
} events[] = {
	{ "cpu-clock", 1, 0, 1000000 },
	{ "cpu", 1, 0, 1000000 },
	{ "task-clock", 1, 1, 1000000 },
	{ "page-faults", 1, 2, 100 },
	{ "faults", 1, 2, 100 },
	{ "context-switches", 1, 3, 1000 },
	{ "cs", 1, 3, 1000 },
	{ "cpu-migrations", 1, 4, 1 },
	{ "minor-faults", 1, 5, 100 },
	{ "major-faults", 1, 6, 1 },
	{ "alignment-faults", 1, 7, 1 },
	{ "emulation-faults", 1, 8, 1 },
	{ "cpu-cycles", 0, 0, 1000000 },
	{ "cycles", 0, 0, 1000000 },
	{ "instructions", 0, 1, 1000000 },
	{ "cache-references", 0, 2, 1000000 },
	{ "cache-misses", 0, 3, 1000000 },
	{ "branch-instructions", 0, 4, 100000 },
	{ "branches", 0, 4, 100000 },
	{ "branch-misses", 0, 5, 100000 },
	{ "bus-cycles", 0, 6, 100000 },
	{ "frontend-stalls", 0, 7, 1000000 },
	{ "backend-stalls", 0, 8, 1000000 },
	{ "ref-cycles", 0, 9, 1000000 },
};

static const char *event_section(struct lang_lex *x, const struct provider *p, char **part)
{
	bool is_hardware = !strcmp(p->name, "hardware");
	uint64_t n = 0;

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (strcmp(events[i].name, part[0]) || (events[i].type == 0) != is_hardware)
			continue;
		n = events[i].count;
		if (part[1][0] && (lang_number(part[1], strlen(part[1]), &n) != strlen(part[1]) || !n))
			break;
		return lang_format(x->l, "perf_event/%u:%u:period:%llu", events[i].type, events[i].config,
				   (unsigned long long)n);
	}
	lang_fail(x->l, x->pos, "software:faults:100, software:cpu-clock:1000000, hardware:cache-misses:1000000",
		  "%s:%.40s is not an event with a number", p->name, part[0]);
	return "";
}

/* Return the section of profile:hz:99 or of profile:ms:10, a sample of each CPU by its clock. */
static const char *profile_section(struct lang_lex *x, char **part)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = { { "hz", 0 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
	uint64_t n = 0;

	if (lang_number(part[1], strlen(part[1]), &n) != strlen(part[1]) || n > 1000000)
		n = 0;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]) && n; i++)
		if (!strcmp(units[i].unit, part[0]))
			return lang_format(x->l, units[i].ns ? "perf_event/1:0:period:%llu" : "perf_event/1:0:freq:%llu",
					   (unsigned long long)(units[i].ns ? n * units[i].ns : n));
	lang_fail(x->l, x->pos, "profile:hz:99, profile:ms:10, profile:us:500 and profile:s:1 are possible",
		  "this is not an interval of samples");
	return "";
}

/* Return the section of watchpoint:0x10000000:8:rw, an access to memory at this address by any process. */
static const char *watchpoint_section(struct lang_lex *x, char **part)
{
	bool is_mode = part[2][0] && strspn(part[2], "rwx") == strlen(part[2]) &&
		       (!strcmp(part[2], "x") || !strchr(part[2], 'x'));
	uint64_t address = 0, length = 0;

	if (lang_number(part[0], strlen(part[0]), &address) == strlen(part[0]) && part[0][0] && is_mode &&
	    lang_number(part[1], strlen(part[1]), &length) == strlen(part[1]) &&
	    (length == 1 || length == 2 || length == 4 || length == 8))
		return lang_format(x->l, "perf_event/5:%llu:%s:%llu", (unsigned long long)address, part[2],
				   (unsigned long long)length);
	lang_fail(x->l, x->pos, "watchpoint:0x10000000:8:rw. The mode is r, w, rw or x; the length is 1, 2, 4 or 8",
		  "a watchpoint needs an address, a length and a mode");
	return "";
}

/* Skip a module before the name of a function or tracepoint, as in vmlinux:vfs_read. */
static const char *plain_name(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon ? colon + 1 : name;
}

static const char *section_of(struct lang_lex *x, const struct provider *p, struct lang_probe *probe, char **part)
{
	struct lang *l = x->l;
	const char *name;

	if (probe->linux_kind == LANG_LINUX_PROFILE)
		return profile_section(x, part);
	if (probe->linux_kind == LANG_LINUX_WATCHPOINT)
		return watchpoint_section(x, part);
	if (p->values == NONE)
		return event_section(x, p, part);
	name = plain_name(part[p->parts - 1]);
	probe->function = p->values == FIELDS || p->values == ARRAY ? NULL : lang_copy(l, name, strcspn(name, "+"));
	if (p->values == PARAMETERS || p->values == ARRAY)
		return lang_format(l, "%s/%s", p->section, plain_name(part[0]));
	if (p->values == FIELDS)
		return lang_format(l, "%s/%s/%s", p->section, part[0], part[1]);
	/* an offset shows that the probe is one of the Linux kernel, and not of GPU kernels */
	if (p->parts == 1)
		return lang_format(l, "%s/%s%s", p->section, name, strchr(name, '+') ? "" : "+0");
	probe->file = lang_find_file(l, library(l, part[0]));
	return lang_format(l, "%s/%s:%s", p->section, library(l, part[0]), part[1]);
}

/* -- globs, and usdt probes at several places -- */

/* Return the probe, or a copy after it for the next match. */
static struct lang_probe *next_probe(struct lang_lex *x, struct lang_probe *probe, bool is_first)
{
	struct lang_probe *next = is_first ? probe : lang_alloc(x->l, sizeof(*next));

	if (!is_first && next) {
		*next = *probe;
		probe->next = next;
	}
	return next;
}

/* Make a probe for each place of the usdt probe FILE:[PROVIDER:]NAME. */
static void add_usdt(struct lang_lex *x, struct lang_probe *probe, char **part)
{
	const char *provider = part[2][0] ? part[1] : "", *name = part[2][0] ? part[2] : part[1];
	bool is_glob = strpbrk(provider, "*?[") || strpbrk(name, "*?[");
	struct lang_match *first = lang_usdt_matches(x, library(x->l, part[0]), provider, name);

	for (struct lang_match *m = first; m && probe; m = m->next) {
		probe = next_probe(x, probe, m == first);
		if (!probe)
			break;
		if (is_glob)
			probe->section = lang_format(x->l, "usdt:%s:%s", part[0], m->name);
		probe->linux_section = m->section;
		probe->file = lang_find_file(x->l, library(x->l, part[0]));
		probe->usdt = m->arguments;
	}
}

/* Make a probe for each name that the glob matches. */
static void add_globs(struct lang_lex *x, struct lang_probe *probe, const struct provider *p, const char *word, char **part)
{
	bool in_file = p->parts == 2 && p->values != FIELDS;
	const char *where = in_file ? lang_find_file(x->l, library(x->l, part[0])) : part[0];
	struct lang_match *first = lang_matches(x, probe->linux_kind, word, where, part[p->parts - 1]);
	char *name[3] = { part[0], part[1], "" };

	for (struct lang_match *m = first; m; m = m->next) {
		probe = next_probe(x, probe, m == first);
		if (!probe)
			break;
		probe->section = in_file ? lang_format(x->l, "%s:%s:%s", p->name, part[0], m->name) :
					   lang_format(x->l, "%s:%s", p->name, m->name);
		name[p->parts - 1] = lang_copy(x->l, m->name, strlen(m->name));
		if (p->values == FIELDS && name[1])
			split(name[1], name, 2);
		probe->linux_section = section_of(x, p, probe, name);
	}
}

/* Returns true if a part of the probe may be a glob and is one. */
static bool is_glob(struct lang_lex *x, const struct provider *p, const char *word, char **part)
{
	if (p->values == NONE || !strpbrk(word, "*?["))
		return false;
	if (p->parts == 2 && p->values != FIELDS && strpbrk(part[0], "*?["))
		lang_fail(x->l, x->pos, "name the file; its functions may be a glob",
			  "%.60s: the name of a file is no glob", word);
	return true;
}

bool lang_parse_linux(struct lang_lex *x, struct lang_probe *probe, const char *word)
{
	const char *colon = strchr(word, ':');
	const struct provider *p = colon ? find_provider(word, colon - word) : NULL;
	char *part[3] = { "", "", "" }, *text;
	uint32_t n;

	if (!p)
		return false;
	probe->when = LANG_IN_LINUX;
	probe->linux_kind = (enum lang_linux_kind)(p - providers);
	x->l->linux_probes = true;
	text = lang_copy(x->l, colon + 1, strlen(colon + 1));
	n = text ? split(text, part, p->parts) : 0;
	if (n + (p->values == NOTED || p->values == NONE) < p->parts || (!part[n - 1][0] && p->values != NONE))
		lang_fail(x->l, x->pos, "uprobe:/bin/app:function, kprobe:function, tracepoint:syscalls:sys_enter_openat",
			  "%.60s needs %u part%s after %s:", word, p->parts, p->parts == 1 ? "" : "s", p->name);
	else if (p->values == NOTED)
		add_usdt(x, probe, part);
	else if (is_glob(x, p, word, part))
		add_globs(x, probe, p, word, part);
	else
		probe->linux_section = section_of(x, p, probe, part);
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

	if (values == ARRAY && !strncmp(word, "arg", 3) && word[3] >= '0' && word[3] <= '5' && !word[4]) {
		*builtin = (struct lang_builtin){ "arg", LANG_INT, LANG_SOURCE_CTX, 8 * (uint32_t)(word[3] - '0'), 8 };
		return true;
	}
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
	else if (!strcmp(word, "func") && probe->function)
		*builtin = (struct lang_builtin){ "func", LANG_TEXT, LANG_SOURCE_FUNCTION, 0, 0 };
	else if (!strcmp(word, "ustack") || !strcmp(word, "kstack"))
		*builtin = (struct lang_builtin){ word, LANG_FRAME_LIST, LANG_SOURCE_FRAMES, word[0] == 'u' ? 256 : 0, 0 };
	else if (!strcmp(word, "username"))
		*builtin = (struct lang_builtin){ "username", LANG_LABEL, LANG_SOURCE_HELPER, 15, 1 };
	else if (!strcmp(word, "curtask"))
		*builtin = (struct lang_builtin){ "curtask", LANG_ADDRESS, LANG_SOURCE_HELPER, 35, 8 };
	else
		return find_register(providers[probe->linux_kind].values, word, builtin);
	return true;
}

/* -- registers, and arguments of usdt probes -- */

static const struct {
	const char *name;
	uint32_t at; /* offset in struct pt_regs */
} registers[] = {
#ifdef __x86_64__
	{ "r15", 0 },   { "r14", 8 },   { "r13", 16 },  { "r12", 24 },  { "rbp", 32 },  { "rbx", 40 },  { "r11", 48 },
	{ "r10", 56 },  { "r9", 64 },   { "r8", 72 },   { "rax", 80 },  { "rcx", 88 },  { "rdx", 96 },  { "rsi", 104 },
	{ "rdi", 112 }, { "rip", 128 }, { "rsp", 152 }, { "ip", 128 },  { "sp", 152 },  { "ax", 80 },   { "bx", 40 },
	{ "cx", 88 },   { "dx", 96 },   { "si", 104 },  { "di", 112 },  { "bp", 32 },   { "eax", 80 },  { "ebx", 40 },
	{ "ecx", 88 },  { "edx", 96 },  { "esi", 104 }, { "edi", 112 }, { "ebp", 32 },  { "r8d", 72 },  { "r9d", 64 },
	{ "al", 80 },   { "bl", 40 },   { "cl", 88 },   { "dl", 96 },   { "sil", 104 }, { "dil", 112 }, { "r10d", 56 },
	{ "r11d", 48 }, { "r12d", 24 }, { "r13d", 16 }, { "r14d", 8 },  { "r15d", 0 },
#else
	{ "sp", 248 },
	{ "pc", 256 },
#endif
};

static bool find_named_register(const char *name, size_t n, uint32_t *at)
{
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++)
		if (strlen(registers[i].name) == n && !strncmp(registers[i].name, name, n)) {
			*at = registers[i].at;
			return true;
		}
#ifndef __x86_64__
	if (n >= 2 && (name[0] == 'x' || name[0] == 'w') && isdigit((unsigned char)name[1]) && atoi(name + 1) < 31) {
		*at = 8 * (uint32_t)atoi(name + 1);
		return true;
	}
#endif
	return false;
}

static struct lang_node *register_node(struct lang_parser *p, uint32_t pos, uint32_t at)
{
	struct lang_node *n = lang_node(p, LANG_N_BUILTIN, pos);

	n->builtin = (struct lang_builtin){ "arg", LANG_INT, LANG_SOURCE_CTX, at, 8 };
	n->type.base = LANG_INT;
	return n;
}

static struct lang_node *number_node(struct lang_parser *p, uint32_t pos, int64_t value)
{
	struct lang_node *n = lang_node(p, LANG_N_NUMBER, pos);

	n->value = (uint64_t)value;
	n->type = (struct lang_type){ LANG_INT, true };
	return n;
}

static struct lang_node *cast_node(struct lang_parser *p, uint32_t pos, struct lang_node *a, struct lang_type type,
				   uint32_t bits)
{
	struct lang_node *n = lang_node(p, LANG_N_CAST, pos);

	n->a = a;
	n->type = type;
	n->value = bits;
	return n;
}

/* Parse the operand "-8(%rbp)" of x86: a number at the sum of a register and a constant. Returns NULL for other forms. */
static struct lang_node *memory_node(struct lang_parser *p, uint32_t pos, const char *text, int32_t size)
{
	char *end;
	int64_t displacement = strtoll(text, &end, 0);
	struct lang_node *sum = lang_node(p, LANG_N_BINARY, pos), *read = lang_node(p, LANG_N_READ, pos);
	uint32_t bits = 8 * (uint32_t)abs(size), at;
	size_t n;

	if (end[0] != '(' || end[1] != '%')
		return NULL;
	n = strcspn(end + 2, "),");
	if (end[2 + n] != ')' || !find_named_register(end + 2, n, &at))
		return NULL;
	sum->op = LANG_T_ADD;
	sum->a = register_node(p, pos, at);
	sum->b = number_node(p, pos, displacement);
	read->a = cast_node(p, pos, sum, (struct lang_type){ LANG_ADDRESS, .to = (uint8_t)bits, .to_signed = size < 0 },
			    64);
	return read;
}

/* Parse SIZE@OPERAND, such as 8@%rdi, -4@$5 or 8@-8(%rbp). A negative size is that of a signed number. */
static struct lang_node *argument_node(struct lang_parser *p, uint32_t pos, const char *text)
{
	char *at;
	long size = strtol(text, &at, 10);
	uint32_t where;

	if (*at++ != '@' || (labs(size) != 1 && labs(size) != 2 && labs(size) != 4 && labs(size) != 8))
		return NULL;
	if (*at == '$')
		return number_node(p, pos, strtoll(at + 1, NULL, 0));
	if (*at == '%' && find_named_register(at + 1, strlen(at + 1), &where))
		return cast_node(p, pos, register_node(p, pos, where), (struct lang_type){ LANG_INT, size < 0 },
				 8 * (uint32_t)labs(size));
	return memory_node(p, pos, at, (int32_t)size);
}

static struct lang_node *usdt_argument(struct lang_parser *p, const char *word, uint32_t pos)
{
	const char *at = p->block->probes->usdt;
	char text[64], *end;
	struct lang_node *n;
	unsigned long i;

	if (strncmp(word, "arg", 3) || !isdigit((unsigned char)word[3]))
		return NULL;
	i = strtoul(word + 3, &end, 10);
	for (unsigned long skip = 0; skip < i && *at; skip++) {
		at += strcspn(at, " ");
		at += strspn(at, " ");
	}
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(at, " "), at);
	n = text[0] && !*end ? argument_node(p, pos, text) : NULL;
	for (const struct lang_probe *other = p->block->probes->next; other; other = other->next)
		p->block->splits |= other->usdt && strcmp(other->usdt, p->block->probes->usdt);
	if (!n)
		lang_fail(p->l, pos, "readelf -n FILE lists the arguments of a probe, for example 8@%rdi",
			  text[0] ? "%s cannot be read: its place is %s" : "the usdt probe has no %s%s", word, text);
	return n ? n : number_node(p, pos, 0);
}

struct lang_node *lang_parameter_field(struct lang_parser *p, uint32_t pos)
{
	const char *name = p->lex.token == LANG_T_WORD ? p->lex.string : "";
	struct lang_node *n = lang_node(p, LANG_N_CAST, pos);
	uint32_t index = 0, bits = 64;

	p->block->splits = true;
	if (!lang_btf_parameter(p->l, p->block->probes->function, name, &n->type, &index, &bits))
		lang_fail(p->l, p->lex.pos, "bpftool btf dump file /sys/kernel/btf/vmlinux lists the parameters",
			  "the function %.60s of the Linux kernel has no parameter %.60s", p->block->probes->function,
			  name);
	n->a = lang_node(p, LANG_N_BUILTIN, pos);
	n->a->builtin = (struct lang_builtin){ "args", LANG_INT, LANG_SOURCE_CTX, 8 * index, 8 };
	n->a->type.base = LANG_INT;
	n->value = bits;
	lang_next(&p->lex);
	return n;
}

static struct lang_node *function_result(struct lang_parser *p, uint32_t pos)
{
	struct lang_node *n = lang_node(p, LANG_N_CAST, pos);
	uint32_t index = 0, bits = 64;

	p->block->splits = true;
	if (!lang_btf_parameter(p->l, p->block->probes->function, NULL, &n->type, &index, &bits))
		lang_fail(p->l, pos, "grep NAME /proc/kallsyms lists the functions",
			  "the Linux kernel has no function %.60s", p->block->probes->function);
	n->a = lang_node(p, LANG_N_BUILTIN, pos);
	n->a->builtin = (struct lang_builtin){ "retval", LANG_INT, LANG_SOURCE_CTX, 8 * index, 8 };
	n->a->type.base = LANG_INT;
	n->value = bits;
	return n;
}

/* Return the tgid or name of the current task's parent: a member of its struct task_struct. */
static struct lang_node *parent_node(struct lang_parser *p, const char *member, uint32_t pos)
{
	struct lang_node *task = lang_node(p, LANG_N_BUILTIN, pos), *parent = lang_node(p, LANG_N_MEMBER, pos),
			 *n = lang_node(p, LANG_N_MEMBER, pos);

	lang_linux_find(p->block->probes, "curtask", &task->builtin);
	task->text = "curtask";
	parent->op = n->op = LANG_T_ARROW;
	parent->a = task;
	parent->text = "real_parent";
	n->a = parent;
	n->text = member;
	return n;
}

/* reg("ip") */
static struct lang_node *register_value(struct lang_parser *p, uint32_t pos)
{
	struct lang_node *n = lang_node(p, LANG_N_BUILTIN, pos);
	uint32_t at = 0;

	lang_expect(p, LANG_T_OPEN, "after reg");
	if (p->lex.token != LANG_T_STRING || !find_named_register(p->lex.string, strlen(p->lex.string), &at))
		lang_fail(p->l, p->lex.pos, "reg(\"ip\"), reg(\"sp\"), reg(\"di\")",
			  "reg() expects the name of a register");
	lang_next(&p->lex);
	lang_expect(p, LANG_T_CLOSE, "after the register");
	n->builtin = (struct lang_builtin){ "reg", LANG_INT, LANG_SOURCE_CTX, at, 8 };
	n->type.base = LANG_INT;
	return n;
}

struct lang_node *lang_linux_value(struct lang_parser *p, const char *word, uint32_t pos)
{
	enum values values;

	if (!lang_is_linux(p->block))
		return NULL;
	values = providers[p->block->probes->linux_kind].values;
	if (values == NOTED && p->block->probes->usdt && !strncmp(word, "arg", 3) && strcmp(word, "args"))
		return usdt_argument(p, word, pos);
	if (!strcmp(word, "ppid"))
		return parent_node(p, "tgid", pos);
	if (!strcmp(word, "pcomm"))
		return parent_node(p, "comm", pos);
	if (!strcmp(word, "retval") && p->block->probes->linux_kind == LANG_LINUX_FEXIT)
		return function_result(p, pos);
	return !strcmp(word, "reg") && (values == ARGS || values == RESULT) ? register_value(p, pos) : NULL;
}
