/* SPDX-License-Identifier: Apache-2.0 */
/* What a case expects of its maps, against what is there. */
#include <stdlib.h>
#include <string.h>

#include "grid.h"

/* what a line of a case is judged with */
struct judging {
	const struct grid *g;
	uint32_t i;              /* case and object */
	void *arena;
	struct suite_result *r;
};

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

/* The map of that name in the case's object. */
static bool find_map(const struct judging *j, const char *name, struct gpubpf_map_view *view)
{
	const struct gpubpf_unit *unit = &j->g->loaded->unit;

	for (uint32_t m = 0; m < unit->nmaps; m++)
		if ((uint32_t)unit->maps[m].object == j->i && !strcmp(unit->maps[m].name, name)) {
			*view = (struct gpubpf_map_view){ j->arena, &unit->maps[m], &j->g->layout.maps[m] };
			return true;
		}
	return fail(j, name, "there is no such map");
}

/* Entries until fn says false; a map is not so large. */
static void each_entry(const struct gpubpf_map_view *view, bool (*fn)(void *arg, const void *key, const void *value), void *arg)
{
	uint8_t *key = calloc(1, view->map->key_size + 8), *value = calloc(1, gpubpf_map_user_value_size(view) + 8);
	uint64_t cursor = 0;

	while (key && value && gpubpf_map_iterate(view, &cursor, key, value) == 0)
		if (!fn(arg, key, value))
			break;
	free(key);
	free(value);
}

static bool tell_check(void *arg, const void *key, const void *value)
{
	const struct judging *j = arg;
	const uint64_t *both = value;
	char want[64];

	snprintf(want, sizeof(want), "line %u: 0x%llx", *(const uint32_t *)key, (unsigned long long)both[1]);
	return fail(j, want, "0x%llx", (unsigned long long)both[0]);
}

/* CHECK() of case.h: none failed, and as many held as there should be. */
static bool judge_checks(const struct judging *j, const char *want)
{
	struct gpubpf_map_view failed, checks;
	uint64_t bad = 0, good = 0;

	if (!find_map(j, "conformance_failed", &failed) || !find_map(j, "conformance_checks", &checks))
		return false;
	gpubpf_map_lookup(&checks, &(uint32_t){ 0 }, &bad);
	gpubpf_map_lookup(&checks, &(uint32_t){ 1 }, &good);
	if (!bad && good == strtoull(want, NULL, 0))
		return true;
	fail(j, want, "%llu checks held, %llu failed", (unsigned long long)good, (unsigned long long)bad);
	each_entry(&failed, tell_check, (void *)j);
	return false;
}

struct wanted {
	const struct judging *j;
	const struct gpubpf_map_view *view;
	const char *key;
	char found[200];
	bool is_there;
};

static bool match_entry(void *arg, const void *key, const void *value)
{
	struct wanted *w = arg;
	const struct gpubpf_map *map = w->view->map;
	const struct btf *btf = w->j->g->loaded->objects[w->j->i].btf;
	char text[200];

	gpubpf_typed_text(btf, map->btf_key, NULL, key, map->key_size, text, sizeof(text));
	if (strcmp(text, w->key))
		return true;
	gpubpf_typed_text(btf, map->btf_value, NULL, value, map->value_size, w->found, sizeof(w->found));
	w->is_there = true;
	return false;
}

/* NAME[KEY] VALUE, as the tool prints them; VALUE "-": there is none. */
static bool judge_map(const struct judging *j, const char *want)
{
	struct gpubpf_map_view view;
	struct wanted w = { .j = j, .view = &view };
	char name[64], key[128], value[200];

	if (sscanf(want, "%63[^[][%127[^]]] %199[^\n]", name, key, value) != 3)
		return fail(j, want, "a line that is not: map NAME[KEY] VALUE");
	if (!find_map(j, name, &view))
		return false;
	w.key = key;
	each_entry(&view, match_entry, &w);
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

static bool judge_number(const struct judging *j, const char *want, uint64_t (*of)(const struct gpubpf_map_view *view))
{
	struct gpubpf_map_view view;
	unsigned long long n;
	char name[64];
	uint64_t got;

	if (sscanf(want, "%63s %llu", name, &n) != 2)
		return fail(j, want, "a line that is not: WORD NAME N");
	if (!find_map(j, name, &view))
		return false;
	got = of(&view);
	return got == n || fail(j, want, "%llu", (unsigned long long)got);
}

static uint64_t entries_of(const struct gpubpf_map_view *view)
{
	uint64_t n = 0;

	each_entry(view, count_entry, &n);
	return n;
}

static uint64_t records_of(const struct gpubpf_map_view *view)
{
	int64_t n = gpubpf_ring_read(view, NULL, NULL);

	return n < 0 ? UINT64_MAX : (uint64_t)n;
}

static uint64_t accounted_of(const struct gpubpf_map_view *view)
{
	return records_of(view) + gpubpf_map_drops(view);
}

static bool judge_entries(const struct judging *j, const char *want)
{
	return judge_number(j, want, entries_of);
}

static bool judge_records(const struct judging *j, const char *want)
{
	return judge_number(j, want, records_of);
}

static bool judge_drops(const struct judging *j, const char *want)
{
	return judge_number(j, want, gpubpf_map_drops);
}

static bool judge_accounted(const struct judging *j, const char *want)
{
	return judge_number(j, want, accounted_of);
}

struct prints {
	const struct judging *j;
	const char *text;
	uint64_t n;
	char other[200];
};

static int take_print(void *arg, uint32_t copy, const void *data, uint32_t size)
{
	struct prints *p = arg;
	const struct gpubpf_unit *unit = &p->j->g->loaded->unit;
	struct gpubpf_print print;

	(void)copy;
	if (gpubpf_print_decode(p->j->arena, unit, &p->j->g->layout, data, size, &print) < 0 || print.prog >= unit->nprogs ||
	    (uint32_t)unit->progs[print.prog].object != p->j->i)
		return 0;
	if (!strcmp(print.text, p->text))
		p->n++;
	else
		snprintf(p->other, sizeof(p->other), "%.199s", print.text);
	return 0;
}

/* N TEXT: so many prints of this text. Reading takes them out of the ring, so each line reads a copy of the arena. */
static bool judge_print(const struct judging *j, const char *want)
{
	struct judging copy = *j;
	struct prints p = { .j = &copy };
	struct gpubpf_map_view view;
	unsigned long long n = strtoull(want, (char **)&p.text, 0);

	p.text += *p.text == ' ';
	copy.arena = malloc(j->g->layout.size);
	if (!copy.arena)
		return fail(j, want, "out of memory");
	memcpy(copy.arena, j->arena, j->g->layout.size);
	if (gpubpf_print_view(copy.arena, &j->g->layout, &view))
		gpubpf_ring_read(&view, take_print, &p);
	free(copy.arena);
	return p.n == n || fail(j, want, "%llu; another: %s", (unsigned long long)p.n, p.other);
}

static const struct {
	const char *word;
	bool (*judge)(const struct judging *j, const char *want);
} lines[] = {
	{ "checks", judge_checks },
	{ "map", judge_map },
	{ "entries", judge_entries },
	{ "records", judge_records },
	{ "drops", judge_drops },
	{ "accounted", judge_accounted },
	{ "print", judge_print },
};

void grid_refused(const struct suite_case *c, const struct gpubpf_diag *diag, struct suite_result *r)
{
	const char *at = NULL, *want, *text;
	char buf[256];

	want = grid_line(c, "refused", &at, buf, sizeof(buf));
	snprintf(r->expected, sizeof(r->expected), "%.150s", want ? want : "its programs run");
	snprintf(r->got, sizeof(r->got), "%s: %.300s", gpubpf_error_name(diag->code), diag->what);
	if (!want)
		return;
	text = want + strcspn(want, " ");
	if (!strncmp(gpubpf_error_name(diag->code), want, text - want) && strstr(diag->what, text + strspn(text, " ")))
		r->state = SUITE_PASSED;
}

void grid_judge(const struct grid *g, uint32_t i, void *arena, struct suite_result *r)
{
	const struct suite_case *c = &g->suite->cases[g->cases[i]];
	struct judging j = { g, i, arena, r };
	uint32_t judged = 0;
	bool good = true;

	for (size_t l = 0; l < sizeof(lines) / sizeof(lines[0]); l++) {
		const char *at = NULL, *want;
		char buf[256];

		while (good && (want = grid_line(c, lines[l].word, &at, buf, sizeof(buf)))) {
			good = lines[l].judge(&j, want);
			judged++;
		}
	}
	if (grid_is_refused(c))
		good = fail(&j, "a refusal", "it was accepted");
	else if (!judged)
		good = fail(&j, "a line of what is to come of it", "none");
	r->state = good ? SUITE_PASSED : SUITE_FAILED;
}
