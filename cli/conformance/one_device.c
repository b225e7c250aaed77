/* SPDX-License-Identifier: Apache-2.0 */
/* Runs all cases of the suite on one device, and stores their results. */
#include "cli/conformance/suite/suite.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "cli/conformance/suite/application.h"
#include "cli/conformance/grid/direct.h"
#include "cli/conformance/grid/grid.h"
#include "cli/conformance/grid/probe.h"
#include "cli/conformance/random/random.h"
#include "cli/conformance/raw/raw.h"

#define UNPROVEN "requires verified programs"
#define NO_KERNELS "the interpreter has no kernels to probe"
#define NO_PROBE "the case expects a refusal, so it has no program that could probe a kernel"
#define OWN_LAUNCH "the case works only in a launch of the suite itself"

static void skip(struct suite_result *r, const char *why)
{
	r->state = SUITE_SKIPPED;
	snprintf(r->got, sizeof(r->got), "%s", why);
}

static bool matches(const char *text, const char *expression)
{
	regex_t regex;
	bool good;

	if (regcomp(&regex, expression, REG_EXTENDED | REG_NOSUB))
		return false;
	good = !regexec(&regex, text, 0, NULL, 0);
	regfree(&regex);
	return good;
}

static void set_expected(const struct suite_case *c, bool verify, struct suite_result *r)
{
	if (c->refused && verify)
		snprintf(r->expected, sizeof(r->expected), "a refusal: %.140s", c->refused);
	else if (c->error)
		snprintf(r->expected, sizeof(r->expected), "an error that matches %s", c->error);
	else
		snprintf(r->expected, sizeof(r->expected), "0x%llx", strtoull(c->result, NULL, 16));
}

static bool is_right(const struct suite_case *c, bool verify, const struct conformance_case *ran)
{
	if (c->refused && verify)
		return ran->rule && grid_is_rule(c->refused, ran->rule, ran->error);
	if (c->error)
		return !ran->done && matches(ran->error, c->error);
	return ran->done && ran->r0 == strtoull(c->result, NULL, 16);
}

/* Returns true if only the verifier can detect the error in this program, and the verifier is not used. */
static bool needs_verifier(const struct suite_case *c, bool verify)
{
	return !verify && c->refused && !c->error && !c->result;
}

static void judge(const struct suite_case *c, bool verify, const struct conformance_case *ran, struct suite_result *r)
{
	if (needs_verifier(c, verify)) {
		skip(r, UNPROVEN);
		return;
	}
	set_expected(c, verify, r);
	if (ran->done)
		snprintf(r->got, sizeof(r->got), "0x%llx", (unsigned long long)ran->r0);
	else
		snprintf(r->got, sizeof(r->got), "%.*s", (int)sizeof(r->got) - 1, ran->error);
	r->state = is_right(c, verify, ran)       ? SUITE_PASSED :
		   c->may_be_refused && ran->rule ? SUITE_SKIPPED :
						    SUITE_FAILED;
}

/* Return why one-thread programs cannot probe a kernel on this device, or NULL if they can. */
static const char *why_no_kernel(const struct suite_run *run, const struct suite_device *device, char *buf, size_t size)
{
	char path[APPLICATION_PATH];

	if (conformance_is_host(device->caps.backend))
		return NO_KERNELS;
	if (application_next(run, &device->caps, false, NULL, path))
		return NULL;
	application_none(run, &device->caps, buf, size);
	return buf;
}

/* Returns true if the program ends its thread. In an application's kernel, the work of that thread would be missing. */
static bool ends_thread(const struct conformance_case *raw)
{
	for (uint32_t pc = 0; !raw->error[0] && pc < raw->unit.progs->ninsns; pc++) {
		const struct gpubpf_helper *helper = gpubpf_insn_helper(&raw->unit.progs->insns[pc]);

		if (helper && helper->class == GPUBPF_CLASS_ENDS)
			return true;
	}
	return false;
}

/* Return why this one-thread program cannot probe a kernel, or NULL if it can. */
static const char *why_no_raw_probe(const struct suite_case *c, bool verify, const struct conformance_case *raw)
{
	return verify && c->refused ? NO_PROBE : ends_thread(raw) ? OWN_LAUNCH : NULL;
}

/* Run one-thread programs as probes of the application's kernel, through the hooks. */
static void probe_raw(const struct suite_run *run, struct suite_device *device, const uint32_t *cases, uint32_t n,
		      struct conformance_case *raw)
{
	char text[200];
	const char *why = why_no_kernel(run, device, text, sizeof(text));

	for (uint32_t i = 0; i < n; i++) {
		const char *not = why ? why : why_no_raw_probe(&run->suite.cases[cases[i]], run->verify, &raw[i]);

		if (not)
			skip(&device->results[cases[i]], not);
		if (not && !raw[i].error[0])
			conformance_fail(&raw[i], "%s", not);
	}
	if (run->verify)
		conformance_verify(raw, n);
	probe_raw_run(run, device, raw, n);
	for (uint32_t i = 0; i < n; i++)
		if (device->results[cases[i]].state != SUITE_SKIPPED)
			judge(&run->suite.cases[cases[i]], run->verify, &raw[i], &device->results[cases[i]]);
}

/* Run the cases that are one-thread programs. */
static void run_raw(const struct suite_run *run, struct suite_device *device, const uint32_t *cases, uint32_t n,
		    const struct conformance_opts *opts)
{
	struct conformance_case *raw = calloc(n + 1, sizeof(*raw));

	for (uint32_t i = 0; raw && i < n; i++) {
		const struct suite_case *c = &run->suite.cases[cases[i]];

		conformance_parse(&raw[i], c->mem ? c->mem : "", c->program);
		if (needs_verifier(c, run->verify))
			conformance_fail(&raw[i], UNPROVEN);
	}
	if (raw && run->route)
		probe_raw(run, device, cases, n, raw);
	else if (raw)
		conformance_run(raw, n, opts);
	for (uint32_t i = 0; raw && i < n; i++) {
		if (!run->route)
			judge(&run->suite.cases[cases[i]], run->verify, &raw[i], &device->results[cases[i]]);
		conformance_finish(&raw[i]);
	}
	free(raw);
}

static void run_probe(const struct suite_run *run, const struct suite_device *device, uint32_t index,
		      struct suite_result *r)
{
	if (!conformance_is_host(device->caps.backend))
		probe_run(run, device, index, r);
	else
		skip(r, NO_KERNELS);
}

/* Return why a case that is an object cannot probe a kernel, or NULL if it can. */
static const char *why_no_probe(const struct suite_case *c)
{
	char line[64];

	if (grid_is_refused(c))
		return NO_PROBE;
	return grid_is_run(c) || grid_line(c, "alone", &(const char *){ NULL }, line, sizeof(line)) ? OWN_LAUNCH : NULL;
}

/* Return a message with the capability that the device lacks for the requested placement of maps, or NULL. */
static const char *why_no_place(const struct suite_run *run, const struct suite_device *device)
{
	static char text[80];
	const char *lacks = gpubpf_placement_lacks(run->place, device->caps.bits);

	snprintf(text, sizeof(text), "the device lacks the capability %s", lacks ? lacks : "");
	return lacks ? text : NULL;
}

/* Run the cases that are objects. Cases that expect a refusal are only verified, without a device. */
static void run_grids(const struct suite_run *run, struct suite_device *device, const uint32_t *cases, uint32_t n,
		      const struct conformance_opts *opts)
{
	uint32_t *run_these = calloc(n + 1, sizeof(*run_these)), nrun = 0;
	char name[64];

	for (uint32_t i = 0; run_these && i < n; i++) {
		const struct suite_case *c = &run->suite.cases[cases[i]];
		struct suite_result *r = &device->results[cases[i]];
		const char *why = !run->verify ? UNPROVEN : run->route ? why_no_probe(c) : why_no_place(run, device);
		char too_large[80];

		why = why ? why : grid_too_large(c, &device->caps, too_large, sizeof(too_large));

		if (why) {
			skip(r, why);
		} else if (run->route || grid_workload(c, name, sizeof(name))) {
			run_probe(run, device, cases[i], r);
		} else if (conformance_is_host(device->caps.backend) || grid_is_refused(c)) {
			grid_run_host(run, device, cases[i], r);
		} else if (grid_is_run(c)) {
			direct_run(run, device, cases[i], r);
		} else {
			run_these[nrun++] = cases[i];
		}
	}
	if (nrun)
		grid_run_device(run, device, run_these, nrun, opts);
	free(run_these);
}

void suite_run_device(const struct suite_run *run, struct suite_device *device,
		      void (*progress)(void *arg, size_t done), void *arg)
{
	uint32_t total = run->suite.ncases, n[2] = { 0, 0 };
	uint32_t *cases[2] = { calloc(total + 1, sizeof(uint32_t)), calloc(total + 1, sizeof(uint32_t)) };
	struct conformance_opts opts = {
		.backend = device->caps.backend,
		.device = run->device,
		.index = device->index,
		.target = run->target,
		.variable = run->variable,
		.cache = run->cache,
		.verify = run->verify,
		.progress = progress,
		.arg = arg,
	};

	for (uint32_t i = 0; cases[0] && cases[1] && i < total; i++) {
		bool whole = run->suite.cases[i].expect != NULL;

		if (run->direct)
			random_run_direct(run, device, &device->results[i]);
		else if (run->suite.cases[i].random)
			random_run(run, device, i, &opts);
		else
			cases[whole][n[whole]++] = i;
	}
	if (cases[0])
		run_raw(run, device, cases[0], n[0], &opts);
	run_grids(run, device, cases[1], n[1], &opts);
	free(cases[0]);
	free(cases[1]);
}

uint32_t suite_count(const struct suite_run *run, const struct suite_device *device, const char *group,
		     enum suite_state state)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < run->suite.ncases; i++)
		n += (!group || !strcmp(run->suite.cases[i].group, group)) && device->results[i].state == state;
	return n;
}
