/* SPDX-License-Identifier: Apache-2.0 */
/* A sample job for workers, and tests of the job's encoding and fingerprint. */
#ifndef GPUBPF_TESTS_WORKER_CODEC_H
#define GPUBPF_TESTS_WORKER_CODEC_H

#include <errno.h>
#include <string.h>

#include "core/worker/alike.h"
#include "core/worker/codec.h"
#include "core/worker/job.h"
#include "tests/tap.h"

static struct gpubpf_insn insns[] = {
	{ .kind = GPUBPF_INSN_IMM64, .op = GPUBPF_IMM_MAP, .width = 8, .dst = 1, .src = 1 },
	{ .kind = GPUBPF_INSN_HI },
	{ .kind = GPUBPF_INSN_CALL, .imm = 1 },
	{ .kind = GPUBPF_INSN_EXIT },
};
static struct gpubpf_call_facts call = {
	.arg[1] = { .spaces = GPUBPF_SPACE_STACK, .align = 4, .off_min = -4, .off_max = -4, .size_min = 4, .size_max = 4 },
};
static struct gpubpf_insn_facts insn_facts[] = {
	{ .flags = GPUBPF_FACT_REACHED }, { 0 }, { .flags = GPUBPF_FACT_REACHED, .call = &call },
	{ .flags = GPUBPF_FACT_REACHED },
};
static uint32_t map_use[1];
static struct gpubpf_facts facts = { .insn = insn_facts, .map_use = map_use, .frames = 1 };
static struct gpubpf_func funcs[] = { { 0, 4, "p" } };
static struct gpubpf_map maps[] = {
	{ .name = "m", .key_size = 4, .value_size = 8, .max_entries = 1, .global_data = true, .init = "1234567" },
};
static struct gpubpf_prog progs[] = {
	{ .name = "p", .section = "gpu/entry/k", .site = GPUBPF_SITE_ENTRY, .insns = insns, .ninsns = 4,
	  .funcs = funcs, .nfuncs = 1, .facts = &facts },
	{ .name = "unused", .insns = insns, .ninsns = 4 },
};
static struct gpubpf_unit unit = { maps, 1, progs, 2 };
static const uint32_t site_progs[] = { 0 };
static const struct gpubpf_param params[] = { { .name = "n", .type = "int", .size = 4, .align = 4 } };
static const struct gpubpf_site_desc site = {
	.site = GPUBPF_SITE_ENTRY, .kernel = "k", .params = params, .nparams = 1, .progs = site_progs, .nprogs = 1,
};
static const struct gpubpf_insertion insertions[] = {
	{ .place = { .kind = GPUBPF_SITE_ENTRY, .function = "" } },
	{ .place = { .kind = GPUBPF_SITE_ENTRY, .function = "called", .id = 7 } },
};
static const struct gpubpf_device_caps caps = { .name = "dev", .compute_units = 4 };
static const struct gpubpf_map_layout layout = { .type = 2, .ctl = 4096, .data = 8192, .stride = 8 };

static struct gpubpf_lower_job make_job(uint64_t behaviour)
{
	maps[0].type = gpubpf_map_type_find(2);
	return (struct gpubpf_lower_job){
		.unit = &unit, .layouts = &layout, .sites = &site, .nsites = 1, .caps = &caps,
		.insertions = insertions, .ninsertions = 2, .print_ring = behaviour,
	};
}

/* Decode every prefix of an encoded job, and every change of one byte: the decoder must return and stay in bounds. */
static void test_codec(void)
{
	struct gpubpf_job_request req = { .kind = GPUBPF_JOB_EMIT, .target = "t", .job = make_job(0) }, got;
	struct gpubpf_writer w = {0}, w2 = {0};
	struct gpubpf_pool pool = GPUBPF_POOL_INIT;
	size_t accepted = 0, prefixes = 0;

	ok(!gpubpf_job_request_encode(&req, &w), "a job is encoded, %zu bytes", w.size);
	ok(!gpubpf_job_request_decode(w.data, w.size, &pool, &got) && !gpubpf_job_request_encode(&got, &w2) &&
	   w.size == w2.size && !memcmp(w.data, w2.data, w.size), "and what is decoded encodes to the same");
	ok(got.job.unit->progs[0].facts->insn[2].call->arg[1].off_min == -4 && got.job.unit->progs[1].ninsns == 0 &&
	   !memcmp(got.job.unit->maps[0].init, "1234567", 8), "with facts, without programs that no site names");
	for (size_t n = 0; n < w.size; n++) {
		gpubpf_pool_finish(&pool);
		prefixes += !gpubpf_job_request_decode(w.data, n, &pool, &got);
	}
	ok(prefixes == 0, "no prefix of it is a job");
	gpubpf_pool_finish(&pool);
	gpubpf_put_u8(&w, 0);
	ok(gpubpf_job_request_decode(w.data, w.size--, &pool, &got) == -EBADMSG, "nor is it with a byte more");
	for (size_t i = 0; i < w.size; i++)
		for (int bit = 0; bit < 8; bit += 7) {
			w.data[i] ^= 1 << bit;
			gpubpf_pool_finish(&pool);
			accepted += !gpubpf_job_request_decode(w.data, w.size, &pool, &got);
			w.data[i] ^= 1 << bit;
		}
	ok(accepted < 2 * w.size, "of %zu damaged ones %zu are still well-formed", 2 * w.size, accepted);
	gpubpf_pool_finish(&pool);
	gpubpf_writer_finish(&w);
	gpubpf_writer_finish(&w2);
}

/* Returns true if both jobs have the same fingerprint, so that the client builds the probes once. */
static bool is_alike(const struct gpubpf_lower_job *a, const struct gpubpf_lower_job *b)
{
	uint8_t x[GPUBPF_IMAGE_DIGEST], y[GPUBPF_IMAGE_DIGEST];

	return !gpubpf_job_fingerprint(a, x) && !gpubpf_job_fingerprint(b, y) && !memcmp(x, y, sizeof(x));
}

/* The probes of two kernels have the same fingerprint if they do not depend on the kernel. */
static void test_alike(void)
{
	static const struct gpubpf_param other_params[] = { { .name = "p", .type = "long", .size = 8, .align = 8 } };
	struct gpubpf_lower_job a = make_job(0), b = make_job(0);
	struct gpubpf_site_desc other = site, known = site;
	struct gpubpf_device_caps other_caps = caps;

	snprintf(other.kernel, sizeof(other.kernel), "another");
	other.params = other_params;
	b.sites = &other;
	b.insertions = insertions;
	b.ninsertions = 1;
	ok(is_alike(&a, &b), "probes of kernels with other names, parameters and places are alike");
	facts.ctx_args = 1;
	ok(!is_alike(&a, &b), "not where a program reads arguments");
	facts.ctx_args = 0;
	facts.ctx_constants = true;
	ok(!is_alike(&a, &b), "nor its kernel's name");
	facts.ctx_constants = false;
	known.kernel_id = 7; /* another number, which a program reads from its context */
	b.sites = &known;
	ok(!is_alike(&a, &b), "nor its number");
	b = make_job(0);
	b.registers = 32;
	ok(!is_alike(&a, &b), "nor for another number of registers");
	other_caps.compute_units++;
	b = make_job(0);
	b.caps = &other_caps;
	ok(!is_alike(&a, &b), "nor for another device");
}

static void test_bare(void)
{
	static struct gpubpf_insn many[4000];
	struct gpubpf_prog prog = { .name = "bare", .insns = many, .ninsns = 4000 };
	struct gpubpf_unit bare = { .progs = &prog, .nprogs = 1 };
	struct gpubpf_site_desc one = { .site = GPUBPF_SITE_ENTRY, .progs = site_progs, .nprogs = 1 };
	struct gpubpf_job_request req = { .kind = GPUBPF_JOB_EMIT, .target = "t" }, got;
	struct gpubpf_writer w = {0};
	struct gpubpf_pool pool = GPUBPF_POOL_INIT;

	for (int i = 0; i < 4000; i++)
		many[i] = (struct gpubpf_insn){ .kind = i < 3999 ? GPUBPF_INSN_ALU : GPUBPF_INSN_EXIT, .width = 8 };
	req.job = (struct gpubpf_lower_job){ .unit = &bare, .sites = &one, .nsites = 1, .caps = &caps, .checked = true };
	ok(!gpubpf_job_request_encode(&req, &w) && !gpubpf_job_request_decode(w.data, w.size, &pool, &got) &&
	   got.job.unit->progs[0].ninsns == 4000, "a large program without facts travels");
	gpubpf_pool_finish(&pool);
	gpubpf_writer_finish(&w);
}

/*
 * Insertions survive encoding and decoding. An insertion of a missing site, or of a site of another kind, is an error.
 */
static void test_insertions(void)
{
	struct gpubpf_insertion wrong[] = { insertions[0], insertions[1] };
	struct gpubpf_job_request req = { .kind = GPUBPF_JOB_EMIT, .target = "t", .job = make_job(0) }, got;

	for (int i = 0; i < 3; i++) {
		struct gpubpf_pool pool = GPUBPF_POOL_INIT;
		struct gpubpf_writer w = {0};
		int err;

		req.job.insertions = wrong;
		wrong[1].site = i == 1;
		wrong[0].place.kind = i == 2 ? GPUBPF_SITE_EXIT : GPUBPF_SITE_ENTRY;
		err = gpubpf_job_request_encode(&req, &w);
		if (!err)
			err = gpubpf_job_request_decode(w.data, w.size, &pool, &got);
		if (i)
			ok(err == -EBADMSG || err == -EINVAL, "an insertion of %s is refused: %d",
			   i == 1 ? "a site that there is not" : "a site of another kind", err);
		else
			ok(!err && got.job.ninsertions == 2 && got.job.insertions[1].place.id == 7 &&
			   !strcmp(got.job.insertions[1].place.function, "called"), "insertions travel");
		gpubpf_pool_finish(&pool);
		gpubpf_writer_finish(&w);
	}
}

#endif
