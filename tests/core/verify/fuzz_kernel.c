/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz-kernel [SECONDS | COUNTn [SEED [all]]]: compares gpubpf's verifier with that of the Linux kernel
 * (BPF_F_STRICT_ALIGNMENT) on random and mutated programs. The test fails if gpubpf accepts a program that the Linux
 * kernel refuses, or if both accept fewer than a tenth. It continues after SECONDS until it has tried enough programs.
 *
 * There is an exception: the Linux kernel may refuse a program because it lost the range of a number. The test then
 * runs the program thousands of times, and fails only if an access is wrong. Programs that need privileges are compared
 * with the privileged verdict. With `all` the test also prints programs that only gpubpf refuses. It is skipped if
 * bpf(2) is refused.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/model/diag.h"
#include "core/model/facts.h"
#include "linux.h"
#include "run.h"
#include "tests/tap.h"

#define LOG_SIZE (1 << 20)
#define MIN_PROGRAMS 1000 /* minimum number of programs that the test tries */

static struct {
	uint64_t programs, both, refused, stricter, precise, unsound;
} count;

static struct run witness;
static bool walked[GEN_MAX_INSNS]; /* by our verifier */
static uint32_t refused_at;        /* by the kernel */

static char log_text[LOG_SIZE];

/* Returns true if the Linux kernel refused the program because of one of its limits, which do not concern safety. */
static bool is_limit(const char *log)
{
	static const char *const limits[] = { "too large", "too complex", "combined stack size", "The sequence of" };

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (strstr(log, limits[i]))
			return true;
	return false;
}

/* Returns the number of the last instruction in the log. */
static uint32_t last_pc(const char *log)
{
	uint32_t pc = 0, at;
	int end;

	for (const char *line = log; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		end = 0;
		if (sscanf(line, "%u: (%n", &at, &end) == 1 && end)
			pc = at;
	}
	return pc;
}

/*
 * Returns true if the Linux kernel refused the program because it lost a range that gpubpf's verifier kept, at the
 * access or at an earlier branch.
 */
static bool is_range(const char *log)
{
	static const char *const ranges[] = {
		"misaligned", "invalid access to map value", "unbounded", "min value", "max value", "math between",
		"pointer offset", "variable-offset", "be out of bounds",
	};

	refused_at = last_pc(log);
	if (refused_at < GEN_MAX_INSNS && !walked[refused_at])
		return true;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (strstr(log, ranges[i]))
			return true;
	return false;
}

static void check_alignment(void *arg, const struct gpubpf_interp_state *at)
{
	const struct gpubpf_insn *insn = &witness.insns[at->pc];
	bool load = insn->kind == GPUBPF_INSN_LOAD;
	uint64_t address = at->reg[load ? insn->src : insn->dst] + (uint64_t)(int64_t)insn->off;

	if ((load || insn->kind == GPUBPF_INSN_STORE || insn->kind == GPUBPF_INSN_ATOMIC) && address % insn->width)
		snprintf(witness.problem, sizeof(witness.problem), "instruction %u: misaligned", at->pc);
	if (at->pc == refused_at && !walked[refused_at])
		snprintf(witness.problem, sizeof(witness.problem), "instruction %u: reached", at->pc);
}

/* Run the program thousands of times with random contents of the maps. Returns true if an access is wrong. */
static bool has_wrong_access(const struct gen *g)
{
	struct gpubpf_diag diag;
	struct gen random = *g;

	gpubpf_diag_init(&diag);
	witness.problem[0] = 0;
	if (gpubpf_insn_decode(g->insns, g->n, witness.insns, &diag) < 0)
		return true;
	witness.prog.ninsns = g->n;
	for (int i = 0; i < 5000 && !witness.problem[0]; i++)
		run_once(&witness, &random, check_alignment, NULL);
	return witness.problem[0];
}

static bool we_accept(const struct gen *g, struct gpubpf_map *maps, struct gpubpf_diag *diag)
{
	static const struct gpubpf_verify_opts opts = {
		.max_cost = UINT64_MAX, .any_ctx = true, .allow_kernel_helpers = true, .allow_ptr_leaks = true,
	};
	static struct gpubpf_insn insns[GEN_MAX_INSNS];
	struct gpubpf_prog prog = { .name = "fuzz", .insns = insns, .ninsns = g->n };
	struct gpubpf_unit unit = { .maps = maps, .nmaps = GEN_NMAPS, .progs = &prog, .nprogs = 1 };
	int err;

	gpubpf_diag_init(diag);
	if (gpubpf_insn_decode(g->insns, g->n, insns, diag) < 0)
		return false;
	err = gpubpf_verify(&unit, &prog, &opts, diag);
	for (uint32_t pc = 0; err == 0 && pc < g->n; pc++)
		walked[pc] = prog.facts->insn[pc].flags & GPUBPF_FACT_REACHED;
	gpubpf_facts_destroy(prog.facts);
	return err == 0;
}

static void dump(const struct gen *g)
{
	for (uint32_t i = 0; i < g->n; i++) {
		const uint8_t *b = (const uint8_t *)&g->insns[i];

		for (int k = 0; k < 8; k++)
			printf("%02x", b[k]);
	}
	printf("\n");
}

static void compare(const struct linux_verifier *k, const struct gen *g, struct gpubpf_map *maps, uint64_t seed,
		    bool verbose)
{
	struct gpubpf_diag diag;
	bool ours = we_accept(g, maps, &diag);
	int theirs;

	count.programs++;
	count.refused += !ours;
	if (!ours && !verbose)
		return;
	theirs = linux_judge(k, g->insns, g->n, NULL, 0);
	count.both += ours && !theirs;
	if (!ours && !theirs) {
		count.stricter++;
		printf("# stricter, seed %llu: %s %s (at %u)\n# ", (unsigned long long)seed,
		       gpubpf_error_name(diag.code), diag.what, diag.pc);
		dump(g);
	}
	if (!ours || !theirs)
		return;
	log_text[0] = 0;
	linux_judge(k, g->insns, g->n, log_text, sizeof(log_text));
	if (is_limit(log_text))
		return;
	if (is_range(log_text) && !has_wrong_access(g)) {
		count.precise++;
		if (verbose) {
			printf("# more precise, seed %llu\n# ", (unsigned long long)seed);
			dump(g);
		}
		return;
	}
	count.unsound++;
	printf("# we accept, the kernel does not; seed %llu, errno %d\n# ", (unsigned long long)seed, -theirs);
	dump(g);
	for (char *line = strtok(log_text, "\n"); line; line = strtok(NULL, "\n"))
		printf("#   %s\n", line);
}

int main(int argc, char **argv)
{
	bool counted = argc > 1 && strchr(argv[1], 'n');
	double seconds = argc > 1 ? atof(argv[1]) : 20;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) << 20, first = seed;
	struct gpubpf_map maps[GEN_NMAPS];
	static struct gen g = { .kernel = true };
	time_t end = time(NULL) + (time_t)seconds;
	struct linux_verifier k;
	int err;

	gen_maps(maps);
	if (!ok(run_setup(&witness), "maps are laid out"))
		return done();
	err = linux_open(&k, maps, GEN_NMAPS);
	if (err < 0) {
		skip("kernel oracle", "bpf(2): %s", strerror(-err));
		run_finish(&witness);
		return done();
	}
	for (; counted ? seed - first < seconds : seconds ? time(NULL) < end || seed - first < MIN_PROGRAMS : seed == first; seed++) {
		gen_program(&g, seed);
		if (seed % 3 == 0)
			gen_mutate(&g);
		compare(&k, &g, maps, seed, argc > 3);
		if (count.unsound > 5)
			break;
	}
	linux_close(&k);
	printf("# seeds %llu to %llu: %llu programs, both accept %llu, we refuse %llu, only the kernel lost a "
	       "range %llu\n",
	       (unsigned long long)first, (unsigned long long)seed, (unsigned long long)count.programs,
	       (unsigned long long)count.both, (unsigned long long)count.refused,
	       (unsigned long long)count.precise);
	run_finish(&witness);
	ok(!count.unsound, "no program is accepted that the kernel refuses");
	if (seed - first >= MIN_PROGRAMS)
		ok(count.both >= count.programs / 10, "%llu of %llu programs are accepted by both, at least a tenth",
		   (unsigned long long)count.both, (unsigned long long)count.programs);
	return done();
}
