/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity FILE...: decodes and encodes each instruction and compares the bits. Each operand must lie in the field that
 * the form defines. The files are cubins, libraries, programs or CUDA sources, of any architecture. For a small file
 * the test also changes each bit of each instruction. Finally it decodes and encodes random bits, and prints the number
 * of instructions of each architecture.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/sass/cubin/cubin.h"
#include "backends/cuda/sass/cubin/image.h"
#include "backends/cuda/sass/isa/form.h"
#include "core/model/diag.h"
#include "tests/backends/cuda/case.h"
#include "tests/tap.h"

#define RANDOM_WORDS 1000000
#define MAX_CHANGED 100000         /* largest number of instructions for which the test changes each bit */
#define OPCODES 0x1000
#define MAX_SM 256

static uint64_t by_sm[MAX_SM]; /* number of instructions of each architecture in all files */
static struct {
	uint64_t cubins, insns, words, wrong;
	bool seen[OPCODES], changes;
	struct sass_word first; /* the first instruction word that encoding changed */
} all;

static bool is_same_word(struct sass_word a, struct sass_word b)
{
	return a.lo == b.lo && a.hi == b.hi;
}

/* Does each operand lie in its field? Are there registers only where the form has some? */
static bool has_operands_of_form(struct sass_word w, struct sass_insn insn)
{
	const uint8_t field[] = { w.lo >> 16, w.lo >> 24, w.lo >> 32, w.hi };

	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		char kind = sass_form(insn) ? sass_form(insn)->operands[o] : '-';
		unsigned bits = sass_is_uniform_kind(kind) ? 63 : 255;

		if (insn.operand[o].reg != (field[o] & bits) || insn.operand[o].uniform != sass_is_uniform_kind(kind) ||
		    (insn.operand[o].n && (kind == '-' || insn.operand[o].reg == bits)))
			return false;
	}
	return true;
}

static void try_word(struct sass_word w)
{
	struct sass_insn insn = sass_decode(w);

	all.words++;
	if (is_same_word(sass_encode(insn), w) && has_operands_of_form(w, insn))
		return;
	if (!all.wrong++)
		all.first = w;
}

static void try_changes(struct sass_word w)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		try_word((struct sass_word){ w.lo ^ 1ull << bit, w.hi });
		try_word((struct sass_word){ w.lo, w.hi ^ 1ull << bit });
	}
}

static int try_cubin(void *arg, const void *data, size_t size, struct gpubpf_diag *diag)
{
	struct sass_cubin c;

	(void)arg;
	if (sass_cubin_open(data, size, &c, diag) < 0)
		return 0;
	all.cubins++;
	for (uint32_t s = 1; s < c.nsections; s++) {
		const struct sass_section *text = &c.sections[s];

		if (!(text->head.sh_flags & SHF_EXECINSTR) || !text->data)
			continue;
		for (size_t at = 0; at + SASS_INSN <= text->size; at += SASS_INSN) {
			struct sass_word w = sass_read_word(text->data + at);

			all.insns++;
			by_sm[c.sm % MAX_SM]++;
			all.seen[w.lo % OPCODES] = true;
			try_word(w);
			if (all.changes && all.insns < MAX_CHANGED)
				try_changes(w);
		}
	}
	sass_cubin_finish(&c);
	return 0;
}

static void report(const char *what)
{
	uint32_t opcodes = 0;

	for (uint32_t i = 0; i < OPCODES; i++)
		opcodes += all.seen[i];
	ok(all.words && !all.wrong,
	   "%s: %lu instructions of %lu cubins, %u opcodes, %lu words: %lu wrong, first %016lx %016lx", what, all.insns,
	   all.cubins, opcodes, all.words, all.wrong, all.first.lo, all.first.hi);
	memset(&all, 0, sizeof(all));
}

static void try_file(const char *path)
{
	bool source = strlen(path) > 3 && !strcmp(path + strlen(path) - 3, ".cu");
	struct gpubpf_diag diag;
	size_t size;
	char *file = source ? compiled_cubin(path, "sm_90", "", &size) : read_file(path, &size);
	int err;

	if (!file) {
		skip(path, "no nvcc here; GPUBPF_TEST_NVCC names one");
		return;
	}
	gpubpf_diag_init(&diag);
	all.changes = size < 1 << 24;
	err = sass_image_each(file, size, 0, try_cubin, NULL, &diag);
	if (err < 0)
		ok(false, "%s: %s", path, diag.what);
	else
		report(strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	free(file);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		try_file(argv[i]);
	for (uint32_t sm = 0; sm < MAX_SM; sm++)
		if (by_sm[sm])
			note("sm_%u: %lu instructions", sm, by_sm[sm]);
	for (uint32_t i = 0; i < RANDOM_WORDS; i++)
		try_word((struct sass_word){ (uint64_t)random_below(UINT32_MAX) << 32 | random_below(UINT32_MAX),
					     (uint64_t)random_below(UINT32_MAX) << 32 | random_below(UINT32_MAX) });
	report("random words");
	return done();
}
