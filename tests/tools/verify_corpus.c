/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify-corpus: prints the verifier's verdicts on raw programs of type kprobe for the Linux kernel. Each line of
 * standard input has tab-separated columns: id, three or four ignored columns, the class, the instructions in hex,
 * maps, ... (id, expect, strict_expect, leaks_ptr, class, insns, maps). A map is
 * insn:kind:type/key/value/max/flags[@offset], with kind "fd" or "value". Prints id, ACCEPT or REJECT, microseconds and
 * the reason.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/model/diag.h"
#include "core/model/facts.h"
#include "core/model/prog.h"

#define MAX_MAPS 64

/* Map types that GPUs do not support, described well enough to verify programs for the Linux kernel. */
#define OP(name) GPUBPF_OP_BIT(GPUBPF_OP_##name)
#define KEYED_OPS (OP(LOOKUP) | OP(UPDATE) | OP(DELETE) | OP(FOR_EACH))
static const struct gpubpf_map_type kernel_types[] = {
	{ 3, "PROG_ARRAY", .ops = OP(TAIL_CALL) },
	{ 5, "PERCPU_HASH", .ops = KEYED_OPS | OP(LOOKUP_PERCPU), .flags = GPUBPF_MAP_KEYED },
	{ 7, "STACK_TRACE", .ops = OP(STACK_ID) },
	{ 9, "LRU_HASH", .ops = KEYED_OPS, .flags = GPUBPF_MAP_KEYED },
	{ 10, "LRU_PERCPU_HASH", .ops = KEYED_OPS | OP(LOOKUP_PERCPU), .flags = GPUBPF_MAP_KEYED },
	{ 11, "LPM_TRIE", .ops = KEYED_OPS, .flags = GPUBPF_MAP_KEYED },
	{ 22, "QUEUE", .ops = OP(PUSH) | OP(POP) | OP(PEEK) },
	{ 23, "STACK", .ops = OP(PUSH) | OP(POP) | OP(PEEK) },
};

struct program {
	struct gpubpf_raw_insn *raw;
	struct gpubpf_insn *insns;
	size_t n;
	struct gpubpf_map maps[MAX_MAPS];
	char specs[MAX_MAPS][96];
	uint32_t nmaps;
};

static const struct gpubpf_map_type *map_type(uint32_t number)
{
	for (size_t i = 0; i < sizeof(kernel_types) / sizeof(kernel_types[0]); i++)
		if (kernel_types[i].number == number)
			return &kernel_types[i];
	return number < 1500 ? gpubpf_map_type_find(number) : NULL;
}

static int hex_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 :
	       c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static const char *parse_insns(struct program *p, const char *hex)
{
	size_t len = strlen(hex);
	uint8_t *out;

	if (len % 16)
		return "the instructions are not a multiple of 8 bytes";
	p->n = len / 16;
	p->raw = calloc(p->n + 1, sizeof(*p->raw));
	p->insns = calloc(p->n + 1, sizeof(*p->insns));
	if (!p->raw || !p->insns)
		return "no memory";
	out = (uint8_t *)p->raw;
	for (size_t i = 0; i < len / 2; i++) {
		int hi = hex_digit(hex[2 * i]), lo = hex_digit(hex[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return "the instructions are not hex";
		out[i] = (uint8_t)(hi << 4 | lo);
	}
	return NULL;
}

/* Add the map and store its index. Two equal definitions in a program mean the same map. */
static const char *add_map(struct program *p, const char *spec, uint32_t *index)
{
	uint32_t type, key, value, max, flags;
	struct gpubpf_map *map = &p->maps[p->nmaps];

	for (*index = 0; *index < p->nmaps; (*index)++)
		if (!strcmp(p->specs[*index], spec))
			return NULL;
	if (p->nmaps == MAX_MAPS)
		return "too many maps";
	if (sscanf(spec, "%u/%u/%u/%u/%u", &type, &key, &value, &max, &flags) != 5)
		return "a map is not type/key/value/max/flags";
	*map = (struct gpubpf_map){ .type = map_type(type), .key_size = key, .value_size = value, .max_entries = max,
				    .map_flags = flags };
	snprintf(map->name, sizeof(map->name), "map%u", p->nmaps);
	if (!map->type)
		return "a map type that is not known";
	snprintf(p->specs[p->nmaps++], sizeof(p->specs[0]), "%s", spec);
	return NULL;
}

static const char *parse_maps(struct program *p, char *text)
{
	char *save, *item;

	if (!strcmp(text, "-"))
		return NULL;
	for (item = strtok_r(text, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		unsigned int pc;
		char kind[16], spec[96], *at;
		const char *err;
		uint32_t index;

		if (sscanf(item, "%u:%15[a-z]:%95s", &pc, kind, spec) != 3)
			return "a map is not insn:kind:definition";
		at = strchr(spec, '@');
		if (at)
			*at = 0;
		err = add_map(p, spec, &index);
		if (err)
			return err;
		if (pc >= p->n || p->insns[pc].kind != GPUBPF_INSN_IMM64)
			return "a map stands where no 64-bit load is";
		p->insns[pc].imm = (int32_t)index;
	}
	return NULL;
}

static bool judge(struct program *p, char *hex, char *maps, char *why, size_t size)
{
	static const struct gpubpf_verify_opts opts = {
		.max_cost = UINT64_MAX, .allow_kernel_helpers = true, .allow_ptr_leaks = true,
		.any_ctx = true,
	};
	struct gpubpf_prog prog = { .name = "corpus" };
	struct gpubpf_diag diag;
	const char *err = parse_insns(p, hex);
	struct gpubpf_unit unit;

	gpubpf_diag_init(&diag);
	if (!err && gpubpf_insn_decode(p->raw, p->n, p->insns, &diag) < 0)
		err = diag.what;
	for (size_t i = 0; !err && i < p->n; i++)
		if (p->insns[i].kind == GPUBPF_INSN_IMM64 &&
		    (p->insns[i].op == GPUBPF_IMM_MAP || p->insns[i].op == GPUBPF_IMM_MAP_VALUE))
			p->insns[i].imm = -1;
	if (!err)
		err = parse_maps(p, maps);
	if (!err) {
		unit = (struct gpubpf_unit){ .maps = p->maps, .nmaps = p->nmaps, .progs = &prog, .nprogs = 1 };
		prog.insns = p->insns;
		prog.ninsns = (uint32_t)p->n;
		if (gpubpf_verify(&unit, &prog, &opts, &diag) < 0)
			err = diag.what;
		gpubpf_facts_destroy(prog.facts);
	}
	snprintf(why, size, "%s%s%s", err && diag.code ? gpubpf_error_name(diag.code) : "", err && diag.code ? ": " : "",
		 err ? err : "");
	if (err && diag.pc != GPUBPF_NOPC)
		snprintf(why + strlen(why), size - strlen(why), " (at %u)", diag.pc);
	return !err;
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void do_line(char *line)
{
	char *column[7] = { NULL }, why[600] = "a line has at least 7 columns";
	struct program *p;
	bool accepted = false;
	double began = now_us();
	int n = 0;

	line[strcspn(line, "\r\n")] = 0;
	while (n < 7 && (column[n] = strsep(&line, "\t")))
		n++;
	if (!n || column[0][0] == '#' || !column[0][0])
		return;
	p = calloc(1, sizeof(*p));
	if (!p)
		return;
	if (n == 7) {
		began = now_us();
		accepted = judge(p, column[5], column[6], why, sizeof(why));
	}
	printf("%s\t%s\t%.1f\t%s\n", column[0], accepted ? "ACCEPT" : "REJECT", now_us() - began, why);
	free(p->raw);
	free(p->insns);
	free(p);
}

int main(void)
{
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, stdin) >= 0)
		do_line(line);
	free(line);
	return 0;
}
