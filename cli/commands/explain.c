/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints why a run gave results that the user probably does not expect, such as a program that matched no kernel. Each
 * note is one line and names the kernels or functions that were seen.
 */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/twins/called_functions.h"
#include "core/session/base/named_places.h"
#include "core/session/report/report.h"
#include "core/target.h"
#include "core/wire/match.h"

#define MAX_LISTED 8
#define MAX_SEEN 1024

/* up to MAX_SEEN distinct names of kernels or functions; `text` lists the first MAX_LISTED names */
struct seen {
	char (*names)[256];
	uint32_t n;
	bool known; /* the called functions of at least one kernel are known */
	char text[1200];
};

static void add_seen(struct seen *seen, const char *name)
{
	for (uint32_t i = 0; i < seen->n; i++)
		if (!strcmp(seen->names[i], name))
			return;
	if (seen->n == MAX_SEEN)
		return;
	snprintf(seen->names[seen->n], sizeof(*seen->names), "%s", name);
	if (seen->n++ < MAX_LISTED)
		snprintf(seen->text + strlen(seen->text), sizeof(seen->text) - strlen(seen->text), "%s%s",
			 seen->n > 1 ? ", " : "", name);
}

static void destroy_seen(struct seen *seen)
{
	if (seen->n > MAX_LISTED)
		snprintf(seen->text + strlen(seen->text), sizeof(seen->text) - strlen(seen->text), " and %u more",
			 seen->n - MAX_LISTED);
}

static const char *find_nearest(const struct seen *seen, const char *pattern)
{
	const char *names[MAX_SEEN];

	for (uint32_t i = 0; i < seen->n; i++)
		names[i] = seen->names[i];
	return cli_nearest(pattern, names, seen->n);
}

/* A program as messages name it: by its name in an object, or by its probe in a program text. */
struct subject {
	const struct gpubpf_prog *prog;
	bool text;
	char is[160];
};

/* Write to buf what the user can change: the most similar name, or an --attach option. */
static const char *choose_remedy(const struct subject *who, const char *near, char buf[512])
{
	buf[0] = '\0';
	if (who->text && near)
		snprintf(buf, 512, "; did you mean gpu/%s/%s?", gpubpf_place_kind(who->prog->site)->name, near);
	else if (near)
		snprintf(buf, 512, "; did you mean --attach %s=%s?", who->prog->name, near);
	else if (!who->text)
		snprintf(buf, 512, "; bind it with --attach %s=KERNEL", who->prog->name);
	return buf;
}

static void explain_kernel(struct gpubpf_session *s, const struct subject *who, const struct seen *seen)
{
	const char *pattern = who->prog->pattern;
	char buf[512];

	gpubpf_session_note(s, "%s: no kernel is named %s; launched kernels: %s%s", who->is, pattern, seen->text,
			    choose_remedy(who, find_nearest(seen, pattern), buf));
}

static void explain_function(struct gpubpf_session *s, const struct subject *who, const struct seen *seen)
{
	const char *pattern = who->prog->pattern, *near = find_nearest(seen, pattern);
	char buf[512];

	if (!seen->known)
		gpubpf_session_note(s,
				    "%s: gpubpf could not determine which functions the kernels call; the report gives "
				    "the reason for each kernel",
				    who->is);
	else if (!seen->n)
		gpubpf_session_note(s,
				    "%s: no inspected kernel calls a function, so there is no function %s; "
				    "compilers inline functions that are not marked __noinline__",
				    who->is, pattern);
	else if (near)
		gpubpf_session_note(s, "%s: no function is named %s; kernels call: %s%s", who->is, pattern, seen->text,
				    choose_remedy(who, near, buf));
	else
		gpubpf_session_note(s,
				    "%s: no function is named %s, or the compiler inlined it (mark it "
				    "__noinline__); kernels call: %s",
				    who->is, pattern, seen->text);
}

static void explain_place(struct gpubpf_session *s, const struct subject *who)
{
	gpubpf_session_note(s,
			    "%s: no inspected kernel has a place gpu/%s/%s; gpubpf kernel list --places -- CMD lists "
			    "marks, and source lines if the code has line information (nvcc -lineinfo)",
			    who->is, gpubpf_place_kind(who->prog->site)->name, who->prog->pattern);
}

static void explain_none(struct gpubpf_session *s, const struct subject *who)
{
	const char *place = gpubpf_place_kind(who->prog->site)->name;

	gpubpf_session_note(s,
			    "%s: none of its kernels has a place gpu/%s/ (a point where a BPF program can run); gpubpf "
			    "kernel list --places -- CMD lists all places",
			    who->is, place);
}

static void explain_program(struct gpubpf_session *s, const struct subject *who)
{
	const struct gpubpf_prog *prog = who->prog;
	struct seen seen = { .names = calloc(MAX_SEEN, sizeof(*seen.names)) };
	bool call = gpubpf_prog_is_for_functions(prog);
	char name[256];

	for (uint32_t i = 0; seen.names && i < gpubpf_kernel_stats_count(s); i++) {
		const char *at = gpubpf_report_functions(s, gpubpf_kernel_stats_at(s, i)->name);

		seen.known |= at != NULL;
		while (call && (at = gpubpf_calls_next(at, name, sizeof(name))))
			add_seen(&seen, name);
		if (!call)
			add_seen(&seen, gpubpf_kernel_stats_at(s, i)->name);
	}
	destroy_seen(&seen);
	if (call)
		explain_function(s, who, &seen);
	else
		explain_kernel(s, who, &seen);
	free(seen.names);
}

/* Returns true if a program of a section host/ ran. Then a session without probed launches is no surprise. */
static bool has_run_on_host(const struct gpubpf_session *s)
{
	const struct gpubpf_unit *unit = gpubpf_session_unit(s);

	for (uint32_t i = 0; unit && i < unit->nprogs; i++)
		if (unit->progs[i].host && gpubpf_link__launches(gpubpf_session_link(s, i)))
			return true;
	return false;
}

/*
 * Print that no launch was probed. A session that only inspects kernels never probes, so its line does not begin with
 * "nothing was probed". If there were launches, other sessions print the line even with --quiet, because it changes the
 * meaning of the results.
 */
__attribute__((format(printf, 2, 3))) static void note_nothing(struct gpubpf_session *s, const char *fmt, ...)
{
	const char *what = gpubpf_session_options(s)->inspect ? "" : "nothing was probed: ";
	char text[1024];
	va_list ap;

	if (has_run_on_host(s))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gpubpf_session_note(s, "%s%s", what, text);
	if (!gpubpf_session_options(s)->note && !gpubpf_session_options(s)->inspect && gpubpf_kernel_stats_count(s))
		cli_note("%s%s", what, text);
}

static void explain_no_runtime(struct gpubpf_session *s, const char *backend, const char *command, bool ended)
{
	char name[64];
	pid_t pid = ended ? cli_survivor(gpubpf_session__path(s), name, sizeof(name)) : 0;

	if (!ended)
		note_nothing(s, "%s had not used a GPU runtime when probing ended; probe for longer (--duration)", command);
	else if (pid)
		note_nothing(s,
			     "%s ended before it used a GPU runtime, and left %s (pid %d) running unprobed: "
			     "probing ends when %s ends; run it in the foreground",
			     command, name, pid, command);
	else
		note_nothing(s,
			     "%s never used a GPU runtime that gpubpf knows%s%s%s; check that it finds a device "
			     "(gpubpf device list), and is neither linked statically nor set-user-ID",
			     command, backend ? " (only " : "", backend ? backend : "", backend ? " was requested)" : "");
}

static struct subject describe_subject(const struct gpubpf_session *s, const struct gpubpf_prog *prog,
				       const struct cli_program *text)
{
	struct subject who = { .prog = prog, .text = cli_program_owns(text, s, prog) };

	snprintf(who.is, sizeof(who.is), "%s %s", who.text ? "probe" : "program", who.text ? prog->section : prog->name);
	return who;
}

static void explain_programs(struct gpubpf_session *s, const struct cli_program *text)
{
	const struct gpubpf_prog *prog = NULL;

	while ((prog = gpubpf_session__next_program(s, prog))) {
		struct subject who = describe_subject(s, prog, text);

		if (!prog->pattern[0])
			continue;
		if (gpubpf_report_is_matched(s, prog)) {
			if (!gpubpf_report_has_place(s, prog))
				explain_none(s, &who);
			continue;
		}
		if (prog->host)
			cli_note("%s: no call of the application matched %s", who.is, prog->section);
		else if (gpubpf_prog_has_named_place(prog))
			explain_place(s, &who);
		else
			explain_program(s, &who);
	}
}

/* -- loaders' programs -- */

/*
 * Returns true if any version of the program has run. Loaders attach each new version of a program as a further link.
 */
static bool has_run(const struct gpubpf_session *s, const struct gpubpf_prog *prog)
{
	const struct gpubpf_unit *unit = gpubpf_session_unit(s);

	for (uint32_t i = 0; i < unit->nprogs; i++) {
		const struct gpubpf_prog *other = &unit->progs[i];

		if (other->site == prog->site && !strcmp(other->name, prog->name) &&
		    !strcmp(other->pattern, prog->pattern) && gpubpf_link__launches(gpubpf_session_link(s, i)))
			return true;
	}
	return false;
}

/*
 * Return a kernel whose name matches the program's pattern and for which a reason is known why it was not probed, or
 * NULL.
 */
static const struct gpubpf_kernel_stats *find_unprobed_kernel(struct gpubpf_session *s, const struct gpubpf_prog *prog)
{
	for (uint32_t i = 0; i < gpubpf_kernel_stats_count(s); i++)
		if (gpubpf_pattern_matches(prog->pattern, gpubpf_kernel_stats_at(s, i)->name) &&
		    gpubpf_report_reason(s, gpubpf_kernel_stats_at(s, i))[0])
			return gpubpf_kernel_stats_at(s, i);
	return NULL;
}

static void explain_never_run(struct gpubpf_session *s, const struct subject *who)
{
	const struct gpubpf_kernel_stats *unprobed = find_unprobed_kernel(s, who->prog);

	if (!gpubpf_kernel_stats_count(s))
		gpubpf_session_note(s, "%s never ran: it is attached to %s, and the session saw no kernel launch",
				    who->is, who->prog->pattern);
	else if (unprobed)
		gpubpf_session_note(s, "%s never ran: kernel %s was not probed (%s): %s", who->is, unprobed->name,
				    gpubpf_report_outcome(unprobed), gpubpf_report_reason(s, unprobed));
	else if (!gpubpf_report_is_matched(s, who->prog))
		explain_program(s, who);
	else if (!gpubpf_report_has_place(s, who->prog))
		explain_none(s, who);
}

void cli_explain_loaders(struct gpubpf_session *s)
{
	uint32_t printed = 0, n = gpubpf_session_loaded(s) ? gpubpf_session_unit(s)->nprogs : 0;

	if (!n || gpubpf_kernel_table_collect(s) < 0)
		return;
	for (uint32_t i = 0; i < n; i++) {
		const struct gpubpf_prog *prog = &gpubpf_session_unit(s)->progs[i];
		struct subject who = describe_subject(s, prog, NULL);

		if (!gpubpf_link_was_attached(gpubpf_session_link(s, i)) || !prog->pattern[0] || has_run(s, prog))
			continue;
		if (printed++ < MAX_LISTED)
			explain_never_run(s, &who);
	}
	if (printed > MAX_LISTED)
		gpubpf_session_note(s, "%u more programs never ran; --report lists all kernels that were launched",
				    printed - MAX_LISTED);
}

bool cli_is_nothing_probed(struct gpubpf_session *s)
{
	const struct gpubpf_prog *prog = NULL;
	bool attached = false;

	while ((prog = gpubpf_session__next_program(s, prog)))
		attached |= prog->pattern[0] != 0;
	if (!attached || gpubpf_kernel_table_collect(s) < 0)
		return false;
	for (uint32_t i = 0; i < gpubpf_kernel_stats_count(s); i++)
		if (gpubpf_kernel_stats_at(s, i)->probed)
			return false;
	return true;
}

/*
 * Print why no launch was probed. The caller prints this last, so that users do not mistake zeros in the results for
 * measurements.
 */
static void explain_nothing(struct gpubpf_session *s, const struct cli_program *text)
{
	const struct gpubpf_kernel_stats *first = NULL;
	uint32_t noted = cli_program_noted_reasons(text);
	char buf[512];
	unsigned long long launches = 0;

	for (uint32_t i = 0; i < gpubpf_kernel_stats_count(s); i++) {
		launches += gpubpf_kernel_stats_at(s, i)->launches;
		if (!first && gpubpf_report_reason(s, gpubpf_kernel_stats_at(s, i))[0])
			first = gpubpf_kernel_stats_at(s, i);
	}
	if (first && noted)
		note_nothing(s, "%llu launches of %u kernel%s ran without probes, for the reason%s above", launches,
			     gpubpf_kernel_stats_count(s), gpubpf_kernel_stats_count(s) == 1 ? "" : "s",
			     noted == 1 ? "" : "s");
	else if (first)
		note_nothing(s, "%llu launches of %u kernel%s ran without probes; %.200s: %s", launches,
			     gpubpf_kernel_stats_count(s), gpubpf_kernel_stats_count(s) == 1 ? "" : "s", first->name,
			     cli_program_reason(text, s, gpubpf_report_reason(s, first), buf, sizeof(buf)));
	else
		note_nothing(s,
			     "%llu launches of %u kernel%s ran without probes, because they have no place where an "
			     "attached program runs; gpubpf kernel list --places -- CMD lists all places",
			     launches, gpubpf_kernel_stats_count(s), gpubpf_kernel_stats_count(s) == 1 ? "" : "s");
}

/*
 * Return the target for the form of code in which the kernel was probed. In a session that only inspects, return the
 * target for the form in which the kernel can be probed. NULL: there is none.
 */
static const struct gpubpf_target_info *find_target(const struct gpubpf_session *s, const struct gpubpf_kernel_stats *st)
{
	const char *instead,
		*route = gpubpf_session_options(s)->inspect ? gpubpf_report_route(s, st->name, &instead) : st->route;

	return st->probed || gpubpf_session_options(s)->inspect ? gpubpf_target_find(route) : NULL;
}

/* Print for which kernels --route had no effect, because their code does not exist in the form of that route. */
static void explain_route(struct gpubpf_session *s)
{
	const struct gpubpf_target_info *named = gpubpf_session_options(s)->route ?
							 gpubpf_target_route(gpubpf_session_options(s)->route) :
							 NULL,
					*target;
	const char *kernel = NULL, *code = "";
	uint32_t n = 0;

	for (uint32_t i = 0; named && i < gpubpf_kernel_stats_count(s); i++) {
		target = find_target(s, gpubpf_kernel_stats_at(s, i));
		if (!target || target == named)
			continue;
		kernel = kernel ? kernel : gpubpf_kernel_stats_at(s, i)->name;
		code = target->code;
		n++;
	}
	if (n == 1)
		gpubpf_session_note(s, "--route %s has no effect on kernel %.200s: its code is %s", named->name, kernel,
				    code);
	else if (n)
		gpubpf_session_note(s, "--route %s has no effect on %u kernels, for example %.200s: their code is %s",
				    named->name, n, kernel, code);
}

void cli_explain(struct gpubpf_session *s, const struct cli_program *text, const char *backend, const char *command,
		 bool ended)
{
	if (cli_program_is_idle(text))
		return;
	if (!gpubpf_session__processes(s)) {
		explain_no_runtime(s, backend, command, ended);
		return;
	}
	if (gpubpf_kernel_table_collect(s) < 0)
		return;
	if (!gpubpf_kernel_stats_count(s) && !ended) {
		note_nothing(s, "%s had launched no kernel when probing ended; probe for longer (--duration)", command);
		return;
	}
	if (!gpubpf_kernel_stats_count(s)) {
		note_nothing(s, "%s launched no kernel that gpubpf could see", command);
		return;
	}
	explain_route(s);
	explain_programs(s, text);
	if (!gpubpf_session_options(s)->inspect && cli_is_nothing_probed(s))
		explain_nothing(s, text);
}
