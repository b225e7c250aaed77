/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the probes before a block: gpu/PLACE/PATTERN (core/model/places.def), BEGIN, END, interval:UNIT:N, or a
 * comma-separated list. Quoted text is always part of a pattern. A declaration of the kernel's arguments may follow in
 * parentheses, as in the kernel's source.
 */

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "core/model/places.h"
#include "parse.h"

#define PATTERN 255

static const struct {
	const char *name;
	enum gpubpf_site site;
} places[] = {
#define GPUBPF_PLACE(NAME, number, name, where, names, operands, meaning) { "gpu/" name "/", GPUBPF_SITE_##NAME },
#include "core/model/places.def"
};

static const struct {
	const char *unit;
	uint64_t ns;
} units[] = { { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 } };

/* Write the text of the parameter at x->at, such as $1, to buf. Returns the number of bytes written. */
static size_t parameter(struct lang_lex *x, char *buf, size_t room)
{
	uint64_t i = 0;
	const char *end = x->l->text + x->at + 1;

	for (; end < x->l->text + lang_end(x) && isdigit((unsigned char)*end) && i < 1000; end++)
		i = 10 * i + *end - '0';
	if (!i || i > x->l->nparams) {
		lang_fail(x->l, x->at, "pass it with --param", "there is no parameter $%llu", (unsigned long long)i);
		return 0;
	}
	snprintf(buf, room, "%s", x->l->params[i - 1]);
	x->at = end - x->l->text - 1;
	return strlen(buf);
}

/*
 * Write the name of a provider in lower case: Interval:s:1. Names of one or two letters keep their case, because u and U
 * are different providers.
 */
static void lower_provider(char *word)
{
	size_t n = strcspn(word, ":/\"");

	for (size_t i = 0; word[n] == ':' && n > 2 && i < n; i++)
		word[i] = (char)tolower((unsigned char)word[i]);
}

/*
 * Return the probe that begins at x->at, without quotes and with parameters replaced. Afterwards x->at is the first
 * character after it.
 */
static const char *probe_word(struct lang_lex *x)
{
	const char *text = x->l->text;
	char buf[512], *word;
	size_t n = 0;
	bool quoted = false;

	for (x->pos = x->at; x->at < lang_end(x); x->at++) {
		char c = text[x->at];

		if (c == '"') {
			quoted = !quoted;
			continue;
		}
		if (c == '$' && x->at + 1 < lang_end(x) && isdigit((unsigned char)text[x->at + 1])) {
			n += parameter(x, buf + n, sizeof(buf) - n);
			continue;
		}
		if (c == '\n' || (!quoted && (isspace((unsigned char)c) || strchr(",{(", c))))
			break;
		if (n == sizeof(buf) - 1) {
			lang_fail(x->l, x->pos, "use a glob", "the probe has more than %zu bytes", sizeof(buf) - 1);
			break;
		}
		buf[n++] = c;
	}
	if (quoted)
		lang_fail(x->l, x->pos, "end it with \" in the same line", "the quote of the pattern is not terminated");
	word = lang_copy(x->l, buf, n);
	if (word)
		lower_provider(word);
	return word;
}

/* -- on the host -- */

static bool is_host(const char *word, const char *upper, const char *lower)
{
	return !strcmp(word, upper) || !strcasecmp(word, lower);
}

static uint64_t interval_ns(const char *spec)
{
	const char *colon = strchr(spec, ':');
	const char *number = colon ? colon + 1 : spec;
	uint64_t n;

	if (!*number || lang_number(number, strlen(number), &n) != strlen(number) || !n)
		return 0;
	if (!colon)
		return n;
	if (!strncmp(spec, "hz:", 3))
		return 1000000000 / n;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].unit) == (size_t)(colon - spec) && !strncmp(spec, units[i].unit, colon - spec))
			return __builtin_mul_overflow(n, units[i].ns, &n) ? 0 : n;
	return 0;
}

static void parse_interval(struct lang_lex *x, struct lang_probe *probe, const char *spec)
{
	probe->when = LANG_INTERVAL;
	probe->every_ns = interval_ns(spec);
	if (probe->every_ns < 1000000)
		lang_fail(x->l, x->pos, "write it as interval:s:1, interval:ms:100, interval:hz:10 or interval:1s",
			  "this is not an interval of at least 1 ms");
}

static bool parse_host(struct lang_lex *x, struct lang_probe *probe, const char *word)
{
	if (is_host(word, "BEGIN", "begin"))
		probe->when = LANG_BEGIN;
	else if (is_host(word, "END", "end"))
		probe->when = LANG_END;
	else if (!strncmp(word, "interval:", 9) || !strncmp(word, "i:", 2))
		parse_interval(x, probe, strchr(word, ':') + 1);
	else
		return false;
	return true;
}

/* -- on devices -- */

/* Returns true if the word is a gpubpf probe with bpftrace's colons, such as gpu:entry:* or entry:*. */
static bool is_place(const char *word)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const char *name = places[i].name + strlen("gpu/");
		size_t n = strlen(name) - 1;

		if (!strncmp(word, name, n) && word[n] == ':')
			return true;
	}
	return !strncmp(word, "gpu:", 4) || !strncmp(word, "kernel:", 7);
}

static void unknown(struct lang_lex *x, const char *word)
{
	char near[160];

	if (!*word)
		lang_fail(x->l, x->pos, "e.g. gpu/exit/* { @[kernel] = count(); }", "a probe is missing");
	else if (!strncmp(word, "let", 4) || !strncmp(word, "config", 7))
		lang_fail(x->l, x->pos, "write let @x = hash(4096); or let @x = lruhash(4096);",
			  "this declaration is not known");
	else if (strchr(word, ':') && !is_place(word))
		lang_fail(x->l, x->pos,
			  "use gpu/entry/KERNEL or gpu/exit/KERNEL in GPU kernels, interval:ms:10, uprobe, uretprobe, kprobe, "
			  "kretprobe or tracepoint",
			  "probes of this kind are not supported: %.60s", word);
	else if (gpubpf_place_suggest(word, near, sizeof(near)))
		lang_fail(x->l, x->pos, lang_format(x->l, "did you mean %s? gpubpf-lang(7) lists all probes", near),
			  "%.60s is not a probe", word);
	else
		lang_fail(x->l, x->pos,
			  "use gpu/entry/KERNEL, gpu/exit/KERNEL or gpu/call/FUNCTION; gpubpf-lang(7) "
			  "lists all probes",
			  "%.60s is not a probe", word);
}

static void check_pattern(struct lang_lex *x, const char *pattern)
{
	const char *slash = strchr(pattern, '/');

	if (!*pattern)
		lang_fail(x->l, x->pos, "* matches all", "the probe names no kernel");
	else if (strlen(pattern) > PATTERN)
		lang_fail(x->l, x->pos, "use a glob", "the name has more than %u bytes", PATTERN);
	else if (slash)
		lang_fail(x->l, x->pos, "put a space before a filter, or the pattern in quotes",
			  "the pattern contains a /");
}

/* Parse a probe of the form host/EVENT, host/EVENT_exit, or one of these with /PATTERN. */
static bool parse_host_place(struct lang_lex *x, struct lang_probe *probe, const char *word)
{
	enum gpubpf_host_event event = 0;
	enum gpubpf_site site = GPUBPF_SITE_NONE;
	const char *pattern;

	if (strncmp(word, "host/", strlen("host/")))
		return false;
	if (!gpubpf_host_section_parse(word, &event, &site, &pattern))
		lang_fail(x->l, x->pos,
			  "use host/launch, copy, alloc, free, sync, event, stream, module or graph, or one of these with "
			  "_exit",
			  "%.60s is not a probe", word);
	else
		check_pattern(x, pattern);
	probe->host = event;
	probe->site = site;
	return true;
}

static void parse_device(struct lang_lex *x, struct lang_probe *probe, const char *word)
{
	if (parse_host_place(x, probe, word))
		return;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		size_t n = strlen(places[i].name);

		if (strncmp(word, places[i].name, n))
			continue;
		probe->site = places[i].site;
		check_pattern(x, word + n);
		return;
	}
	unknown(x, word);
}

/* -- arguments -- */

/* Return the struct, union or typedef of the text with this name, or NULL. */
static const struct lang_ctype *find_struct(const struct lang *l, const char *name)
{
	for (const struct lang_record *r = l->structs; r; r = r->next)
		if (!r->btf && !strcmp(strchr(r->name, ' ') + 1, name))
			return &r->type;
	for (const struct lang_typename *t = l->typenames; t; t = t->next)
		if (!strcmp(t->name, name))
			return t->type;
	return NULL;
}

/*
 * Add a word to an argument's type, which may have several words ("unsigned long"). Floating-point types are valid only
 * for the number at an address.
 */
static void add_type(struct lang *l, struct lang_arg *arg, const char *word)
{
	bool is_signed, was_unsigned = arg->bits && !arg->type.is_signed;
	uint32_t bits;

	if (arg->type.base == LANG_ADDRESS)
		return;
	arg->type.c = find_struct(l, word);
	if (lang_target_named(word, &bits, &is_signed))
		arg->type.to = bits;
	if (!lang_type_named(word, &bits, &is_signed))
		return;
	arg->bits = bits;
	arg->type.is_signed = is_signed && !was_unsigned;
}

/* Return the type of a pointer to what the words before a * name. */
static struct lang_type target_of(struct lang *l, const struct lang_arg *arg)
{
	const struct lang_ctype *c = arg->type.c;

	if (c && arg->type.base == LANG_ADDRESS)
		c = lang_ctype_pointer(l, c);
	if (c)
		return lang_address_of(c);
	return (struct lang_type){ LANG_ADDRESS, false, arg->type.is_signed, arg->type.to };
}

/*
 * Parse the declaration of one argument. The last word is the name; a * makes the argument an address. Other tokens are
 * skipped.
 */
static void parse_arg(struct lang_lex *x, struct lang_block *block)
{
	struct lang_arg arg = { .type = { LANG_INT, false } };
	const char *word = NULL;

	for (; x->token != LANG_T_COMMA && x->token != LANG_T_CLOSE && x->token != LANG_T_END; lang_next(x)) {
		if (x->token == LANG_T_WORD) {
			if (word)
				add_type(x->l, &arg, word);
			word = x->string;
		} else if (x->token == LANG_T_MUL) {
			if (word)
				add_type(x->l, &arg, word);
			arg.type.to = arg.type.base == LANG_ADDRESS ? 64 : arg.type.to;
			arg = (struct lang_arg){ .bits = 64, .type = target_of(x->l, &arg) };
			word = NULL;
		}
	}
	if (!word)
		lang_fail(x->l, x->pos, "name each argument, as in gpu/entry/vector_add(float *a, uint n)",
			  "an argument without a name");
	else if (block->nargs == LANG_ARGS)
		lang_fail(x->l, x->pos, "omit the others", "more than %u arguments have a name", LANG_ARGS);
	arg.name = word;
	if (arg.type.base != LANG_ADDRESS) {
		arg.type.to = 0;
		arg.type.c = NULL;
	}
	if (word && block->nargs < LANG_ARGS)
		block->args[block->nargs++] = arg;
}

static void parse_args(struct lang_lex *x, struct lang_block *block)
{
	if (block->nargs)
		lang_fail(x->l, x->at, "name them once, for all probes of the list", "the arguments have names already");
	lang_next(x);
	do {
		lang_next(x);
		parse_arg(x, block);
	} while (x->token == LANG_T_COMMA);
	if (x->token != LANG_T_CLOSE)
		lang_fail(x->l, x->pos, "end them with )", "the arguments are not terminated");
}

/* Number the probe, and the others that its glob matches. */
static void number_probes(struct lang_lex *x, struct lang_probe *probe)
{
	struct lang *l = x->l;

	for (; probe; probe = probe->next) {
		l->ndevice += probe->when == LANG_ON_DEVICE;
		if (l->nprobes == LANG_PROBES || l->ndevice > LANG_DEVICE_PROBES) {
			lang_fail(l, x->pos, "use globs", "there are more than %u probes%s",
				  l->ndevice > LANG_DEVICE_PROBES ? LANG_DEVICE_PROBES : LANG_PROBES,
				  l->ndevice > LANG_DEVICE_PROBES ? " in GPU kernels" : "");
			return;
		}
		probe->number = l->nprobes;
		l->probe[l->nprobes++] = probe;
	}
}

void lang_parse_probes(struct lang_lex *x, struct lang_block *block)
{
	struct lang_probe **end = &block->probes;
	bool more = true;

	while (more && !x->l->failed) {
		struct lang_probe *probe = lang_alloc(x->l, sizeof(*probe));
		const char *word;

		lang_skip(x);
		word = probe_word(x);
		if (!probe || !word)
			return;
		*probe = (struct lang_probe){ .pos = x->pos, .section = word, .block = block };
		if (!parse_host(x, probe, word) && !lang_parse_linux(x, probe, word))
			parse_device(x, probe, word);
		if (block->probes && (block->probes->when == LANG_IN_LINUX ?
					      probe->when != LANG_IN_LINUX || probe->linux_kind != block->probes->linux_kind :
					      probe->when == LANG_IN_LINUX))
			lang_fail(x->l, x->pos, "write a block for each kind of probe",
				  "probes of the Linux kernel share a block only with probes of the same kind");
		if (block->probes && !block->probes->host != !probe->host)
			lang_fail(x->l, x->pos, "write a block for each kind of probe",
				  "host/ probes share a block only with host/ probes");
		*end = probe;
		number_probes(x, probe);
		while (*end)
			end = &(*end)->next;
		lang_skip(x);
		if (x->at < lang_end(x) && x->l->text[x->at] == '(' && probe->when == LANG_ON_DEVICE) {
			parse_args(x, block);
			lang_skip(x);
		}
		more = x->at < lang_end(x) && x->l->text[x->at] == ',';
		x->at += more;
	}
}
