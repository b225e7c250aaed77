/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf prog verify: prints for each program of the objects whether it is safe. -v also prints the verifier's states
 * and facts.
 */
#include "cli/cli.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/model/facts.h"
#include "core/load/load.h"
#include "core/session/report/report.h"

#define WARP_LANES 32 /* number of lanes of the warp for which worst-case costs are printed */

static void print_spaces(uint8_t spaces)
{
	static const char *const names[] = { "stack", "ctx", "map value", "record", "null" };
	const char *sep = "";

	for (int i = 0; i < 5; i++) {
		if (!(spaces >> i & 1))
			continue;
		printf("%s%s", sep, names[i]);
		sep = " or ";
	}
}

static void print_access(const struct gpubpf_unit *unit, const struct gpubpf_access *a)
{
	print_spaces(a->spaces);
	if (a->map >= 0 && (uint32_t)a->map < unit->nmaps)
		printf(" of %s", unit->maps[a->map].name);
	if (a->off_min == a->off_max)
		printf(" at %d", a->off_min);
	else
		printf(" at %d..%d", a->off_min, a->off_max);
	printf(", %u bytes, aligned to %u", a->size_max, a->align);
}

static void print_facts(const struct gpubpf_unit *unit, const struct gpubpf_insn_facts *f)
{
	if (!(f->flags & GPUBPF_FACT_REACHED)) {
		printf("  ; never reached");
		return;
	}
	if (f->mem.spaces) {
		printf("  ; ");
		print_access(unit, &f->mem);
	}
	if (f->flags & GPUBPF_FACT_CONST)
		printf("  ; = %lld", (long long)f->value);
	if (f->flags & GPUBPF_FACT_ALWAYS)
		printf("  ; always taken");
	if (f->flags & GPUBPF_FACT_NEVER)
		printf("  ; never taken");
	if (f->flags & GPUBPF_FACT_RMW_ADD)
		printf("  ; adds to the value that instruction %u loaded", f->other);
	if (f->trips)
		printf("  ; at most %u times", f->trips);
}

/* Print every instruction with its source line and the facts that the verifier proved about it. */
static void print_insns(const struct gpubpf_unit *unit, const struct gpubpf_prog *p)
{
	const struct gpubpf_line *line = NULL;

	for (uint32_t pc = 0; pc < p->ninsns; pc++) {
		if (p->insns[pc].kind == GPUBPF_INSN_HI)
			continue;
		cli_print_insn(p, pc, 40, &line);
		print_facts(unit, &p->facts->insn[pc]);
		printf("\n");
	}
}

static void print_cost(const struct gpubpf_prog *p)
{
	const struct gpubpf_cost *c = &p->facts->cost;
	struct gpubpf_cost warp;

	gpubpf_cost_warp(p, WARP_LANES, &warp);
	printf("  at most per thread (per warp of %d): %llu (%llu) instructions, %llu (%llu) loads and stores, %llu (%llu) "
	       "atomics, %llu (%llu) bytes of events\n",
	       WARP_LANES, (unsigned long long)c->insns, (unsigned long long)warp.insns,
	       (unsigned long long)(c->loads + c->stores), (unsigned long long)(warp.loads + warp.stores),
	       (unsigned long long)c->atomics, (unsigned long long)warp.atomics, (unsigned long long)c->event_bytes,
	       (unsigned long long)warp.event_bytes);
}

static void print_verdict(const struct cli_args *args, const struct gpubpf_unit *unit, const struct gpubpf_prog *p)
{
	const struct gpubpf_facts *f = p->facts;

	printf("%s (%s): safe; %u instructions, at most %llu per thread; %u bytes of stack in %u frame%s\n", p->name,
	       p->section, p->ninsns, (unsigned long long)f->cost.insns, f->stack, f->frames, f->frames == 1 ? "" : "s");
	print_cost(p);
	for (uint32_t i = 0; i < f->nwarnings; i++)
		printf("  warning at %u: %s\n", f->warnings[i].pc, f->warnings[i].text);
	if (cli_has(args, OPT_VERBOSE))
		print_insns(unit, p);
}

static void add_str(struct json_object *o, const char *name, const char *v)
{
	json_object_object_add(o, name, json_object_new_string(v));
}

static void add_u64(struct json_object *o, const char *name, uint64_t v)
{
	json_object_object_add(o, name, json_object_new_uint64(v));
}

static void add_refusal(struct json_object *o, const struct gpubpf_diag *d)
{
	add_str(o, "error", gpubpf_error_name(d->code));
	add_str(o, "what", d->what);
	add_str(o, "rule", gpubpf_error_rule(d->code));
	add_str(o, "remedy", d->remedy);
	if (d->pc != GPUBPF_NOPC)
		add_u64(o, "pc", d->pc);
	if (d->line) {
		add_str(o, "file", d->file);
		add_u64(o, "line", d->line);
		add_str(o, "source", d->source);
	}
	add_str(o, "state", d->state);
}

static struct json_object *make_cost_json(const struct gpubpf_cost *c)
{
	struct json_object *o = json_object_new_object();

	add_u64(o, "insns", c->insns);
	add_u64(o, "loads", c->loads);
	add_u64(o, "stores", c->stores);
	add_u64(o, "atomics", c->atomics);
	add_u64(o, "event_bytes", c->event_bytes);
	add_u64(o, "prints", c->prints);
	return o;
}

/* Add the worst-case costs per thread and per warp, and the instruction that contributes most ("hot"). */
static void add_costs(struct json_object *o, const struct gpubpf_prog *p)
{
	struct json_object *hot = json_object_new_object();
	const struct gpubpf_line *line = gpubpf_prog_line(p, p->facts->cost.hot_pc);
	struct gpubpf_cost warp;

	gpubpf_cost_warp(p, WARP_LANES, &warp);
	json_object_object_add(o, "cost", make_cost_json(&p->facts->cost));
	json_object_object_add(o, "warp_cost", make_cost_json(&warp));
	add_u64(o, "warp_lanes", WARP_LANES);
	add_u64(hot, "pc", p->facts->cost.hot_pc);
	if (line) {
		add_str(hot, "file", line->file);
		add_u64(hot, "line", line->line);
		add_str(hot, "source", line->text);
	}
	json_object_object_add(o, "hot", hot);
}

static struct json_object *make_warnings_json(const struct gpubpf_facts *f)
{
	struct json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < f->nwarnings; i++) {
		struct json_object *o = json_object_new_object();

		add_u64(o, "pc", f->warnings[i].pc);
		add_str(o, "text", f->warnings[i].text);
		json_object_array_add(list, o);
	}
	return list;
}

/* Return the verdict on a program as JSON. Takes ownership of `states`, which may be NULL. */
static struct json_object *make_verdict_json(const struct gpubpf_prog *p, struct json_object *states,
					     const struct gpubpf_diag *diag)
{
	struct json_object *o = json_object_new_object();

	add_str(o, "name", p->name);
	add_str(o, "section", p->section);
	json_object_object_add(o, "safe", json_object_new_boolean(p->facts != NULL));
	if (states)
		json_object_object_add(o, "states", states);
	if (!p->facts) {
		add_refusal(o, diag);
		return o;
	}
	add_u64(o, "insns", p->ninsns);
	add_u64(o, "max_insns", p->facts->cost.insns);
	add_u64(o, "stack", p->facts->stack);
	add_u64(o, "frames", p->facts->frames);
	add_costs(o, p);
	json_object_object_add(o, "warnings", make_warnings_json(p->facts));
	return o;
}

static void print_state(void *arg, const char *line)
{
	(void)arg;
	printf("  %s\n", line);
}

static void collect_state(void *arg, const char *line)
{
	json_object_array_add(*(struct json_object **)arg, json_object_new_string(line));
}

/* With -v, print the verifier's state at each step, or collect the states in *states for JSON. */
static void set_trace(const struct cli_args *args, struct gpubpf_verify_opts *opts, struct json_object **states)
{
	*states = NULL;
	if (!cli_has(args, OPT_VERBOSE))
		return;
	opts->trace = print_state;
	if (!cli_has(args, OPT_JSON))
		return;
	*states = json_object_new_array();
	opts->trace = collect_state;
	opts->trace_arg = states;
}

/* Read the options of the verifier from the command line. Returns CLI_OK, or CLI_USAGE after printing the error. */
static int read_opts(const struct cli_args *args, struct gpubpf_verify_opts *opts)
{
	const char *target = cli_str(args, OPT_LIMITS, NULL);

	*opts = (struct gpubpf_verify_opts){ .allow_exit_thread = true };
	if (!cli_u64(args, OPT_MAX_COST, 1, &opts->max_cost))
		return CLI_USAGE;
	if (!target)
		return CLI_OK;
	if (!cli_value_known(OPT_LIMITS, target))
		return CLI_USAGE;
	opts->limits = gpubpf_limits_find(target);
	return CLI_OK;
}

static int verify_all(const struct cli_args *args, struct gpubpf_unit *unit, struct json_object *verdicts)
{
	struct gpubpf_verify_opts opts;
	int status = read_opts(args, &opts);

	if (status != CLI_OK)
		return status;
	if (!cli_is_any_selected(args, unit))
		return CLI_FAILED;
	for (uint32_t i = 0; i < unit->nprogs; i++) {
		struct gpubpf_prog *p = &unit->progs[i];
		struct json_object *states;
		struct gpubpf_diag diag;
		int err;

		if (!cli_is_selected(args, p))
			continue;
		gpubpf_diag_init(&diag);
		set_trace(args, &opts, &states);
		if (cli_has(args, OPT_VERBOSE) && !verdicts)
			printf("%s (%s): states of the verifier\n", p->name, p->section);
		err = gpubpf_verify(unit, p, &opts, &diag);
		if (err < 0) {
			gpubpf_diag_set(&diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "%s", strerror(-err));
			gpubpf_diag_where(&diag, "program %s (section %s)", p->name, p->section);
			status = CLI_FAILED;
		}
		if (verdicts)
			json_object_array_add(verdicts, make_verdict_json(p, states, &diag));
		else if (err < 0)
			cli_diag(&diag);
		else
			print_verdict(args, unit, p);
	}
	return status;
}

int gpubpf_cmd_prog_verify(const struct cli_args *args)
{
	struct json_object *verdicts = cli_has(args, OPT_JSON) ? json_object_new_array() : NULL;
	struct gpubpf_loaded *loaded;
	int status = cli_load(args, &loaded);

	if (status == CLI_OK) {
		for (uint32_t i = 0; i < loaded->nnotes; i++)
			cli_note("%s", loaded->notes[i]);
		status = verify_all(args, &loaded->unit, verdicts);
		if (status == CLI_OK && !verdicts)
			cli_print_maps_memory(&loaded->unit);
		for (uint32_t i = 0; i < loaded->unit.nprogs; i++) {
			gpubpf_facts_destroy(loaded->unit.progs[i].facts);
			loaded->unit.progs[i].facts = NULL;
		}
		gpubpf_loaded_destroy(loaded);
	}
	if (verdicts && status != CLI_USAGE)
		gpubpf_json_write(verdicts, stdout);
	return status;
}
