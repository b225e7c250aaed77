/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions KERNELS CUBIN...: tests which functions the reader lists inside the sections of kernels, with their first
 * instructions and returns. The CUBINs are the suite's, one per architecture. The test plants each construct that makes
 * calls ambiguous, and the reader must find it. For functions in their own sections, linked from parts of KERNELS (a
 * .cu), the reader must report the reason. If a function's first instruction is predicated, the probe of the function
 * must still run in all lanes that enter.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/sass/check/check.h"
#include "backends/cuda/sass/analysis/functions.h"
#include "backends/cuda/sass/rewrite/patch.h"
#include "backends/cuda/sass/rewrite/twin.h"
#include "core/model/diag.h"
#include "tests/backends/cuda/case.h"
#include "tests/tap.h"
#include "tests/backends/cuda/sass/isa/insn.h"

struct found {
	const struct sass_code *code;
	struct sass_function f[8];
	uint32_t n, calls[8], returns[8], wrong;
};

static int collect_place(void *arg, const struct sass_place *p)
{
	struct found *all = arg;
	uint32_t last = all->n - 1, opcode = sass_opcode(sass_code_at(all->code, p->at));

	if (p->kind == GPUBPF_SITE_CALL) {
		all->wrong += p->at != all->f[last].begin || p->id || p->guard != SASS_PT;
		all->calls[last]++;
	} else {
		all->wrong += opcode != SASS_OP_RET || p->id != all->returns[last]++;
	}
	return 0;
}

static int collect_function(void *arg, const struct sass_function *f)
{
	struct found *all = arg;

	all->f[all->n++] = *f;
	return f->why || all->n == 8 ? 0 : sass_function_places(all->code, f, GPUBPF_SITE_BIT(CALL) | GPUBPF_SITE_BIT(CALL_EXIT), collect_place, all);
}

static const struct sass_function *function(const struct found *all, const char *name)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (!strcmp(all->f[i].name, name))
			return &all->f[i];
	return NULL;
}

static struct found find(const struct sass_cubin *c, const struct sass_kernel *k, const struct sass_code *code)
{
	struct found all = { .code = code };

	if (sass_functions_each(c, k, code, collect_function, &all) < 0)
		abort();
	return all;
}

/* Replaces the instruction at `at` and expects that the function `thrice` is refused with this reason. */
static void plant(const struct sass_cubin *c, const struct sass_kernel *k, struct sass_code *code, uint32_t at, struct sass_insn insn,
		  const char *why)
{
	struct sass_insn was = sass_code_at(code, at);
	struct found all;
	const struct sass_function *f;

	code->insns[at] = insn;
	all = find(c, k, code);
	f = function(&all, "thrice");
	ok(f && f->why && strstr(f->why, why), "%s: %s", why, f && f->why ? f->why : "nothing is found");
	code->insns[at] = was;
}

static void plant_all(const struct sass_cubin *c, const struct sass_kernel *k, struct sass_code *code, const struct sass_function *f)
{
	const struct sass_arch *arch = code->arch;
	uint32_t in = f->begin + 1;
	struct sass_insn call = sass_with_field(sass_bra(arch, ((int64_t)in - 1 - 1) * SASS_INSN), 0, 12, SASS_OP_CALL_REL);

	plant(c, k, code, in, sass_bra(arch, -2 * SASS_INSN), "returns to its first instruction");
	plant(c, k, code, in, sass_bra(arch, -3 * SASS_INSN), "shares code");
	plant(c, k, code, 1, sass_bra(arch, ((int64_t)in - 2) * SASS_INSN), "shares code");
	plant(c, k, code, 1, call, "in the middle");
	plant(c, k, code, f->begin - 1, sass_move(2, 3), "falls through into it");
	plant(c, k, code, in, sass_with_field(sass_code_at(code, in), 0, 12, SASS_OP_BRX), "indirect branch");
	plant(c, k, code, in, sass_with_field(sass_code_at(code, in), 0, 12, SASS_OP_BRXU), "indirect branch");
}

static bool has_twin(const struct sass_cubin *c, const struct sass_kernel *k, const struct sass_code *code, struct sass_insn_probes *around,
		     struct gpubpf_diag *diag)
{
	static struct sass_section nothing;
	const struct sass_cubin probes = { .sections = &nothing, .nsections = 1 };
	struct sass_patched_code grafted = { 0 };
	struct sass_twin twin = { 0 };
	int err = sass_patch_kernel(code, k->regs, NULL, NULL, around, &grafted, diag);

	if (!err)
		err = sass_twin_write(c, k, code, &probes, &grafted, &twin, diag);
	if (!err)
		err = sass_check(c, k, code, &twin, &(struct sass_twin_contents){ 0 }, around, diag);
	sass_twin_finish(&twin);
	sass_patched_code_finish(&grafted);
	return !err;
}

/*
 * Inserts the probe LDG R2, [R0]; EXIT before a predicated instruction. A call place runs in all lanes; other kinds of
 * places must follow the predicate.
 */
static void try_guarded(const struct sass_cubin *c, const struct sass_kernel *k, struct sass_code *code, uint32_t at)
{
	struct sass_insn insns[2] = { sass_with_field(sass_load(code->arch, 2, 0, SASS_WIDTH_32), SASS_WRITE_AT, 3, 1),
				      insn_of(0x000000000000794d, 0x004fea0003800000) };
	struct sass_insn was = sass_code_at(code, at), first = sass_with_field(sass_move_imm(2, 0), 12, 4, 1);
	struct sass_probe probe = { .insns = insns, .n = 2, .regs = 3 };
	struct sass_insn_probe stands = { .place = { .kind = GPUBPF_SITE_CALL, .at = at, .guard = SASS_PT, .second = SASS_PT } };
	struct sass_insn_probes around = { &stands, 1 };
	struct sass_body body;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (sass_body_make(code->arch, &probe, false, &body, &diag) < 0)
		abort();
	stands.body = &body;
	code->insns[at] = first;
	ok(has_twin(c, k, code, &around, &diag), "a function that begins under a predicate has a probe: %s", diag.what);
	stands.place.kind = GPUBPF_SITE_INSN;
	ok(!has_twin(c, k, code, &around, &diag), "for all lanes, where it is called alone");
	code->insns[at] = was;
	sass_body_finish(&body);
}

static void try_cubin(const char *path)
{
	struct gpubpf_diag diag;
	struct sass_cubin c;
	struct sass_code code;
	const struct sass_kernel *k;
	const struct sass_function *f;
	struct found all;
	size_t size;
	char *data = read_file(path, &size);

	gpubpf_diag_init(&diag);
	if (sass_cubin_open(data, size, &c, &diag) < 0 || !(k = sass_kernel_find(&c, "returns")) || sass_code_read(&c, k, &code, &diag) < 0)
		abort();
	all = find(&c, k, &code);
	f = function(&all, "thrice");
	ok(all.n == 2 && f && function(&all, "__clang_ocl_kern_imp_returns") && !all.f[0].why && !all.f[1].why,
	   "%s: two functions lie in the kernel's section", base_name(path));
	ok(!all.wrong && all.calls[0] == 1 && all.calls[1] == 1 && all.returns[0] && all.returns[1],
	   "each begins once, and returns %u and %u times", all.returns[0], all.returns[1]);
	if (f)
		plant_all(&c, k, &code, f);
	if (f)
		try_guarded(&c, k, &code, f->begin);
	sass_code_finish(&code);
	sass_cubin_finish(&c);
	free(data);
}

/* In separately compiled and linked code, kernels call functions of other sections. */
static void try_linked(const char *source)
{
	struct gpubpf_diag diag;
	struct sass_cubin c;
	uint32_t others = 0;
	size_t size;
	char *data = compiled_cubin(source, "sm_90", "-O3 -rdc=true -dlink", &size);

	if (!data) {
		skip("functions in sections of their own", "no nvcc here; GPUBPF_TEST_NVCC names one");
		return;
	}
	gpubpf_diag_init(&diag);
	if (sass_cubin_open(data, size, &c, &diag) < 0)
		abort();
	for (uint32_t i = 0; i < c.nkernels; i++) {
		struct sass_code code;
		struct found all;

		gpubpf_diag_init(&diag);
		if (sass_code_read(&c, &c.kernels[i], &code, &diag) < 0)
			continue;
		all = find(&c, &c.kernels[i], &code);
		for (uint32_t f = 0; f < all.n; f++)
			others += all.f[f].why && strstr(all.f[f].why, "separate section");
		ok(!code.calls || all.n, "%s: whom it calls is known", c.symbols[c.kernels[i].symbol].name);
		sass_code_finish(&code);
	}
	ok(others, "%u functions in sections of their own are named, with the reason", others);
	sass_cubin_finish(&c);
	free(data);
}

int main(int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		try_cubin(argv[i]);
	try_linked(argv[1]);
	ran("sass", "call");
	ran("sass", "call_exit");
	return done();
}
