/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers questions about kernels and programs for all report formats, and writes the report in the requested format.
 */
#include "report.h"
#include "private.h"

#include <bpf/btf.h>
#include <errno.h>
#include <string.h>

#include "core/session/twins/called_functions.h"
#include "core/model/facts.h"
#include "core/wire/match.h"
#include "core/session/maps/element.h"
#include "missed.h"
#include "core/session/base/named_places.h"
#include "core/session/base/sized.h"

bool gpubpf_report_includes_map(const struct gpubpf_report_opts *opts, const struct gpubpf_map *map)
{
	if (map->prototype)
		return false;
	if (opts->map)
		return !strcmp(opts->map, map->name);
	return !gpubpf_map_is_internal(map) && (!map->scratch || gpubpf_map__drops(map));
}

uint64_t gpubpf_report_print_drops(const struct gpubpf_session *s)
{
	uint64_t drops = 0;

	for (uint32_t i = 0; i < gpubpf_arenas_count(s); i++) {
		const struct gpubpf_session_arena *a = gpubpf_arena_at(s, i);
		struct gpubpf_map_view view = { .arena = a->base, .layout = &a->layout.prints };

		if (a->layout.print_ring)
			drops += gpubpf_map_drops(&view);
	}
	return drops;
}

uint64_t gpubpf_report_thread_drops(const struct gpubpf_session *s)
{
	uint64_t drops = 0;

	for (uint32_t i = 0; i < gpubpf_arenas_count(s); i++)
		drops += __atomic_load_n(&((struct gpubpf_arena_hdr *)gpubpf_arena_at(s, i)->base)->thread_drops,
					 __ATOMIC_RELAXED);
	return drops;
}

uint64_t gpubpf_report_clock_error(const struct gpubpf_session *s)
{
	const struct gpubpf_unit *unit = gpubpf_session_unit(s);
	uint64_t error = 0, one;
	bool uses_clock = false;

	for (uint32_t i = 0; i < unit->nprogs; i++)
		uses_clock |= unit->progs[i].facts && unit->progs[i].facts->clock;
	for (uint32_t i = 0; uses_clock && i < gpubpf_arenas_count(s); i++) {
		one = __atomic_load_n(&((struct gpubpf_arena_hdr *)gpubpf_arena_at(s, i)->base)->clock_error_ns,
				      __ATOMIC_RELAXED);
		error = one > error ? one : error;
	}
	return error;
}

uint64_t gpubpf_report_drops(const struct gpubpf_session *s)
{
	uint64_t drops = gpubpf_report_print_drops(s);
	const struct gpubpf_map *map = NULL;

	while ((map = gpubpf_session__next_map(s, map)))
		drops += gpubpf_map__drops(map);
	return drops;
}

bool gpubpf_report_has_several_runtimes(const struct gpubpf_session *s)
{
	for (uint32_t i = 1; i < s->report->nstats; i++)
		if (strcmp(s->report->stats[i].backend, s->report->stats[0].backend))
			return true;
	return false;
}

const char *gpubpf_report_outcome(const struct gpubpf_kernel_stats *stats)
{
	switch (stats->outcome) {
	case GPUBPF_OUTCOME_WAITING:
		return "waiting";
	case GPUBPF_OUTCOME_PROBED:
		return "probed";
	case GPUBPF_OUTCOME_REFUSED:
		return "refused";
	case GPUBPF_OUTCOME_SEEN:
		break;
	}
	return "seen";
}

static const struct gpubpf_verdict *find_verdict(const struct gpubpf_session *s, const char *name)
{
	const struct gpubpf_verdict *verdict;

	for (uint32_t i = 0; (verdict = gpubpf_verdict_at(s, i)); i++)
		if (!strcmp(verdict->name, name))
			return verdict;
	return NULL;
}

static const char *find_waiting_reason(const struct gpubpf_session *s, const struct gpubpf_kernel_stats *stats)
{
	if (stats->outcome != GPUBPF_OUTCOME_WAITING)
		return "";
	if (s->attaches)
		return "its twin (probed copy) was not ready when probing ended; probe for longer (--duration)";
	return s->opts.no_wait ? "its twin (probed copy) was not ready when probing ended; probe for longer "
				 "(--duration), or omit --no-wait" :
				 "its twin (probed copy) was not ready when probing ended; probe for longer "
				 "(--duration), or raise --wait";
}

const char *gpubpf_report_reason(struct gpubpf_session *s, const struct gpubpf_kernel_stats *stats)
{
	const struct gpubpf_verdict *verdict = find_verdict(s, stats->name);

	if (s->opts.inspect && verdict && verdict->reason[0])
		return verdict->reason;
	/* If the kernel can be probed and only its twin was not ready in time, there is no reason to show. */
	if (s->opts.inspect && stats->reason[0] && !(verdict && stats->outcome == GPUBPF_OUTCOME_WAITING))
		return stats->reason;
	if (s->opts.inspect)
		return verdict ? "" : "not examined";
	return gpubpf_missed_why(s, stats, stats->reason[0] ? stats->reason : find_waiting_reason(s, stats));
}

bool gpubpf_report_entry_only(const struct gpubpf_session *s, const char *kernel)
{
	const struct gpubpf_verdict *verdict = find_verdict(s, kernel);

	return verdict && verdict->entry_only;
}

const char *gpubpf_report_route(const struct gpubpf_session *s, const char *kernel, const char **instead)
{
	const struct gpubpf_verdict *verdict = find_verdict(s, kernel);
	bool known = verdict && verdict->route && gpubpf_target_has_alternative(verdict->route);

	*instead = known ? verdict->instead : "";
	return known ? verdict->route : "";
}

const char *gpubpf_report_functions(const struct gpubpf_session *s, const char *kernel)
{
	const struct gpubpf_verdict *verdict = find_verdict(s, kernel);

	return verdict ? verdict->functions : NULL;
}

const struct gpubpf_place *gpubpf_report_places(const struct gpubpf_session *s, const char *kernel, uint32_t *n)
{
	const struct gpubpf_verdict *verdict = find_verdict(s, kernel);

	*n = verdict ? verdict->nplaces : 0;
	return verdict ? verdict->places : NULL;
}

static bool matched_function(const struct gpubpf_session *s, const struct gpubpf_prog *prog)
{
	const struct gpubpf_verdict *verdict;
	char name[256];

	for (uint32_t i = 0; (verdict = gpubpf_verdict_at(s, i)); i++)
		for (const char *at = verdict->functions; (at = gpubpf_calls_next(at, name, sizeof(name)));)
			if (gpubpf_pattern_matches(prog->pattern, name))
				return true;
	return false;
}

/* Returns true if any kernel has a place for the program. `named` is a bit mask by the program's index in the unit. */
static bool matched_place(const struct gpubpf_session *s, const struct gpubpf_prog *prog)
{
	uint32_t at = prog - gpubpf_session_unit(s)->progs;
	const struct gpubpf_verdict *verdict;

	for (uint32_t i = 0; (verdict = gpubpf_verdict_at(s, i)); i++)
		if (verdict->named[at / 8] >> at % 8 & 1)
			return true;
	return false;
}

bool gpubpf_report_is_matched(const struct gpubpf_session *s, const struct gpubpf_prog *prog)
{
	if (prog->host)
		return gpubpf_kernel_table_link_launches(s, prog - gpubpf_session_unit(s)->progs);
	if (gpubpf_prog_has_named_place(prog))
		return matched_place(s, prog);
	if (gpubpf_prog_is_for_functions(prog))
		return matched_function(s, prog);
	for (uint32_t i = 0; i < s->report->nstats; i++)
		if (gpubpf_pattern_matches(prog->pattern, s->report->stats[i].name))
			return true;
	return false;
}

bool gpubpf_report_has_place(const struct gpubpf_session *s, const struct gpubpf_prog *prog)
{
	const struct gpubpf_verdict *verdict;
	bool known = false;

	if (gpubpf_place_kind(prog->site)->where != GPUBPF_WHERE_INSN || matched_place(s, prog))
		return true;
	for (uint32_t i = 0; (verdict = gpubpf_verdict_at(s, i)); i++) {
		if (!gpubpf_pattern_matches(prog->pattern, verdict->name))
			continue;
		if (verdict->reason[0])
			return true;
		known = true;
	}
	return !known;
}

bool gpubpf_variable_at(const struct btf *btf, const struct gpubpf_map *map, uint32_t i, struct gpubpf_variable *var)
{
	const struct btf_type *sec = btf ? btf__type_by_id(btf, map->btf_value) : NULL, *t;
	const struct btf_var_secinfo *info;

	if (!sec || !btf_is_datasec(sec) || i >= btf_vlen(sec))
		return false;
	info = &btf_var_secinfos(sec)[i];
	t = btf__type_by_id(btf, info->type);
	if (!t || !btf_is_var(t) || info->offset > map->value_size || info->size > map->value_size - info->offset)
		return false;
	*var = (struct gpubpf_variable){
		btf__name_by_offset(btf, t->name_off),
		t->type,
		info->offset,
		info->size,
	};
	return var->name != NULL;
}

int gpubpf_report_document(struct gpubpf_session *s, struct json_object *root, const struct gpubpf_report_opts *opts)
{
	int err = gpubpf_kernel_table_collect(s);

	if (!err)
		err = gpubpf_report_add_json(s, root, opts);
	return err < 0 ? gpubpf_session_fail(s, err, "the report could not be made: %s", strerror(-err)) : 0;
}

int gpubpf_session__report(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts)
{
	struct gpubpf_report_opts all = { .sz = sizeof(all) };
	int err;

	if (opts && gpubpf_sized_copy_in(&all, sizeof(all), opts) < 0)
		return gpubpf_session_fail(s, -EINVAL, "struct gpubpf_report_opts: " GPUBPF_SIZED_WHY);
	if (s->state == GPUBPF_SESSION_NEW)
		return gpubpf_session_fail(s, -EINVAL, "the session is not loaded");
	if (all.map && !gpubpf_session__find_map_by_name(s, all.map))
		return gpubpf_element_report_no_map(s, all.map);
	if (s->state != GPUBPF_SESSION_STOPPED)
		gpubpf_support_synchronize(s, GPUBPF_SYNC_MAPS);
	err = gpubpf_kernel_table_collect(s);
	if (!err)
		err = all.csv  ? gpubpf_report_csv(s, out, &all) :
		      all.json ? gpubpf_report_json(s, out, &all) :
				 gpubpf_report_text(s, out, &all);
	if (!err && (fflush(out) || ferror(out)))
		err = -EIO;
	if (err < 0)
		gpubpf_session_fail(s, err, "the report could not be written: %s", strerror(-err));
	return err;
}
