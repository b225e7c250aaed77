/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx CASES SOURCE-ROOT CLANG: tests the PTX reader.
 * - It must print its input unchanged: the texts of CASES/grammar, and clang's output for CASES/kernels.cl and the
 * device library.
 * - It must refuse the texts of CASES/broken with the message in their first line.
 * - Prefixes and mutations of all these texts must not crash it.
 * - It must find loops, and must not take every branch to an earlier line for one.
 */
#include <glob.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/cuda/ptx/ir/ptx.h"
#include "backends/cuda/ptx/ir/scope.h"
#include "tests/backends/cuda/case.h"
#include "core/model/diag.h"
#include "tests/tap.h"

#define MUTATIONS 3000 /* number of mutations of each text of grammar/ */

/*
 * Parses a copy of the text that is followed by unreadable memory. Returns 1 if the printed text differs, negative if
 * the text is refused.
 */
static int try_text(const char *text, size_t size, struct gpubpf_diag *diag)
{
	const char *guarded = guard(text, size);
	struct ptx_module m;
	size_t printed_size;
	char *printed;
	int err, same;

	gpubpf_diag_init(diag);
	err = ptx_parse(guarded, size, &m, diag);
	if (err < 0)
		return err;
	err = ptx_print(&m, NULL, 0, &printed, &printed_size);
	ptx_finish(&m);
	if (err < 0)
		return err;
	same = printed_size == size && !memcmp(printed, text, size);
	free(printed);
	return !same;
}

static void expect_same(const char *name, const char *text, size_t size)
{
	struct gpubpf_diag diag;
	int err = try_text(text, size, &diag);

	if (!ok(err == 0, "%s: what is parsed prints as it was", name))
		note("%s", err < 0 ? diag.what : "it prints otherwise");
}

/* Each prefix of the text must be accepted, or refused with a line number. */
static void try_prefixes(const char *name, const char *text, size_t size)
{
	size_t bad = 0;

	for (size_t n = 0; n < size; n++) {
		struct gpubpf_diag diag;
		int err = try_text(text, n, &diag);

		bad += err > 0 || (err < 0 && !strstr(diag.what, "PTX line "));
	}
	ok(!bad, "%s: each of %zu prefixes is read, or refused with a line", name, size);
}

/* Changes, deletes or doubles bytes, or inserts a word of PTX. Returns the new size. */
static size_t mutate(char *text, size_t size, size_t room)
{
	static const char *const words[] = { "{", "}", "(", ")", "[", ";", ":", ",", "@", "\"", "/*", "*/", "//", ".loc",
					     ".reg ", ".entry ", ".section ", ".func ", ".param ", ".target ", "%", "\n" };
	size_t at = size ? random_below(size) : 0, n = 1 + random_below(8);
	const char *word = words[random_below(sizeof(words) / sizeof(*words))];

	switch (random_below(4)) {
	case 0:
		if (size)
			text[at] = random_below(256);
		return size;
	case 1:
		n = n < size - at ? n : size - at;
		memmove(text + at, text + at + n, size - at - n);
		return size - n;
	case 2:
		n = n < size - at ? n : size - at;
		n = n < room - size ? n : room - size;
		memmove(text + at + n, text + at, size - at);
		return size + n;
	default:
		n = strlen(word);
		if (n > room - size)
			return size;
		memmove(text + at + n, text + at, size - at);
		memcpy(text + at, word, n);
		return size + n;
	}
}

static void try_mutations(const char *name, const char *text, size_t size)
{
	size_t room = size + 256, bad = 0, taken = 0;
	char *copy = malloc(room);

	for (int i = 0; i < MUTATIONS; i++) {
		struct gpubpf_diag diag;
		size_t n = size;
		int err;

		memcpy(copy, text, size);
		for (uint32_t edits = 1 + random_below(4); edits; edits--)
			n = mutate(copy, n, room);
		err = try_text(copy, n, &diag);
		taken += err == 0;
		bad += err > 0 || (err < 0 && !diag.what[0]);
	}
	free(copy);
	ok(!bad && taken, "%s: each of %d mutations is read (%zu) or refused", name, MUTATIONS, taken);
}

static void try_grammar(const char *path)
{
	size_t size;
	char *text = read_file(path, &size);

	expect_same(base_name(path), text, size);
	try_prefixes(base_name(path), text, size);
	try_mutations(base_name(path), text, size);
	free(text);
}

static void try_broken(const char *path)
{
	size_t size;
	char *text = read_file(path, &size), *expected = strndup(text + 3, strcspn(text, "\n") - 3);
	struct gpubpf_diag diag;
	int err = try_text(text, size, &diag);

	if (!ok(err < 0 && strstr(diag.what, "PTX line ") && strstr(diag.what, expected), "broken %s: %s",
		base_name(path), expected))
		note("%s", err < 0 ? diag.what : "it was read");
	free(expected);
	free(text);
}

static void for_each(const char *cases, const char *pattern, void (*fn)(const char *path))
{
	char path[512];
	glob_t found;

	snprintf(path, sizeof(path), "%s/%s", cases, pattern);
	if (!ok(!glob(path, 0, NULL, &found), "there are files %s", pattern))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		fn(found.gl_pathv[i]);
	globfree(&found);
}

/* Reads clang's output for OpenCL C, with and without optimisation and debug information. */
static void try_clang(const char *clang, const char *source, const char *options)
{
	static const char *const levels[] = { "-O0", "-O2", "-O2 -g", "-O0 -g" };

	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		char command[1024], name[256];
		size_t size;
		char *text;

		snprintf(name, sizeof(name), "%s %s", base_name(source), levels[i]);
		snprintf(command, sizeof(command), "'%s' -x cl -cl-std=CL2.0 --target=nvptx64-nvidia-cuda -march=sm_75 -nogpulib "
			 "-Xclang -target-feature -Xclang +ptx63 -Xclang -finclude-default-header -w %s %s -S -o - '%s'", clang, options, levels[i], source);
		text = read_command(command, &size);
		if (!ok(text && size, "%s: clang makes PTX", name))
			continue;
		expect_same(name, text, size);
		free(text);
	}
}

/* Parses a kernel with this body. Returns the node of the body. */
static uint32_t parse_body(char *text, size_t size, const char *body, struct ptx_module *m)
{
	int n = snprintf(text, size, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\n"
			 ".reg .pred %%p, %%p1;\n.reg .b32 %%r, %%r1;\n.reg .b64 %%rd1;\n%s\n}\n", body);
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (ptx_parse(text, (size_t)n, m, &diag))
		return PTX_NONE;
	for (uint32_t k = 0; k < m->nnodes; k++)
		if (m->nodes[k].kind == PTX_BLOCK && m->nodes[m->nodes[k].parent].kind == PTX_FUNCTION)
			return k;
	ptx_finish(m);
	return PTX_NONE;
}

static void try_cycles(void)
{
	static const struct {
		const char *what, *body;
		int goes_round;
	} cases[] = {
		{ "a body", "ret;", 0 },
		{ "a loop", "a: @%p bra a; ret;", 1 },
		{ "a loop over others", "a: add.u32 %r, %r, 1; @%p bra b; mov.u32 %r, 1; b: @!%p bra a; ret;", 1 },
		{ "a branch back to what leaves", "bra b; a: ret; b: @%p bra a; ret;", 0 },
		{ "two of them", "bra c; a: ret; b: @%p bra a; ret; c: @%p bra b; bra.uni a;", 0 },
		{ "a branch back to what leaves under a predicate", "bra b; a: @%p ret; b: @%p bra a; ret;", 1 },
		{ "a loop that is entered below", "bra b; a: mov.u32 %r, 1; bra b; b: @%p bra a; ret;", 1 },
		{ "a loop that nobody comes to", "ret; a: bra a;", 0 },
		{ "a loop in a block", "{ a: @%p bra a; } ret;", 1 },
		{ "a loop around a block", "a: { bra b; } b: @%p bra a; ret;", 1 },
		{ "a label of another block", "a: mov.u32 %r, 1; { bra a; a: ret; }", 0 },
		{ "what traps first", "a: trap; bra a;", 0 },
		{ "a branch to no label", "@%p bra elsewhere; ret;", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ptx_module m;
		char text[512];
		uint32_t body = parse_body(text, sizeof(text), cases[i].body, &m);
		int is = body == PTX_NONE ? -1 : ptx_has_cycle(&m, m.nodes[body].parent);

		if (body != PTX_NONE)
			ptx_finish(&m);
		ok(is == cases[i].goes_round, "%s: %s", cases[i].what, cases[i].goes_round ? "goes round" : "does not go round");
	}
}

static void try_heads(void)
{
	static const struct {
		const char *what, *body;
		bool has;
	} cases[] = {
		{ "a comparison", "setp.gt.u32 %p1, %r1, 7; @%p1 bra a; st.global.u32 [%r1], 1; a: ret;", true },
		{ "where the block is", "mov.u32 %r1, %ctaid.x; mad.lo.u32 %r1, %r1, %r1, %r1; setp.gt.u32 %p1, %r1, 7; @%p1 bra a; trap; b: a: ret;", true },
		{ "constants and parameters", "ld.const.u32 %r1, [c]; ld.param.u32 %r1, [d]; @%p1 bra a; trap; a: ret;", true },
		{ "no branch", "setp.gt.u32 %p1, %r1, 7; a: ret;", false },
		{ "a branch that all take", "bra a; a: ret;", false },
		{ "a branch unless", "@!%p1 bra a; trap; a: ret;", false },
		{ "more to do at the branch's end", "@%p1 bra a; trap; a: mov.u32 %r1, 1; ret;", false },
		{ "an end that not all come to", "@%p1 bra a; trap; a: @%p1 ret; trap;", false },
		{ "the thread's end", "@%p1 bra a; trap; a: exit;", false },
		{ "a label before it", "b: @%p1 bra a; bra b; a: ret;", false },
		{ "a load", "ld.global.u32 %r1, [%r1]; @%p1 bra a; trap; a: ret;", false },
		{ "a store", "st.global.u32 [%r1], 1; @%p1 bra a; trap; a: ret;", false },
		{ "the time", "mov.u32 %r1, %clock; @%p1 bra a; trap; a: ret;", false },
		{ "the time of 64 bits", "mov.u64 %rd1, %clock64; @%p1 bra a; trap; a: ret;", false },
		{ "the global time", "mov.u64 %rd1, %globaltimer; @%p1 bra a; trap; a: ret;", false },
		{ "the multiprocessor", "mov.u32 %r1, %smid; @%p1 bra a; trap; a: ret;", false },
		{ "an instruction for some", "@%p1 mov.u32 %r1, 1; @%p1 bra a; trap; a: ret;", false },
		{ "a vote", "vote.sync.any.pred %p1, %p1, %r1; @%p1 bra a; trap; a: ret;", false },
		{ "a block", "{ mov.u32 %r1, 1; } @%p1 bra a; trap; a: ret;", false },
		{ "a branch to no label", "@%p1 bra elsewhere; ret;", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ptx_module m;
		char text[512];
		uint32_t body = parse_body(text, sizeof(text), cases[i].body, &m), branch;

		if (!ok(body != PTX_NONE, "%s: parsed", cases[i].what))
			continue;
		branch = ptx_head_branch(&m, body);
		ok((branch != PTX_NONE) == cases[i].has && (branch == PTX_NONE || ptx_token_is(&m, m.nodes[branch].name, "bra")), "%s: %s",
		   cases[i].what, cases[i].has ? "a head" : "no head");
		ptx_finish(&m);
	}
}

#define ADD "add.u32 %r1, %r1, 1; "
#define ADD6 ADD ADD ADD ADD ADD ADD

/* Tests whether the code that a branch skips may be executed under the branch's predicate instead (if-conversion). */
static void try_guards(void)
{
	static const struct {
		const char *what, *rest;
		bool may;
	} cases[] = {
		{ "a store", "st.global.u32 [%r1], 1; a: ret;", true },
		{ "a load, numbers, an add", "ld.global.u32 %r1, [%r1]; add.u32 %r1, %r1, 1; red.global.add.u32 [%r1], 1; a: ret;", true },
		{ "the time", "mov.u64 %rd1, %globaltimer; st.global.u64 [%r1], %rd1; a: ret;", true },
		{ "branches on", "bra b; b: st.global.u32 [%r1], 1; bra c; d: c: a: ret;", true },
		{ "as many as there may be", ADD6 ADD6 ADD6 ADD ADD ADD ADD ADD "a: ret;", true },
		{ "more", ADD6 ADD6 ADD6 ADD6 "a: ret;", false },
		{ "a branch back", "b: st.global.u32 [%r1], 1; bra b; a: ret;", false },
		{ "a branch over something", "bra b; st.global.u32 [%r1], 1; b: a: ret;", false },
		{ "a branch for some", "setp.gt.u32 %p1, %r1, 9; @%p1 bra b; b: a: ret;", false },
		{ "a store for some", "@%p1 st.global.u32 [%r1], 1; a: ret;", false },
		{ "an atomic that answers", "atom.global.add.u32 %r1, [%r1], 1; a: ret;", false },
		{ "a call", "call away; a: ret;", false },
		{ "a vote", "vote.sync.any.pred %p1, %p1, %r1; a: ret;", false },
		{ "who is here", "activemask.b32 %r1; a: ret;", false },
		{ "the thread's end", "exit; a: ret;", false },
		{ "a block", "{ st.global.u32 [%r1], 1; } a: ret;", false },
		{ "two ends", "ret; a: ret;", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ptx_module m;
		char text[1024], whole[900];
		uint32_t body, branch;

		snprintf(whole, sizeof(whole), "setp.gt.u32 %%p1, %%r1, 7; @%%p1 bra a; %s", cases[i].rest);
		body = parse_body(text, sizeof(text), whole, &m);
		if (!ok(body != PTX_NONE, "%s behind a head: parsed", cases[i].what))
			continue;
		branch = ptx_head_branch(&m, body);
		if (ok(branch != PTX_NONE, "%s: a head", cases[i].what))
			ok(ptx_can_guard(&m, branch) == cases[i].may, "%s: %s", cases[i].what, cases[i].may ? "has predicates" : "has none");
		ptx_finish(&m);
	}
}

int main(int argc, char **argv)
{
	char source[512], options[512];

	if (argc != 4)
		return 2;
	for_each(argv[1], "grammar/*.ptx", try_grammar);
	for_each(argv[1], "kernels/*.ptx", try_grammar);
	for_each(argv[1], "broken/*.ptx", try_broken);
	try_cycles();
	try_heads();
	try_guards();
	snprintf(source, sizeof(source), "%s/kernels.cl", argv[1]);
	try_clang(argv[3], source, "");
	snprintf(source, sizeof(source), "%s/maps/device/devlib.cl", argv[2]);
	snprintf(options, sizeof(options), "-DGPUBPF_BITCODE '-I%s'", argv[2]);
	try_clang(argv[3], source, options);
	return done();
}
