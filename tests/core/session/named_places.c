/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that select places by name: which program selects which place, and the sets of programs that share a place.
 */
#include <stdlib.h>
#include <string.h>

#include "core/model/prog.h"
#include "core/session/base/named_places.h"
#include "tests/tap.h"

static struct gpubpf_place place(enum gpubpf_site kind, uint32_t id, const char *name)
{
	struct gpubpf_place p = gpubpf_place_of(kind, id, 0);

	p.name = name;
	return p;
}

static bool matches(enum gpubpf_site kind, const char *pattern, const char *name)
{
	struct gpubpf_place p = place(kind, 0, name);

	return gpubpf_place_matches(&p, pattern);
}

static void test_patterns(void)
{
	ok(matches(GPUBPF_SITE_INSN, "ld.global*", "ld.global.nc.v4.f32"), "a glob over an opcode");
	ok(!matches(GPUBPF_SITE_INSN, "ld.global", "ld.global.f32"), "an opcode is named as a whole");
	ok(matches(GPUBPF_SITE_LINE, "a.cu:12", "/src/of/a.cu:12"), "a line without the folders of its file");
	ok(matches(GPUBPF_SITE_LINE, "of/a.cu:12", "/src/of/a.cu:12"), "with one of them");
	ok(matches(GPUBPF_SITE_LINE, "/src/of/a.cu:12", "/src/of/a.cu:12"), "with all");
	ok(!matches(GPUBPF_SITE_LINE, "a.cu:12", "/src/aa.cu:12") && !matches(GPUBPF_SITE_LINE, "a.cu:1", "a.cu:12"),
	   "no file whose name ends so, no line that begins so");
	ok(matches(GPUBPF_SITE_LINE, "a.cu:*", "/src/a.cu:7"), "every line of a file");
}

static struct gpubpf_prog progs[] = {
	{ .site = GPUBPF_SITE_INSN, .pattern = "ld.*" }, { .site = GPUBPF_SITE_ENTRY, .pattern = "st.x" },
	{ .site = GPUBPF_SITE_INSN, .pattern = "*.x" }, { .site = GPUBPF_SITE_MARK, .pattern = "add" },
};
static const struct gpubpf_unit unit = { .progs = progs, .nprogs = 4 };

static void test_sets(void)
{
	struct gpubpf_place own[] = { place(GPUBPF_SITE_INSN, 0, "ld.y"), place(GPUBPF_SITE_INSN, 1, "ld.x"),
				      place(GPUBPF_SITE_INSN, 2, "add"), place(GPUBPF_SITE_MARK, 0, "ld.x") };
	struct gpubpf_place called[] = { place(GPUBPF_SITE_INSN, 0, "ld.x"), place(GPUBPF_SITE_INSN, 1, "st.x") };
	struct gpubpf_kernel_info infos[] = {
		{ .name = "f", .places = called, .nplaces = 2, .flags = GPUBPF_KINFO_FUNCTION },
		{ .name = "kernel", .places = own, .nplaces = 4 }, { .name = "other", .places = own, .nplaces = 4 },
	};
	const bool calls[] = { true, false, false };
	const struct gpubpf_named_scope in = { infos, &infos[1], calls, 3 };
	uint8_t named[GPUBPF_PLAN_LINKS / 8] = { 0 };
	struct gpubpf_insertions puts = { 0 };
	uint64_t sets[GPUBPF_MAX_SETS];
	uint32_t n = gpubpf_named_sets(&unit, &in, GPUBPF_SITE_INSN, sets);

	ok(n == 3 && sets[0] == 1 && sets[1] == 3 && sets[2] == 2, "the sets of a kernel and of what it calls");
	ok(!gpubpf_named_insert(&unit, &in, GPUBPF_SITE_INSN, 3, 7, &puts) && puts.n == 2 && puts.list[0].site == 7 &&
	   puts.list[0].place.id == 1 && !strcmp(puts.list[0].place.function, "") && puts.list[1].place.id == 0 &&
	   !strcmp(puts.list[1].place.function, "f"), "a site at all places of its set");
	free(puts.list);
	gpubpf_named_mark(&unit, GPUBPF_SITE_INSN, sets, n, named);
	ok(named[0] == 5, "programs that name something");
	ok(!gpubpf_named_sets(&unit, &in, GPUBPF_SITE_MARK, sets), "a program that names no mark");
	ok(gpubpf_named_first_program(&unit) == &progs[0], "the first such program");
}

/* Five programs select places so that all their subsets occur; with more programs there are too many sets. */
static void test_too_many(void)
{
	static struct gpubpf_prog many[GPUBPF_MAX_NAMED + 1];
	static struct gpubpf_place places[32];
	static char names[32][8];
	struct gpubpf_kernel_info info = { .places = places, .nplaces = 32 };
	const struct gpubpf_unit five = { .progs = many, .nprogs = 5 }, all = { .progs = many, .nprogs = GPUBPF_MAX_NAMED + 1 };
	const bool calls[] = { false };
	const struct gpubpf_named_scope in = { &info, &info, calls, 1 };
	uint64_t sets[GPUBPF_MAX_SETS];

	for (uint32_t i = 0; i <= GPUBPF_MAX_NAMED; i++) {
		many[i].site = GPUBPF_SITE_MARK;
		memset(many[i].pattern, '?', 5);
		many[i].pattern[i % 5] = '1';
	}
	for (uint32_t i = 0; i < 32; i++) {
		for (int k = 0; k < 5; k++)
			names[i][k] = '0' + (i >> k & 1);
		places[i] = place(GPUBPF_SITE_MARK, i, names[i]);
	}
	ok(gpubpf_named_sets(&five, &in, GPUBPF_SITE_MARK, sets) == GPUBPF_MAX_SETS + 1, "more sets than there may be");
	info.nplaces = 16;
	ok(gpubpf_named_sets(&five, &in, GPUBPF_SITE_MARK, sets) == 15, "fewer");
	ok(gpubpf_named_sets(&all, &in, GPUBPF_SITE_MARK, sets) == GPUBPF_MAX_SETS + 1, "more programs than there may be");
}

int main(void)
{
	test_patterns();
	test_sets();
	test_too_many();
	return done();
}
