/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs random programs on a device, one per seed. Groups of programs run in child processes
 * (cli/conformance/suite/isolate.h), in several parallel jobs. A job claims the seeds of a group when it starts the
 * group. So the seeds that ran are always consecutive, for any number of jobs.
 */
#include "random.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/conformance/suite/isolate.h"
#include "cli/conformance/suite/case.h"
#include "core/model/diag.h"
#include "core/load/load.h"
#include "cli/conformance/raw/raw.h"

#define GROUPS 16        /* number of groups for each opening of a device */
#define SEEDS_PER_FULL_PROGRAM 128    /* of this many seeds, one uses maps and helpers, which compile slowly */
#define GROUPS_PER_OPTIMISED 4 /* of this many groups, a CPU's compiler optimises one; this takes most of the time */

/* state that all jobs share; each job is a process */
struct jobs {
	_Atomic uint64_t next; /* the first seed that no job has claimed */
	uint64_t end;          /* end of the range of seeds, exclusive */
	time_t until;          /* time at which no further seeds are claimed; 0: no limit */
	_Atomic bool over;     /* a group failed, so all jobs stop */
	struct job {
		/* first[i]: first seed of isolate item i. The item's value is its number of programs. */
		uint64_t first[GROUPS];
		uint64_t done; /* number of programs that ran */
		struct suite_result result;
	} job[];
};

struct runner {
	struct isolate isolate; /* must be the first member: the code casts between both structs */
	const struct conformance_opts *opts;
	/* the program of a case; NULL: run random programs */
	const struct random_program *fixed;
	struct jobs *jobs;
	struct job *job;
	struct conformance_device opened;
	struct random_program programs[RANDOM_GROUP];
};

static bool is_host(const struct runner *r)
{
	return conformance_is_host(r->opts->backend);
}

static enum gen_kind kind_of(const struct runner *r, uint64_t seed)
{
	if (is_host(r))
		return GEN_KERNEL;
	return seed % SEEDS_PER_FULL_PROGRAM ? GEN_PLAIN : GEN_ALL;
}

/*
 * Returns true if the program is compiled without optimisation. The seed alone decides this, so that runs can be
 * repeated.
 */
static bool is_unoptimised(uint64_t seed)
{
	return seed / RANDOM_GROUP % GROUPS_PER_OPTIMISED != 1;
}

/* -- reporting a difference as a case -- */

static void write_program(const struct random_program *p, uint64_t r0, uint64_t seed, FILE *f)
{
	struct gpubpf_insn insns[GEN_INSNS];
	struct gpubpf_diag diag;
	char text[96];

	gpubpf_diag_init(&diag);
	fprintf(f, "# a random program whose result on a device differs or is missing; r0 is the interpreter's "
		   "result\n");
	if (gpubpf_insn_decode(p->insns, p->n, insns, &diag) == 0)
		for (uint32_t i = 0; i < p->n; i++) {
			gpubpf_insn_format(&insns[i], i, text, sizeof(text));
			fprintf(f, "# %3u: %s\n", i, text);
		}
	fprintf(f, "seed-%" PRIu64 "\tv4\trandom\t%u\t0x%" PRIx64 "\t0x%" PRIx64 "\t-\t", seed, p->n, p->launch, r0);
	for (uint32_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < sizeof(p->insns[i]); k++)
			fprintf(f, "%02x", ((const uint8_t *)&p->insns[i])[k]);
	fputc('\t', f);
	for (uint32_t i = 1; i < random_parts(p); i++)
		fprintf(f, "%s%u", i > 1 ? "," : "", p->begin[i]);
	fputc('\n', f);
}

/* Store the error of a program in the item, and write the program to a file. */
static void report_error(struct runner *r, size_t item, const struct random_program *p, uint64_t want, uint64_t seed,
			 const char *wrong)
{
	char text[400], path[64];
	FILE *f;

	if (r->fixed) {
		isolate_done(&r->isolate, item, wrong);
		return;
	}
	snprintf(path, sizeof(path), "gpubpf-random-%" PRIu64 ".tsv", seed);
	f = fopen(path, "we");
	if (f)
		write_program(p, want, seed, f);
	snprintf(text, sizeof(text),
		 f && fclose(f) == 0 ? "%.*s; %u instructions, for --tests %s" :
				       "%.*s; %u instructions; %s could not be written",
		 (int)(sizeof(text) - sizeof(path) - 60), wrong, p->n, path);
	isolate_done(&r->isolate, item, text);
}

static void report_difference(struct runner *r, size_t item, const struct random_program *p,
			      const struct random_outcome *o, uint64_t seed)
{
	char text[400];

	snprintf(r->isolate.items[item].expected, sizeof(r->isolate.items[item].expected), "0x%" PRIx64, o->want);
	snprintf(text, sizeof(text), "0x%" PRIx64 "%s%s", o->got, o->what[0] ? ", and " : "", o->what);
	report_error(r, item, p, o->want, seed, text);
}

/* Run the program on the interpreter and store its result in *r0. */
static int interpret(const struct random_program *p, uint64_t *r0, struct gpubpf_diag *diag)
{
	struct random_group *g = calloc(1, sizeof(*g));
	void *arena = NULL;
	int err;

	gpubpf_diag_init(diag);
	err = g ? random_group_init(g, &p, 1, diag) : -ENOMEM;
	if (!err && !(arena = malloc(g->size)))
		err = -ENOMEM;
	if (!err) {
		random_reset(g, 0, arena);
		err = random_run_host(g, 0, arena, r0, diag);
	}
	if (g)
		random_group_finish(g);
	free(arena);
	free(g);
	return err;
}

/* -- functions that run in the child process -- */

/*
 * Run the programs of this kind that are in the range `from` to end - 1 of a group. The kinds run separately, because
 * each run clears and compares all maps, and maps that the kind does not use can then be made small.
 */
static int run_kind(struct runner *r, enum gen_kind kind, uint64_t seed, uint32_t from, uint32_t end,
		    struct random_outcome *outcomes, struct gpubpf_reason *why)
{
	const struct random_program *list[RANDOM_GROUP] = { NULL };
	struct random_outcome outcome[RANDOM_GROUP] = { 0 };
	uint32_t of[RANDOM_GROUP] = { 0 }, got = 0;
	int err;

	for (uint32_t i = from; i < end; i++)
		if (kind_of(r, seed + i) == kind) {
			of[got] = i;
			list[got++] = &r->programs[i];
		}
	err = got ? random_run_group(&r->opened, list, got, outcome, why) : 0;
	for (uint32_t i = 0; i < got; i++)
		outcomes[of[i]] = outcome[i];
	return err;
}

static int run_kinds(struct runner *r, uint64_t seed, uint32_t from, uint32_t end, struct random_outcome *outcomes,
		     struct gpubpf_reason *why)
{
	int err = 0;

	for (int kind = 0; !err && kind < GEN_NKINDS; kind++)
		err = run_kind(r, kind, seed, from, end, outcomes, why);
	return err;
}

/*
 * Called after a group failed. Find one program that also fails alone, and report it. Returns false if no program fails
 * alone.
 */
static bool report_failing_program(struct runner *r, size_t item, uint64_t seed, uint32_t n)
{
	struct random_outcome outcomes[RANDOM_GROUP];
	struct gpubpf_reason why = { "" };
	struct gpubpf_diag diag;
	uint32_t from = 0, end = n;
	uint64_t want = 0;
	char text[400];
	int err;

	while (end - from > 1) {
		uint32_t middle = from + (end - from) / 2;

		if (run_kinds(r, seed, from, middle, outcomes, &why) < 0)
			end = middle;
		else
			from = middle;
	}
	why.text[0] = 0;
	err = run_kinds(r, seed, from, end, outcomes, &why);
	if (err >= 0 || interpret(&r->programs[from], &want, &diag) < 0)
		return false;
	snprintf(r->isolate.items[item].expected, sizeof(r->isolate.items[item].expected), "it runs");
	snprintf(text, sizeof(text), "the program of seed %" PRIu64 ": %.250s", seed + from,
		 why.text[0] ? why.text : strerror(-err));
	report_error(r, item, &r->programs[from], want, seed + from, text);
	return true;
}

static int run_programs(struct runner *r, size_t item, uint64_t seed, uint32_t n, struct gpubpf_reason *why)
{
	struct random_outcome outcomes[RANDOM_GROUP] = { 0 };
	int err = r->fixed ? random_run_group(&r->opened, &r->fixed, 1, outcomes, why) :
			     run_kinds(r, seed, 0, n, outcomes, why);

	for (uint32_t i = 0; !err && i < n; i++) {
		r->isolate.items[item].value -= outcomes[i].left_out;
		if (!outcomes[i].differs)
			continue;
		if (!r->fixed) {
			r->programs[i].launch = outcomes[i].launch;
			random_minimise(&r->opened, &r->programs[i], &outcomes[i]);
		}
		report_difference(r, item, r->fixed ? r->fixed : &r->programs[i], &outcomes[i], seed + i);
		return 0;
	}
	if (!err)
		isolate_done(&r->isolate, item, "");
	return err;
}

static void run_group(struct runner *r, size_t item)
{
	uint64_t seed = r->job->first[item];
	uint32_t n = (uint32_t)r->isolate.items[item].value;
	struct gpubpf_reason why = { "" };
	int err;

	for (uint32_t i = 0; !r->fixed && i < n; i++) {
		random_make(seed + i, kind_of(r, seed + i), &r->programs[i]);
		r->programs[i].unoptimised = is_unoptimised(seed + i);
	}
	err = run_programs(r, item, seed, n, &why);
	if (err < 0 && (r->fixed || !report_failing_program(r, item, seed, n)))
		isolate_done(&r->isolate, item, why.text[0] ? why.text : strerror(-err));
}

/* Stop all jobs if a group of this job failed, in this process or an earlier one. */
static void note_failure(const struct runner *r)
{
	for (size_t i = 0; i < r->isolate.n; i++)
		if (r->isolate.items[i].error[0])
			r->jobs->over = true;
}

static bool is_over(const struct runner *r)
{
	return r->jobs->over || r->jobs->next >= r->jobs->end || (r->jobs->until && time(NULL) >= r->jobs->until);
}

/*
 * Claim the seeds of a group for this item. The group ends before the next multiple of RANDOM_GROUP. Returns false if
 * no seeds are left.
 */
static bool claim(struct runner *r, size_t item)
{
	uint64_t first = r->jobs->next, n = 1;

	while (!r->fixed) {
		if (first >= r->jobs->end)
			return false;
		n = RANDOM_GROUP - first % RANDOM_GROUP;
		n = r->jobs->end - first < n ? r->jobs->end - first : n;
		if (atomic_compare_exchange_weak(&r->jobs->next, &first, first + n))
			break;
	}
	r->job->first[item] = first;
	r->isolate.items[item].value = n;
	return true;
}

static void work(struct isolate *isolate)
{
	struct runner *r = (struct runner *)isolate;
	struct gpubpf_reason why = { "" };
	uint32_t begin, end;
	bool open;

	note_failure(r);
	open = is_host(r) || (!is_over(r) && conformance_open(r->opts, &r->opened, &why) == 0);

	while (isolate_next(isolate, &begin, &end)) {
		if (!open || is_over(r) || !claim(r, begin)) {
			isolate_done(isolate, begin, why.text);
			continue;
		}
		run_group(r, begin);
		note_failure(r);
	}
}

/* -- functions that run groups until one fails or the limit is reached -- */

static void report_bad_group(const struct runner *r, const struct isolate_item *bad, struct suite_result *result)
{
	uint64_t first = r->job->first[bad - r->isolate.items];

	snprintf(result->expected, sizeof(result->expected), "%s", bad->expected[0] ? bad->expected : "they run");
	if (bad->expected[0] || !bad->value)
		snprintf(result->got, sizeof(result->got), "%.*s", (int)sizeof(result->got) - 1, bad->error);
	else
		snprintf(result->got, sizeof(result->got), "the programs of seeds %" PRIu64 " to %" PRIu64 ": %.300s",
			 first, first + bad->value - 1, bad->error);
}

/* Open a device and run up to GROUPS groups on it. Returns true if no program failed. */
static bool run_groups(struct runner *r, struct suite_result *result)
{
	const struct isolate_item *bad = NULL;

	r->isolate = (struct isolate){ .n = r->fixed ? 1 : GROUPS, .group = 1, .work = work };
	if (isolate_init(&r->isolate) < 0) {
		snprintf(result->got, sizeof(result->got), "out of memory");
		return false;
	}
	isolate_run(&r->isolate);
	for (uint32_t i = 0; i < r->isolate.n; i++) {
		r->job->done += r->isolate.items[i].value;
		if (!bad && r->isolate.items[i].error[0])
			bad = &r->isolate.items[i];
	}
	if (bad)
		report_bad_group(r, bad, result);
	isolate_finish(&r->isolate);
	return !bad;
}

static void run_job(struct runner *r)
{
	bool good = true;

	while (good && !is_over(r))
		good = run_groups(r, &r->job->result);
	r->job->result.state = good ? SUITE_PASSED : SUITE_FAILED;
	if (!good)
		r->jobs->over = true;
}

/* Run each job in a process. The first job runs in this process. */
static void run_jobs(struct runner *r, uint32_t n)
{
	pid_t child[SUITE_JOBS];

	for (uint32_t i = n; i-- > 0;) {
		r->job = &r->jobs->job[i];
		child[i] = i ? fork() : 0;
		if (child[i] < 0)
			/* fork() failed: the other jobs run the seeds of this job */
			r->jobs->job[i].result.state = SUITE_PASSED;
		if (child[i])
			continue;
		run_job(r);
		if (i)
			_exit(0);
	}
	for (uint32_t i = 1; i < n; i++)
		if (child[i] > 0)
			waitpid(child[i], NULL, 0);
}

static void report_jobs(const struct runner *r, const struct suite_run *run, struct suite_result *result)
{
	uint64_t done = 0;

	for (uint32_t i = 0; i < run->jobs; i++) {
		done += r->jobs->job[i].done;
		if (r->jobs->job[i].result.state == SUITE_PASSED)
			continue;
		*result = r->jobs->job[i].result;
		if (!result->got[0])
			snprintf(result->got, sizeof(result->got),
				 "the process of a job ended before its work was "
				 "done");
		return;
	}
	result->state = SUITE_PASSED;
	snprintf(result->got, sizeof(result->got),
		 "%" PRIu64 " programs of the seeds %" PRIu64 " to %" PRIu64 ", each with %d input%s", done, run->seed,
		 r->jobs->next - 1, is_host(r) ? 1 : RANDOM_INPUTS, is_host(r) ? "" : "s");
}

static struct jobs *make_jobs(const struct suite_run *run)
{
	size_t size = sizeof(struct jobs) + run->jobs * sizeof(struct job);
	struct jobs *jobs = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (jobs == MAP_FAILED)
		return NULL;
	jobs->next = run->seed;
	jobs->end = run->programs && run->seed + run->programs > run->seed ? run->seed + run->programs : UINT64_MAX;
	jobs->until = run->seconds ? time(NULL) + (time_t)run->seconds : 0;
	return jobs;
}

static void run_seeds(struct runner *r, const struct suite_run *run, struct suite_result *result)
{
	run_jobs(r, (uint32_t)run->jobs);
	report_jobs(r, run, result);
}

/* -- a case from a file -- */

static int parse_hex(const char *hex, uint8_t *bytes, size_t size)
{
	size_t n = strlen(hex) / 2;

	if (strlen(hex) % 2 || n > size || strspn(hex, "0123456789abcdef") != 2 * n)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		sscanf(hex + 2 * i, "%2hhx", &bytes[i]);
	return (int)n;
}

/* Returns true if the interpreter's r0 equals the result that the case states. Otherwise both are stored in *result. */
static bool has_written_result(const struct random_program *p, const struct suite_case *c, struct suite_result *result)
{
	uint64_t want = strtoull(c->result, NULL, 0), r0 = 0;
	struct gpubpf_diag diag;
	int err = interpret(p, &r0, &diag);

	snprintf(result->expected, sizeof(result->expected), "0x%" PRIx64, want);
	if (err)
		snprintf(result->got, sizeof(result->got), "%.390s", diag.code ? diag.what : strerror(-err));
	else
		snprintf(result->got, sizeof(result->got), "0x%" PRIx64, r0);
	return !err && r0 == want;
}

/* Parse a comma-separated list with the index of each part's first instruction, beginning with the second part. */
static bool read_parts(const char *text, struct random_program *p)
{
	uint32_t before = 0;

	for (uint32_t i = 1; text && *text && i < GEN_PARTS; i++) {
		char *end;
		unsigned long at = strtoul(text, &end, 10);

		if (end == text || at <= before || at >= p->n)
			return false;
		before = p->begin[i] = (uint32_t)at;
		text = end + (*end == ',');
	}
	return !text || !*text;
}

static void run_fixed(struct runner *r, const struct suite_case *c, struct suite_result *result)
{
	struct random_program p = { .launch = c->launch };
	bool same;
	int n = parse_hex(c->program, (uint8_t *)p.insns, sizeof(p.insns));

	snprintf(result->expected, sizeof(result->expected), "a program that the verifier accepts");
	if (n <= 0 || n % sizeof(p.insns[0])) {
		snprintf(result->got, sizeof(result->got),
			 "the text is not a program of at most %d instructions in "
			 "hex digits",
			 GEN_INSNS);
		return;
	}
	p.n = n / sizeof(p.insns[0]);
	if (!read_parts(c->mem, &p) || !random_is_proven(&p)) {
		snprintf(result->got, sizeof(result->got), "the verifier refuses the program");
		return;
	}
	r->fixed = &p;
	r->job = r->jobs->job;
	same = has_written_result(&p, c, result);
	for (int way = 0; same && !is_host(r) && way < 2; way++) {
		p.unoptimised = way;
		same = run_groups(r, result);
	}
	if (same)
		result->state = SUITE_PASSED;
}

void random_run(const struct suite_run *run, struct suite_device *device, uint32_t index,
		const struct conformance_opts *opts)
{
	const struct suite_case *c = &run->suite.cases[index];
	struct suite_result *result = &device->results[index];
	struct runner *r = calloc(1, sizeof(*r));
	int err;

	if (r)
		r->jobs = make_jobs(run);
	if (!r || !r->jobs) {
		snprintf(result->got, sizeof(result->got), "out of memory");
		free(r);
		return;
	}
	r->opts = opts;
	if (c->program) {
		run_fixed(r, c, result);
	} else if (is_host(r) && (err = random_check_linux()) < 0) {
		result->state = SUITE_SKIPPED;
		snprintf(result->got, sizeof(result->got),
			 "this Linux kernel cannot run programs to compare with the interpreter: %s", strerror(-err));
	} else {
		run_seeds(r, run, result);
	}
	munmap(r->jobs, sizeof(*r->jobs) + run->jobs * sizeof(r->jobs->job[0]));
	free(r);
}

int suite_make_random(struct suite *s, uint64_t seed)
{
	struct suite_case *c;
	char name[32];
	int err;

	s->objects = calloc(1, sizeof(*s->objects));
	if (!s->objects)
		return -ENOMEM;
	s->nobjects = 1;
	snprintf(s->objects->name, sizeof(s->objects->name), "random programs");
	snprintf(name, sizeof(name), "seed-%" PRIu64, seed);
	err = suite_add_case(s, "random", name, NULL, &c);
	if (c)
		c->random = true;
	return err;
}
