/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the minimiser of random programs on a faulty device: an interpreter that executes one instruction wrongly. The
 * comparison must find the fault. The minimised program must be small and verified, and still show the same fault.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/conformance/random/random.h"
#include "core/model/diag.h"
#include "tests/tap.h"

#define PROGRAMS 1000

/* Instructions that the faulty device executes as another one; see RFC 9669, 4.1, 4.3 and 5. */
static const struct mistake {
	const char *what;
	uint8_t code, flip;
	uint8_t forms; /* opcode bits that do not matter when an opcode is compared with `code` */
} mistakes[] = {
	{ "arsh is rsh", 0xc7, 0xb0, 0x08 },
	{ "32 bits wide, mul is add", 0x24, 0x20, 0x08 },
	{ "jsgt is jsge", 0x65, 0x10, 0x08 },
	{ "a byte is stored by stw", 0x63, 0x10, 0 },
}, *mistake;

static bool is_faulty_insn(const struct gpubpf_raw_insn *insn)
{
	return (insn->code & ~mistake->forms) == mistake->code;
}

static bool has_faulty_insn(const struct random_program *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (is_faulty_insn(&p->insns[i]))
			return true;
	return false;
}

/*
 * Run the program on the interpreter. Store r0 in *r0 and the maps' memory, which the caller frees, in *arena. Returns
 * false if the verifier refuses the program.
 */
static bool run(const struct random_program *p, uint64_t *r0, void **arena, struct random_group *g)
{
	struct gpubpf_diag diag;
	bool good;

	gpubpf_diag_init(&diag);
	good = random_group_init(g, &p, 1, &diag) == 0 && (*arena = aligned_alloc(4096, g->size)) != NULL;
	if (good) {
		random_reset(g, 0, *arena);
		good = random_run_host(g, 0, *arena, r0, &diag) == 0;
	}
	return good;
}

static void compare(const struct random_program *p, struct random_outcome *o)
{
	static struct random_group right, wrong;
	struct random_program other = *p;
	void *a = NULL, *b = NULL;

	*o = (struct random_outcome){ .launch = p->launch };
	for (uint32_t i = 0; i < other.n; i++)
		if (is_faulty_insn(&other.insns[i]))
			other.insns[i].code ^= mistake->flip;
	if (run(p, &o->want, &a, &right) && run(&other, &o->got, &b, &wrong))
		o->differs = random_differs(&right, a, b, true, o->what, sizeof(o->what)) || o->want != o->got;
	free(a);
	free(b);
	random_group_finish(&right);
	if (b)
		random_group_finish(&wrong);
}

int random_run_group(const struct conformance_device *d, const struct random_program *const *programs, uint32_t n,
		     struct random_outcome *outcomes, struct gpubpf_reason *why)
{
	(void)d;
	(void)why;
	for (uint32_t i = 0; i < n; i++)
		compare(programs[i], &outcomes[i]);
	return 0;
}

static void try_mistake(void)
{
	static struct random_program program;
	struct random_outcome outcome = { 0 };
	uint32_t before, i = 0;

	for (; i < PROGRAMS && !outcome.differs; i++) {
		random_make(i + 1, i % 2 ? GEN_PLAIN : GEN_ALL, &program);
		compare(&program, &outcome);
	}
	if (!ok(outcome.differs, "%s: one of %u programs notices", mistake->what, i))
		return;
	before = program.n;
	random_minimise(NULL, &program, &outcome);
	ok(program.n <= 20 && program.n < before, "of %u instructions %u are left", before, program.n);
	ok(outcome.differs && has_faulty_insn(&program) && random_is_proven(&program), "and they notice it still");
}

int main(void)
{
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		mistake = &mistakes[i];
		try_mistake();
	}
	return done();
}
