/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that are known when the text is compiled: sizeof(), getopt(), addresses of symbols and networks, and the distance
 * between clocks.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "parse.h"

static struct lang_node *constant(struct lang_parser *p, uint32_t pos, uint64_t value, enum lang_base base)
{
	struct lang_node *n = lang_node(p, LANG_N_NUMBER, pos);

	n->value = value;
	n->type = (struct lang_type){ base, base == LANG_INT };
	n->literal = base == LANG_INT;
	return n;
}

static bool names_type(struct lang_parser *p)
{
	uint32_t bits;
	bool is_signed;

	return lang_begins_type(p) || (p->lex.token == LANG_T_WORD && lang_target_named(p->lex.string, &bits, &is_signed));
}

/* Parse a type such as uint32, unsigned long, struct pair or float *. Returns NULL for void. */
static const struct lang_ctype *read_type(struct lang_parser *p)
{
	if (names_type(p))
		return lang_pointers(p, lang_base_type(p));
	lang_fail(p->l, p->lex.pos, "offsetof(struct pair, b)", "offsetof() expects the name of a type");
	return NULL;
}

/* Parse sizeof(type) or sizeof(expression). The size of an expression is known when its type is. */
static struct lang_node *size_of(struct lang_parser *p, uint32_t pos)
{
	struct lang_node *n;
	uint32_t bytes;

	if (names_type(p)) {
		bytes = lang_ctype_size(p, read_type(p), pos);
		lang_expect(p, LANG_T_CLOSE, "after the type");
		return constant(p, pos, bytes, LANG_INT);
	}
	n = lang_node(p, LANG_N_SIZE, pos);
	n->a = lang_expression(p);
	lang_expect(p, LANG_T_CLOSE, "after the expression");
	return n;
}

/* Parse offsetof(struct pair, b). The member may be one of a member. */
static struct lang_node *offset_of(struct lang_parser *p, uint32_t pos)
{
	const struct lang_ctype *type = read_type(p);
	uint32_t at = 0, sum = 0;

	lang_expect(p, LANG_T_COMMA, "after the type");
	do {
		const struct lang_member *m = type ? lang_member_find(p->l, type, p->lex.string, &at) : NULL;

		if (!m)
			lang_fail(p->l, p->lex.pos, "offsetof(struct pair, b)", "%s has no member %s",
				  type && type->kind == LANG_C_RECORD ? type->record->name : "this type", p->lex.string);
		sum += at;
		type = m ? m->type : NULL;
		lang_expect(p, LANG_T_WORD, "as the member");
	} while (lang_accept(p, LANG_T_DOT) && !p->l->failed);
	lang_expect(p, LANG_T_CLOSE, "after the member");
	return constant(p, pos, sum, LANG_INT);
}

/* -- getopt -- */

/* Return the text after NAME= in the parameters, "" for the parameter NAME, or NULL. */
static const char *find_option(const struct lang *l, const char *name)
{
	size_t n = strlen(name);

	for (uint32_t i = 0; i < l->nparams; i++) {
		const char *text = l->params[i] + (strncmp(l->params[i], "--", 2) ? 0 : 2);

		if (!strncmp(text, name, n) && (text[n] == '=' || !text[n]))
			return text + n + (text[n] == '=');
	}
	return NULL;
}

static bool is_true(struct lang_parser *p, const char *text, uint32_t pos)
{
	bool yes = !text[0] || !strcmp(text, "true") || !strcmp(text, "1");

	if (!yes && strcmp(text, "false") && strcmp(text, "0"))
		lang_fail(p->l, pos, "pass true or false", "the parameter's value %.60s is neither true nor false", text);
	return yes;
}

/* Return the value of an option with the type of its default, which is NULL for a truth value. */
static struct lang_node *option_value(struct lang_parser *p, const char *text, struct lang_node *other, uint32_t pos)
{
	uint64_t v = 0;

	if (!other || other->type.base == LANG_BOOL)
		return text  ? constant(p, pos, is_true(p, text, pos), LANG_BOOL) :
		       other ? other :
			       constant(p, pos, 0, LANG_BOOL);
	if (!text)
		return other;
	if (other->kind == LANG_N_STRING) {
		other->text = text;
		return other;
	}
	if (!text[0] || lang_number(text, strlen(text), &v) != strlen(text))
		lang_fail(p->l, pos, "pass a number", "the parameter's value %.60s is not a number", text);
	return constant(p, pos, v, LANG_INT);
}

static struct lang_node *option(struct lang_parser *p, uint32_t pos)
{
	const char *name = p->lex.string;
	struct lang_node *other = NULL;

	lang_expect(p, LANG_T_STRING, "as the name of the parameter");
	if (lang_accept(p, LANG_T_COMMA)) {
		other = lang_expression(p);
		if (other->kind != LANG_N_NUMBER && other->kind != LANG_N_STRING)
			lang_fail(p->l, other->pos, "getopt(\"count\", 5)", "the default of getopt() must be a literal");
	}
	if (lang_accept(p, LANG_T_COMMA))
		lang_expect(p, LANG_T_STRING, "as the description");
	lang_expect(p, LANG_T_CLOSE, "after the arguments");
	return option_value(p, find_option(p->l, name), other, pos);
}

/* Parse kaddr("name"), the address of a symbol of the Linux kernel. */
static struct lang_node *kernel_address(struct lang_parser *p, uint32_t pos)
{
	const char *name = p->lex.string;
	uint64_t value = 0;

	lang_expect(p, LANG_T_STRING, "as the name of the symbol");
	if (!p->l->failed && !lang_kernel_symbol_address(name, &value))
		lang_fail(p->l, pos, "grep NAME /proc/kallsyms lists the symbols, with addresses for root",
			  "the Linux kernel has no symbol %.60s, or hides its address", name);
	lang_expect(p, LANG_T_CLOSE, "after the name");
	return constant(p, pos, value, LANG_ADDRESS);
}

/* Parse pton("127.0.0.1"): the address in network order. */
static struct lang_node *address_number(struct lang_parser *p, uint32_t pos)
{
	struct in_addr address = { 0 };

	if (p->lex.token == LANG_T_STRING && inet_pton(AF_INET, p->lex.string, &address) != 1)
		lang_fail(p->l, p->lex.pos, "pton(\"127.0.0.1\")", "pton() expects an IPv4 address");
	lang_expect(p, LANG_T_STRING, "as the address");
	lang_expect(p, LANG_T_CLOSE, "after the address");
	return constant(p, pos, address.s_addr, LANG_INT);
}

/* Parse cgroupid("/sys/fs/cgroup/app"): the id of a cgroup of version 2, which is the number of its inode. */
static struct lang_node *cgroup_number(struct lang_parser *p, uint32_t pos)
{
	const char *path = p->lex.string;
	uint32_t at = p->lex.pos;
	struct statfs fs;
	struct stat st = { 0 };

	lang_expect(p, LANG_T_STRING, "as the path of the cgroup");
	lang_expect(p, LANG_T_CLOSE, "after the path");
	if (p->l->failed)
		return constant(p, pos, 0, LANG_INT);
	if (stat(path, &st) < 0 || statfs(path, &fs) < 0)
		lang_fail(p->l, at, "ls /sys/fs/cgroup lists the cgroups", "the cgroup %.100s cannot be read: %s", path,
			  strerror(errno));
	else if (fs.f_type != CGROUP2_SUPER_MAGIC)
		lang_fail(p->l, at, "mount -t cgroup2 lists the cgroups of version 2",
			  "%.100s is no cgroup of version 2", path);
	return constant(p, pos, st.st_ino, LANG_INT);
}

/* Parse uaddr("name"): the address of a symbol of the probe's file, as linked. */
static struct lang_node *user_address(struct lang_parser *p, uint32_t pos)
{
	const struct lang_probe *probe = p->block->probes;
	const char *name = p->lex.string;
	struct lang_node *n = constant(p, pos, 0, LANG_ADDRESS);
	uint64_t bytes = 0;

	lang_expect(p, LANG_T_STRING, "as the name of the symbol");
	lang_expect(p, LANG_T_CLOSE, "after the name");
	for (const struct lang_probe *other = probe->next; other && probe->file; other = other->next)
		p->block->splits |= !other->file || strcmp(other->file, probe->file);
	if (!probe->file)
		lang_fail(p->l, pos, "write uprobe:/bin/app:function { *uaddr(\"name\") }",
			  "uaddr() is only for uprobe, uretprobe and usdt");
	else if (!p->l->failed && !lang_symbol_address(probe->file, name, &n->value, &bytes))
		lang_fail(p->l, pos, "nm FILE lists the symbols of a file", "%.100s has no symbol %.60s", probe->file,
			  name);
	n->type.to = bytes == 1 || bytes == 2 || bytes == 4 ? (uint8_t)(8 * bytes) : 64;
	return n;
}

/* Parse what may follow ncpus: an empty pair of parentheses. */
static struct lang_node *processors(struct lang_parser *p, uint32_t pos)
{
	if (lang_accept(p, LANG_T_OPEN))
		lang_expect(p, LANG_T_CLOSE, "because this word has no arguments");
	return constant(p, pos, (uint64_t)sysconf(_SC_NPROCESSORS_CONF), LANG_INT);
}

struct lang_node *lang_constant(struct lang_parser *p, const char *word, uint32_t pos)
{
	static const struct {
		const char *name;
		struct lang_node *(*parse)(struct lang_parser *p, uint32_t pos);
	} calls[] = { { "sizeof", size_of },        { "offsetof", offset_of }, { "getopt", option },
		      { "kaddr", kernel_address },  { "uaddr", user_address }, { "pton", address_number },
		      { "cgroupid", cgroup_number } };
	const struct lang_enumerator *e;
	struct lang_node *n;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(calls[i].name, word)) {
			lang_expect(p, LANG_T_OPEN, "after the function's name");
			return calls[i].parse(p, pos);
		}
	if (!strcmp(word, "ncpus"))
		return processors(p, pos);
	e = lang_enumerator(p, word);
	if (!e)
		return NULL;
	n = constant(p, pos, e->value, LANG_INT);
	n->type.names = e->type;
	return n;
}

/* -- clocks -- */

static uint64_t time_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct lang_node *lang_clock(struct lang_parser *p, struct lang_node *n, const char *clock)
{
	bool is_boot = !strcmp(clock, "boot"), is_tai = !strcmp(clock, "tai") || !strcmp(clock, "sw_tai");
	struct lang_node *sum;

	if (!is_boot && !is_tai)
		return n;
	sum = lang_node(p, LANG_N_BINARY, n->pos);
	sum->op = LANG_T_ADD;
	sum->a = n;
	sum->b = constant(p, n->pos, time_of(is_boot ? CLOCK_BOOTTIME : CLOCK_TAI) - time_of(CLOCK_MONOTONIC), LANG_INT);
	return sum;
}
