/* SPDX-License-Identifier: Apache-2.0 */
/* One device: all cases, and what came of each. */
#include "suite.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "raw.h"

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

static void expect(const struct suite_case *c, bool verify, struct suite_result *r)
{
	if (c->rejected && verify)
		snprintf(r->expected, sizeof(r->expected), "a refusal by the verifier");
	else if (c->error)
		snprintf(r->expected, sizeof(r->expected), "an error that matches %s", c->error);
	else
		snprintf(r->expected, sizeof(r->expected), "0x%llx", strtoull(c->result, NULL, 16));
}

static bool is_right(const struct suite_case *c, bool verify, const struct conformance_case *ran)
{
	if (c->rejected && verify)
		return ran->refused;
	if (c->error)
		return !ran->done && matches(ran->error, c->error);
	return ran->done && ran->r0 == strtoull(c->result, NULL, 16);
}

static void judge(const struct suite_case *c, bool verify, const struct conformance_case *ran, struct suite_result *r)
{
	expect(c, verify, r);
	if (ran->done)
		snprintf(r->got, sizeof(r->got), "0x%llx", (unsigned long long)ran->r0);
	else
		snprintf(r->got, sizeof(r->got), "%.*s", (int)sizeof(r->got) - 1, ran->error);
	r->state = is_right(c, verify, ran) ? SUITE_PASSED :
		   c->may_be_refused && ran->refused ? SUITE_SKIPPED : SUITE_FAILED;
}

void suite_run_device(const struct suite_run *run, struct suite_device *device,
		      void (*progress)(void *arg, size_t done), void *arg)
{
	const struct suite *s = &run->suite;
	struct conformance_case *raw = calloc(s->ncases + 1, sizeof(*raw));
	struct conformance_opts opts = {
		.backend = device->caps.backend, .index = device->index, .target = run->target, .verify = run->verify,
		.progress = progress, .arg = arg,
	};

	for (uint32_t i = 0; raw && i < s->ncases; i++)
		conformance_parse(&raw[i], s->cases[i].mem ? s->cases[i].mem : "", s->cases[i].program);
	if (raw)
		conformance_run(raw, s->ncases, &opts);
	for (uint32_t i = 0; raw && i < s->ncases; i++) {
		judge(&s->cases[i], run->verify, &raw[i], &device->results[i]);
		conformance_finish(&raw[i]);
	}
	free(raw);
}

uint32_t suite_count(const struct suite_run *run, const struct suite_device *device, const char *group,
		     enum suite_state state)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < run->suite.ncases; i++)
		n += (!group || !strcmp(run->suite.cases[i].group, group)) && device->results[i].state == state;
	return n;
}
