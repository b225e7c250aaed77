/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes which launches are probed while applications run, for the session or for single links. Twins stay as they are.
 */
#include "private.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/base/json_write.h"
#include "core/session/base/unit.h"
#include "core/session/objects/session_objects.h"

#define MAX_EVERY_NS 3600000000000ull

static const struct unit {
	const char *name;
	uint64_t ns;
} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };

/* The values of a command. */
struct change {
	struct gpubpf_rate rate;
	const char *where; /* the last where= */
	uint64_t armed;
	bool sets_sample, sets_first, sets_every, sets_armed, waits;
};

const char *gpubpf_parse_number(const char *text, uint64_t *n)
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
	const char *end = gpubpf_parse_number(text, n);

	return end && !*end;
}

/* Parses a time with a unit, such as 10ms. Only 0 needs no unit. */
static bool parse_time(const char *text, uint64_t *ns)
{
	uint64_t n;
	const char *end = gpubpf_parse_number(text, &n);

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

static bool set_sample(const char *text, struct change *c)
{
	c->sets_sample = true;
	return parse_count(text, &c->rate.sample) && c->rate.sample;
}

static bool set_first(const char *text, struct change *c)
{
	c->sets_first = true;
	return parse_count(text, &c->rate.first);
}

static bool set_every(const char *text, struct change *c)
{
	c->sets_every = true;
	return parse_time(text, &c->rate.every_ns);
}

static bool set_where(const char *text, struct change *c)
{
	c->where = text;
	return true;
}

static bool set_armed(const char *text, struct change *c)
{
	c->sets_armed = true;
	c->waits = strcmp(text, "always");
	return !c->waits || (parse_count(text, &c->armed) && c->armed <= UINT32_MAX);
}

static const struct word {
	const char *prefix;
	bool (*set)(const char *text, struct change *c);
} kinds[] = {
	{ "sample=", set_sample }, { "first=", set_first }, { "every=", set_every },
	{ "where=", set_where },   { "armed=", set_armed },
};

static const struct word *find_word(const char *word)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strncmp(word, kinds[i].prefix, strlen(kinds[i].prefix)))
			return &kinds[i];
	return NULL;
}

/* Parse the words that set a value. Moves the other words, which select links, to the front, and counts them in *n. */
static int parse_words(struct gpubpf_session *s, char **words, uint32_t *n, struct change *c)
{
	uint32_t links = 0;

	for (uint32_t i = 0; i < *n; i++) {
		const struct word *kind = find_word(words[i]);

		if (!kind)
			words[links++] = words[i];
		else if (!kind->set(words[i] + strlen(kind->prefix), c))
			return gpubpf_session_fail(s, -EINVAL,
						   "%.64s: must be sample=N with N from 1, first=N, every=TIME with a time "
						   "such as 10ms of at most 3600s, or armed=N or armed=always",
						   words[i]);
	}
	*n = links;
	return 0;
}

static bool changes_rate(const struct change *c)
{
	return c->sets_sample || c->sets_first || c->sets_every;
}

static bool changes_links(const struct change *c)
{
	return c->where || c->sets_armed;
}

static void change_rate(const struct change *c, struct gpubpf_rate *rate)
{
	rate->sample = c->sets_sample ? c->rate.sample : rate->sample;
	rate->first = c->sets_first ? c->rate.first : rate->first;
	rate->every_ns = c->sets_every ? c->rate.every_ns : rate->every_ns;
}

/* with_rate: the command names links, so sample, first and every are values of the links. */
static void change_link(struct gpubpf_session *s, uint32_t link, const struct change *c, bool with_rate,
			const struct gpubpf_link_setting *where)
{
	struct gpubpf_link_setting setting = gpubpf_gate_setting(s, link);

	if (with_rate)
		change_rate(c, &setting.rule.rate);
	if (c->where) {
		setting.rule.nterms = where->rule.nterms;
		memcpy(setting.term, where->term, sizeof(setting.term));
		memcpy(setting.where, where->where, sizeof(setting.where));
	}
	if (c->sets_armed) {
		setting.rule.waits = c->waits;
		gpubpf_gate_arm(s, link, c->waits ? c->armed : 0);
	}
	gpubpf_gate_set(s, link, &setting);
}

static int change_links(struct gpubpf_session *s, const bool *selected, const struct change *c, bool with_rate)
{
	struct gpubpf_link_setting where = { .where = "" };
	int err = c->where ? gpubpf_where_parse(s, c->where, &where) : 0;

	if (!err)
		err = gpubpf_gates_begin(s, selected);
	if (err < 0)
		return err;
	for (uint32_t i = 0; i < gpubpf_session_unit(s)->nprogs; i++)
		if (selected[i])
			change_link(s, i, c, with_rate, &where);
	gpubpf_gates_publish(s);
	return 0;
}

static void write_link(const struct gpubpf_session *s, uint32_t link, FILE *out)
{
	struct gpubpf_link_setting setting = gpubpf_gate_setting(s, link);
	const struct gpubpf_rate *rate = &setting.rule.rate;

	fprintf(out, "%u %s: sample=%" PRIu64 " first=%" PRIu64 " every=%" PRIu64 "ns", link,
		gpubpf_session_unit(s)->progs[link].name, rate->sample, rate->first, rate->every_ns);
	if (setting.rule.waits)
		fprintf(out, " armed=%" PRIu64, gpubpf_gate_armed(s, link));
	else
		fprintf(out, " armed=always");
	fprintf(out, " where='%s'\n", setting.where);
}

static struct json_object *rate_json(const struct gpubpf_rate *rate)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "sample", json_object_new_uint64(rate->sample));
	json_object_object_add(o, "first", json_object_new_uint64(rate->first));
	json_object_object_add(o, "every_ns", json_object_new_uint64(rate->every_ns));
	return o;
}

static struct json_object *link_json(const struct gpubpf_session *s, uint32_t link)
{
	struct gpubpf_link_setting setting = gpubpf_gate_setting(s, link);
	struct json_object *o = rate_json(&setting.rule.rate);

	json_object_object_add(o, "id", json_object_new_uint64(link));
	json_object_object_add(o, "program", json_object_new_string(gpubpf_session_unit(s)->progs[link].name));
	json_object_object_add(o, "armed", setting.rule.waits ? json_object_new_uint64(gpubpf_gate_armed(s, link)) : NULL);
	json_object_object_add(o, "where", json_object_new_string(setting.where));
	return o;
}

/* Write the selected links, or the session's values if selected is NULL. */
static void write_text(const struct gpubpf_session *s, const bool *selected, FILE *out)
{
	struct gpubpf_rate rate = gpubpf_kernel_table_rate(s);

	if (!selected)
		fprintf(out, "sample=%" PRIu64 " first=%" PRIu64 " every=%" PRIu64 "ns\n", rate.sample, rate.first,
			rate.every_ns);
	for (uint32_t i = 0; selected && i < gpubpf_session_unit(s)->nprogs; i++)
		if (selected[i])
			write_link(s, i, out);
}

static void write_json(const struct gpubpf_session *s, const bool *selected, FILE *out)
{
	struct gpubpf_rate rate = gpubpf_kernel_table_rate(s);
	struct json_object *root = selected ? json_object_new_object() : rate_json(&rate), *links;

	if (selected) {
		links = json_object_new_array();
		for (uint32_t i = 0; i < gpubpf_session_unit(s)->nprogs; i++)
			if (selected[i])
				json_object_array_add(links, link_json(s, i));
		json_object_object_add(root, "links", links);
	}
	gpubpf_json_write(root, out);
}

int gpubpf_setting_query(struct gpubpf_session *s, uint32_t flags, char **words, uint32_t n, FILE *out)
{
	struct gpubpf_rate rate = gpubpf_kernel_table_rate(s);
	struct change c = { .where = NULL };
	bool selected[GPUBPF_PLAN_LINKS], of_links;
	int err = parse_words(s, words, &n, &c);

	of_links = n || changes_links(&c);
	if (!err && of_links)
		err = gpubpf_links_select(s, words, n, "nothing was changed", selected);
	if (!err && (changes_links(&c) || (n && changes_rate(&c))))
		err = change_links(s, selected, &c, n);
	if (err < 0)
		return err;
	if (!n && changes_rate(&c)) {
		change_rate(&c, &rate);
		gpubpf_kernel_table_set_rate(s, &rate);
	}
	(flags & GPUBPF_QUERY_JSON ? write_json : write_text)(s, of_links ? selected : NULL, out);
	return 0;
}
