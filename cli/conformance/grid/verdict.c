/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the maps after a run with the lines of expectations in a case. */
#include "verdict.h"

#include "direct.h"

#include <stdlib.h>
#include <string.h>

static bool fail(const struct judging *j, const char *expected, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static bool fail(const struct judging *j, const char *expected, const char *fmt, ...)
{
	va_list ap;

	snprintf(j->r->expected, sizeof(j->r->expected), "%.150s", expected);
	va_start(ap, fmt);
	vsnprintf(j->r->got, sizeof(j->r->got), fmt, ap);
	va_end(ap);
	return false;
}

static bool find_map(const struct judging *j, const char *name, const struct gpubpf_map **map)
{
	*map = j->left->find(j, name);
	return *map || fail(j, name, "there is no such map");
}

static bool report_failed_check(void *arg, const void *key, const void *value)
{
	const struct judging *j = arg;
	const uint64_t *both = value;
	char want[64];

	if (both[0] == both[1])
		return true;
	snprintf(want, sizeof(want), "line %u: 0x%llx", *(const uint32_t *)key, (unsigned long long)both[1]);
	return fail(j, want, "0x%llx", (unsigned long long)both[0]);
}

static bool add_check(void *arg, const void *key, const void *value)
{
	((uint64_t *)arg)[*(const uint32_t *)key & 1] = *(const uint64_t *)value;
	return true;
}

/* Parse a number. THREADS stands for the number of threads in the launch; N*THREADS is a multiple of it. */
static uint64_t parse_number(const struct judging *j, const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 0);

	return !strcmp(end, "THREADS") ? j->threads : !strcmp(end, "*THREADS") ? n * j->threads : n;
}

/* Check a line "checks N". It holds if no CHECK() of cli/conformance/suite/case.h failed and N checks passed. */
static bool judge_checks(const struct judging *j, const char *want)
{
	const struct gpubpf_map *failed, *checks;
	uint64_t n[2] = { 0, 0 };

	if (!find_map(j, "conformance_failed", &failed) || !find_map(j, "conformance_checks", &checks))
		return false;
	j->left->walk(j, checks, add_check, n);
	if (!n[0] && n[1] == parse_number(j, want))
		return true;
	fail(j, want, "%llu checks held, %llu failed", (unsigned long long)n[1], (unsigned long long)n[0]);
	j->left->walk(j, failed, report_failed_check, (void *)j);
	return false;
}

struct wanted {
	const struct judging *j;
	const struct gpubpf_map *map;
	const char *key;
	char found[200];
	bool is_there;
};

static bool match_entry(void *arg, const void *key, const void *value)
{
	struct wanted *w = arg;
	const struct gpubpf_map *map = w->map;
	const struct btf *btf = w->j->left->btf(w->j);
	char text[200];

	gpubpf_typed_text(btf, map->btf_key, NULL, key, map->key_size, text, sizeof(text));
	if (strcmp(text, w->key))
		return true;
	gpubpf_typed_text(btf, map->btf_value, NULL, value, map->value_size, w->found, sizeof(w->found));
	w->is_there = true;
	return false;
}

/* Check a line "map NAME[KEY] VALUE", in the tool's output format. If VALUE is "-", the key must not exist. */
static bool judge_map(const struct judging *j, const char *want)
{
	struct wanted w = { .j = j };
	char name[64], key[128], value[200];

	if (sscanf(want, "%63[^[][%127[^]]] %199[^\n]", name, key, value) != 3)
		return fail(j, want, "invalid line; expected map NAME[KEY] VALUE");
	if (!find_map(j, name, &w.map))
		return false;
	w.key = key;
	if (strstr(value, "THREADS"))
		snprintf(value, sizeof(value), "%llu", (unsigned long long)parse_number(j, value));
	j->left->walk(j, w.map, match_entry, &w);
	if (!strcmp(w.is_there ? w.found : "-", value))
		return true;
	return fail(j, want, "%s", w.is_there ? w.found : "no such key");
}

static bool count_entry(void *arg, const void *key, const void *value)
{
	(void)key;
	(void)value;
	return ++*(uint64_t *)arg;
}

static bool judge_number(const struct judging *j, const char *want,
			 uint64_t (*of)(const struct judging *j, const struct gpubpf_map *map))
{
	const struct gpubpf_map *map;
	char name[64], number[32];
	uint64_t got;

	if (sscanf(want, "%63s %31s", name, number) != 2)
		return fail(j, want, "invalid line; expected WORD NAME N");
	if (!find_map(j, name, &map))
		return false;
	got = of(j, map);
	return got == parse_number(j, number) || fail(j, want, "%llu", (unsigned long long)got);
}

static uint64_t count_entries(const struct judging *j, const struct gpubpf_map *map)
{
	uint64_t n = 0;

	j->left->walk(j, map, count_entry, &n);
	return n;
}

static uint64_t count_accounted(const struct judging *j, const struct gpubpf_map *map)
{
	return j->left->records(j, map) + j->left->drops(j, map);
}

static bool judge_entries(const struct judging *j, const char *want)
{
	return judge_number(j, want, count_entries);
}

static bool judge_records(const struct judging *j, const char *want)
{
	return judge_number(j, want, j->left->records);
}

static bool judge_drops(const struct judging *j, const char *want)
{
	return judge_number(j, want, j->left->drops);
}

static bool judge_accounted(const struct judging *j, const char *want)
{
	return judge_number(j, want, count_accounted);
}

/* Check a line "print N TEXT": exactly N prints have this text. */
static bool judge_print(const struct judging *j, const char *want)
{
	char other[200] = "", *text;
	unsigned long long n = strtoull(want, &text, 0);
	uint64_t got;

	text += *text == ' ';
	got = j->left->prints(j, text, other, sizeof(other));
	return got == n || fail(j, want, "%llu; another: %s", (unsigned long long)got, other);
}

/* Check a line "result N": the result of the first thread. */
static bool judge_result(const struct judging *j, const char *want)
{
	if (!j->run)
		return fail(j, want, "only a case with the line run has a result");
	return j->run->result == parse_number(j, want) || fail(j, want, "%u", j->run->result);
}

/* Check a line "word I N": word I of the data buffer has the value N after the run. */
static bool judge_word(const struct judging *j, const char *want)
{
	char number[32];
	unsigned i;

	if (sscanf(want, "%u %31s", &i, number) != 2 || !j->run || i >= j->run->nwords)
		return fail(j, want, "invalid line; expected word I N, with a word of the data");
	return j->run->words[i] == parse_number(j, number) || fail(j, want, "%llu", (unsigned long long)j->run->words[i]);
}

static const struct {
	const char *word;
	bool (*judge)(const struct judging *j, const char *want);
} lines[] = {
	{ "checks", judge_checks },   { "map", judge_map },       { "entries", judge_entries },
	{ "records", judge_records }, { "drops", judge_drops },   { "accounted", judge_accounted },
	{ "print", judge_print },     { "result", judge_result }, { "word", judge_word },
};

bool grid_is_rule(const char *want, const char *rule, const char *what)
{
	const char *text = want + strcspn(want, " ");

	return strlen(rule) == (size_t)(text - want) && !strncmp(rule, want, text - want) &&
	       strstr(what, text + strspn(text, " "));
}

void grid_refused(const struct suite_case *c, const struct gpubpf_diag *diag, struct suite_result *r)
{
	const char *at = NULL, *want;
	char buf[256];

	want = grid_line(c, "refused", &at, buf, sizeof(buf));
	snprintf(r->expected, sizeof(r->expected), "%.150s", want ? want : "its programs run");
	snprintf(r->got, sizeof(r->got), "%s: %.300s", gpubpf_error_name(diag->code), diag->what);
	if (want && grid_is_rule(want, gpubpf_error_name(diag->code), diag->what))
		r->state = SUITE_PASSED;
}

void suite_judge(struct judging *j)
{
	uint32_t judged = 0;
	bool good = true;

	for (size_t l = 0; l < sizeof(lines) / sizeof(lines[0]); l++) {
		const char *at = NULL, *want;
		char buf[256];

		while (good && (want = grid_line(j->c, lines[l].word, &at, buf, sizeof(buf)))) {
			good = lines[l].judge(j, want);
			judged++;
		}
	}
	if (grid_is_refused(j->c))
		good = fail(j, "a refusal", "it was accepted");
	else if (!judged)
		good = fail(j, "a line with an expected result", "none");
	j->r->state = good ? SUITE_PASSED : SUITE_FAILED;
}
