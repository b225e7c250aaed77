/* SPDX-License-Identifier: Apache-2.0 */
/* Changes which launches are probed while applications run. Twins stay as they are. */
#include "private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/private.h"
#include "core/session/report/kernel_table.h"

#define MAX_EVERY_NS 3600000000000ull

static const struct unit {
	const char *name;
	uint64_t ns;
} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };

/* Parses a decimal number and returns the text after it, or NULL. */
static const char *parse_number(const char *text, uint64_t *n)
{
	char *end;

	if (*text < '0' || *text > '9')
		return NULL;
	errno = 0;
	*n = strtoull(text, &end, 10);
	return errno ? NULL : end;
}

static bool parse_count(const char *text, uint64_t *n)
{
	const char *end = parse_number(text, n);

	return end && !*end;
}

/* Parses a time with a unit, such as 10ms. Only 0 needs no unit. */
static bool parse_time(const char *text, uint64_t *ns)
{
	uint64_t n;
	const char *end = parse_number(text, &n);

	if (end && !*end && !n) {
		*ns = 0;
		return true;
	}
	for (size_t i = 0; end && i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(end, units[i].name) && n <= MAX_EVERY_NS / units[i].ns) {
			*ns = n * units[i].ns;
			return true;
		}
	return false;
}

static bool set_one(const char *word, struct gpubpf_rate *rate)
{
	if (!strncmp(word, "sample=", 7))
		return parse_count(word + 7, &rate->sample) && rate->sample;
	if (!strncmp(word, "first=", 6))
		return parse_count(word + 6, &rate->first);
	return !strncmp(word, "every=", 6) && parse_time(word + 6, &rate->every_ns);
}

static void write_rate(const struct gpubpf_rate *rate, bool json, FILE *out)
{
	fprintf(out,
		json ? "{ \"sample\": %" PRIu64 ", \"first\": %" PRIu64 ", \"every_ns\": %" PRIu64 " }\n" :
		       "sample=%" PRIu64 " first=%" PRIu64 " every=%" PRIu64 "ns\n",
		rate->sample, rate->first, rate->every_ns);
}

int gpubpf_rate_query(struct gpubpf_session *s, uint32_t flags, char **words, uint32_t n, FILE *out)
{
	struct gpubpf_rate rate = gpubpf_kernel_table_rate(s);

	for (uint32_t i = 0; i < n; i++)
		if (!set_one(words[i], &rate))
			return gpubpf_session_fail(s, -EINVAL,
						   "%.64s: must be sample=N with N from 1, first=N, or every=TIME with a "
						   "time such as 10ms of at most 3600s",
						   words[i]);
	if (n)
		gpubpf_kernel_table_set_rate(s, &rate);
	write_rate(&rate, flags & GPUBPF_QUERY_JSON, out);
	return 0;
}
