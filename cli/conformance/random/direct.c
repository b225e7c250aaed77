/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs random programs by gpubpf_prog__test_run() and compares their data buffers with the interpreter's.
 *
 * A run has up to RANDOM_TOGETHER random programs, because a run needs a process and a compilation. They are functions of
 * one program, which calls function I in thread I. The thread's memory is GEN_DATA_BYTES of the data buffer; the results
 * of all threads follow this memory. If a run fails or a result differs, each half runs again. So a report names one seed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/interp/interp.h"
#include "core/load/load.h"
#include "core/model/diag.h"
#include "core/session/session.h"
#include "core/wire/direct.h"
#include "maps/layout.h"
#include "cli/conformance/raw/raw.h"
#include "cli/conformance/suite/application.h"
#include "random.h"

#define RANDOM_TOGETHER 32
#define DATA_WORDS (RANDOM_TOGETHER * (GEN_DATA_BYTES / 8 + 1))
#define HEAD_INSNS (4 * RANDOM_TOGETHER + 16) /* instructions of the program that calls the random programs */
#define DATA 531                              /* the helper gpubpf_data() */

struct direct {
	const struct suite_run *run;
	const struct suite_device *device;
	struct suite_result *result;
	struct random_program programs[RANDOM_TOGETHER];
	struct gpubpf_raw_insn insns[HEAD_INSNS + RANDOM_TOGETHER * GEN_INSNS];
	uint32_t ninsns;
	uint64_t want[DATA_WORDS], got[DATA_WORDS], input[DATA_WORDS];
};

/* -- the program -- */

static void emit(struct direct *d, uint8_t code, int dst, int src, int off, int32_t imm)
{
	d->insns[d->ninsns++] = (struct gpubpf_raw_insn){ code, (uint8_t)(dst | src << 4), (int16_t)off, imm };
}

/* if (thread == i) { r8 = program(ctx); goto end; } The jump to the end has no target yet. */
static void emit_call(struct direct *d, uint32_t i)
{
	emit(d, 0x55, 7, 0, 3, (int32_t)i); /* if r7 != i goto the next call */
	emit(d, 0xbf, 1, 6, 0, 0);
	emit(d, 0x85, 0, 1, 0, 0);
	emit(d, 0x05, 0, 0, 0, 0);
}

/* Emit the main program, and append the n random programs that begin at programs[from]. */
static void join(struct direct *d, uint32_t from, uint32_t n)
{
	uint32_t calls;

	d->ninsns = 0;
	emit(d, 0xbf, 6, 1, 0, 0);
	emit(d, 0x79, 7, 6, offsetof(struct gpubpf_ctx, global_linear), 0);
	calls = d->ninsns;
	for (uint32_t i = 0; i < n; i++)
		emit_call(d, i);
	emit(d, 0xb7, 0, 0, 0, 0);
	for (uint32_t i = 0; i < n; i++)
		d->insns[calls + 4 * i + 3].off = (int16_t)(d->ninsns - (calls + 4 * i + 4));
	emit(d, 0xbf, 8, 0, 0, 0);
	emit(d, 0xbf, 1, 7, 0, 0);
	emit(d, 0x67, 1, 0, 0, 3);
	emit(d, 0x07, 1, 0, 0, RANDOM_TOGETHER * GEN_DATA_BYTES);
	emit(d, 0xb7, 2, 0, 0, 8);
	emit(d, 0x85, 0, 0, 0, DATA);
	emit(d, 0x15, 0, 0, 1, 0); /* no address: the thread stores no result */
	emit(d, 0x7b, 0, 8, 0, 0);
	emit(d, 0xbf, 0, 8, 0, 0);
	emit(d, 0x95, 0, 0, 0, 0);
	for (uint32_t i = 0; i < n; i++) {
		const struct random_program *p = &d->programs[from + i];

		d->insns[calls + 4 * i + 2].imm = (int32_t)(d->ninsns - (calls + 4 * i + 3));
		memcpy(d->insns + d->ninsns, p->insns, p->n * sizeof(p->insns[0]));
		d->ninsns += p->n;
	}
}

/* Make a unit of the program, for the session or the interpreter. */
static int make_unit(const struct direct *d, struct gpubpf_unit *unit, struct gpubpf_diag *diag)
{
	int err = gpubpf_unit_raw(d->insns, d->ninsns, NULL, 0, unit, diag);

	if (err < 0)
		return err;
	unit->progs->is_run = true;
	snprintf(unit->progs->name, sizeof(unit->progs->name), "random");
	snprintf(unit->progs->section, sizeof(unit->progs->section), "gpu/run/random");
	snprintf(unit->progs->pattern, sizeof(unit->progs->pattern), GPUBPF_DIRECT_KERNEL);
	return 0;
}

/* -- the runs -- */

/* Run each thread in the interpreter. */
static int interpret(struct direct *d, uint32_t n, struct gpubpf_diag *diag)
{
	struct gpubpf_interp_result result;
	struct gpubpf_unit unit;
	int err = make_unit(d, &unit, diag);

	if (err < 0)
		return err;
	for (uint32_t i = 0; !err && i < n; i++) {
		struct gpubpf_ctx ctx = { .work_dim = 3,
					  .site = GPUBPF_SITE_ENTRY,
					  .kernel_name = GPUBPF_DIRECT_KERNEL,
					  .grid_dim = { 1, 1, 1 },
					  .block_dim = { n, 1, 1 },
					  .thread_idx = { i, 0, 0 },
					  .global_id = { i, 0, 0 },
					  .global_linear = i,
					  .arg = { (uintptr_t)d->want - GPUBPF_DIRECT_DATA, sizeof(d->want),
						   GPUBPF_DIRECT_KEY } };
		struct gpubpf_interp_job job = {
			.unit = &unit, .prog = unit.progs, .ctx = &ctx, .mem = d->want, .mem_size = sizeof(d->want)
		};

		err = gpubpf_interp_run(&job, &result, diag);
	}
	gpubpf_unit_finish(&unit);
	return err;
}

static int launch(struct direct *d, struct gpubpf_session *s, uint32_t n)
{
	struct gpubpf_test_run_opts o = {
		.sz = sizeof(o),
		.backend = d->device->caps.backend,
		.device = d->run->device,
		.device_index = d->device->index,
		.block = { n, 1, 1 },
		.data_in = d->got,
		.data_out = d->got,
		.data_size_in = sizeof(d->got),
		.data_size_out = sizeof(d->got),
	};

	return gpubpf_prog__test_run(gpubpf_session__next_program(s, NULL), &o);
}

static int run_session(struct direct *d, struct gpubpf_session *s, uint32_t n, struct gpubpf_diag *diag)
{
	struct gpubpf_loaded *loaded = calloc(1, sizeof(*loaded));
	int err = -ENOMEM;

	if (loaded && (loaded->objects = calloc(1, sizeof(*loaded->objects)))) {
		loaded->nobjects = 1;
		err = make_unit(d, &loaded->unit, diag);
	}
	if (err < 0) {
		gpubpf_loaded_destroy(loaded);
		return err;
	}
	err = gpubpf_session_adopt_unit(s, loaded, diag);
	if (!err)
		err = gpubpf_session__start(s);
	if (!err)
		err = launch(d, s, n);
	return err ? err : gpubpf_session__stop(s);
}

static bool fail(struct direct *d, uint64_t seed, const char *expected, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static bool fail(struct direct *d, uint64_t seed, const char *expected, const char *fmt, ...)
{
	char what[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(d->result->expected, sizeof(d->result->expected), "%s", expected);
	snprintf(d->result->got, sizeof(d->result->got), "the program of seed %" PRIu64 ": %s", seed, what);
	return false;
}

/* Compare the data buffers. Reports the first thread that differs. */
static bool compare(struct direct *d, uint64_t seed, uint32_t n)
{
	char want[40];

	for (uint32_t i = 0; i < DATA_WORDS; i++) {
		bool is_result = i >= RANDOM_TOGETHER * GEN_DATA_BYTES / 8;
		uint32_t thread = is_result ? i - RANDOM_TOGETHER * GEN_DATA_BYTES / 8 : i / (GEN_DATA_BYTES / 8);

		if (d->want[i] == d->got[i])
			continue;
		snprintf(want, sizeof(want), "0x%" PRIx64, d->want[i]);
		return fail(d, seed + (thread < n ? thread : 0), want, "%s %u is 0x%" PRIx64 " in thread %u of %u",
			    is_result ? "the result" : "word", is_result ? 0 : (unsigned)(i % (GEN_DATA_BYTES / 8)),
			    d->got[i], thread, n);
	}
	return true;
}

/* Run the n programs that begin at programs[from], whose first seed is `seed`. Returns false with the reason. */
static bool run_once(struct direct *d, uint64_t seed, uint32_t from, uint32_t n)
{
	struct gpubpf_session_opts opts = { .sz = sizeof(opts),
					    .runtime_dir = d->run->runtime_dir,
					    .no_attach = true,
					    .no_kernel = true,
					    .wait_ms = APPLICATION_WAIT_MS };
	struct gpubpf_session *s;
	struct gpubpf_diag diag;
	bool good;
	int err;

	gpubpf_diag_init(&diag);
	join(d, from, n);
	memcpy(d->want, d->input, sizeof(d->want));
	memcpy(d->got, d->input, sizeof(d->got));
	if (interpret(d, n, &diag) < 0)
		return fail(d, seed, "the interpreter runs it", "%.200s", diag.what);
	s = gpubpf_session__new(&opts);
	err = s ? run_session(d, s, n, &diag) : -errno;
	if (err < 0)
		good = fail(d, seed, "it runs", "%.280s",
			    diag.code                        ? diag.what :
			    s && gpubpf_session__error(s)[0] ? gpubpf_session__error(s) :
							       strerror(-err));
	else
		good = compare(d, seed, n);
	gpubpf_session__free(s);
	return good;
}

/* Run the programs together. If that fails, run each half, so that the report names a program that fails alone. */
static bool run_group(struct direct *d, uint64_t seed, uint32_t from, uint32_t n)
{
	uint32_t half = n / 2;

	if (run_once(d, seed + from, from, n))
		return true;
	if (half)
		(void)(run_group(d, seed, from, half) && run_group(d, seed, from + half, n - half));
	return false;
}

static bool run_seeds(struct direct *d, uint64_t *ran)
{
	const struct suite_run *run = d->run;
	time_t until = run->seconds ? time(NULL) + (time_t)run->seconds : 0;

	for (uint64_t n; !(run->programs && *ran >= run->programs) && !(until && time(NULL) >= until); *ran += n) {
		uint64_t seed = run->seed + *ran;
		struct gen_rng rng = { seed };

		n = run->programs && run->programs - *ran < RANDOM_TOGETHER ? run->programs - *ran : RANDOM_TOGETHER;
		for (uint32_t i = 0; i < n; i++)
			random_make(seed + i, GEN_DIRECT, &d->programs[i]);
		for (uint32_t i = 0; i < DATA_WORDS; i++)
			d->input[i] = gen_random(&rng);
		if (!run_group(d, seed, 0, (uint32_t)n))
			return false;
	}
	return true;
}

void random_run_direct(const struct suite_run *run, const struct suite_device *device, struct suite_result *result)
{
	struct direct *d = calloc(1, sizeof(*d));
	uint64_t ran = 0;

	if (conformance_is_host(device->caps.backend)) {
		result->state = SUITE_SKIPPED;
		snprintf(result->got, sizeof(result->got),
			 "the interpreter has no direct runs; it is what devices are compared with");
		free(d);
		return;
	}
	snprintf(result->got, sizeof(result->got), "out of memory");
	if (!d)
		return;
	d->run = run;
	d->device = device;
	d->result = result;
	if (run_seeds(d, &ran)) {
		result->state = SUITE_PASSED;
		snprintf(result->got, sizeof(result->got),
			 "%" PRIu64 " programs of the seeds %" PRIu64 " to %" PRIu64 ", in direct runs", ran, run->seed,
			 run->seed + ran - 1);
	}
	free(d);
}
