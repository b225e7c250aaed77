/* SPDX-License-Identifier: Apache-2.0 */
/* Explains results that the user probably does not expect: one line each, with the names that were seen instead. */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/twins/called_functions.h"
#include "core/session/base/named_places.h"
#include "core/session/report/report.h"
#include "core/wire/match.h"

#define MAX_LISTED 8
#define MAX_SEEN 1024

/* up to MAX_SEEN distinct names; text lists the first LISTED of them */
struct seen {
	char (*names)[256];
	uint32_t n;
	bool known; /* the functions that at least one kernel calls are known */
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

static void end_seen(struct seen *seen)
{
	if (seen->n > MAX_LISTED)
		snprintf(seen->text + strlen(seen->text), sizeof(seen->text) - strlen(seen->text), " and %u more",
			 seen->n - MAX_LISTED);
}

static const char *nearest(const struct seen *seen, const char *pattern)
{
	const char *names[MAX_SEEN];

	for (uint32_t i = 0; i < seen->n; i++)
		names[i] = seen->names[i];
	return cli_nearest(pattern, names, seen->n);
}

/* A program as its user wrote it: the name in an object, or the probe in a text. */
struct subject {
	const struct gpubpf_prog *prog;
	bool text;
	char is[160];
};

/* Suggest a correction, or the most similar name. */
static const char *remedy(const struct subject *who, const char *near, char buf[512])
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
			    remedy(who, nearest(seen, pattern), buf));
}

static void explain_function(struct gpubpf_session *s, const struct subject *who, const struct seen *seen)
{
	const char *pattern = who->prog->pattern, *near = nearest(seen, pattern);
	char buf[512];

	if (!seen->known)
		gpubpf_session_note(s,
				    "%s: the functions that kernels call could not be determined; the report gives "
				    "the reason for each kernel",
				    who->is);
	else if (!seen->n)
		gpubpf_session_note(s,
				    "%s: no inspected kernel calls a function, so there is no function %s; "
				    "compilers inline functions that are not marked __noinline__",
				    who->is, pattern);
	else if (near)
		gpubpf_session_note(s, "%s: no function is named %s; kernels call: %s%s", who->is, pattern, seen->text,
				    remedy(who, near, buf));
	else
		gpubpf_session_note(s,
				    "%s: no function is named %s, or the compiler inlined it (mark it "
				    "__noinline__); kernels call: %s",
				    who->is, pattern, seen->text);
}

static void explain_place(struct gpubpf_session *s, const struct subject *who)
{
	gpubpf_session_note(s,
			    "%s: no inspected kernel has a place gpu/%s/%s; gpubpf kernel list --places -- CMD "
			    "lists marks, and lines of code that was compiled with them (nvcc -lineinfo)",
			    who->is, gpubpf_place_kind(who->prog->site)->name, who->prog->pattern);
}

static void explain_none(struct gpubpf_session *s, const struct subject *who)
{
	const char *place = gpubpf_place_kind(who->prog->site)->name;

	gpubpf_session_note(s,
			    "%s: none of its kernels has a place gpu/%s/; gpubpf kernel list --places -- CMD lists "
			    "all places",
			    who->is, place);
}

static void explain_program(struct gpubpf_session *s, const struct subject *who)
{
	const struct gpubpf_prog *prog = who->prog;
	struct seen seen = { .names = calloc(MAX_SEEN, sizeof(*seen.names)) };
	bool call = gpubpf_prog_is_for_functions(prog);
	char name[256];

	for (uint32_t i = 0; seen.names && i < s->nstats; i++) {
		const char *at = gpubpf_report_functions(s, s->stats[i].name);

		seen.known |= at != NULL;
		while (call && (at = gpubpf_calls_next(at, name, sizeof(name))))
			add_seen(&seen, name);
		if (!call)
			add_seen(&seen, s->stats[i].name);
	}
	end_seen(&seen);
	if (call)
		explain_function(s, who, &seen);
	else
		explain_kernel(s, who, &seen);
	free(seen.names);
}

/*
 * Print that no launch was probed. A session that only inspects kernels probes none. If there were launches, the line
 * is printed despite --quiet, because it changes the meaning of the results.
 */
__attribute__((format(printf, 2, 3))) static void note_nothing(struct gpubpf_session *s, const char *fmt, ...)
{
	const char *what = s->opts.inspect ? "" : "nothing was probed: ";
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gpubpf_session_note(s, "%s%s", what, text);
	if (!s->opts.note && !s->opts.inspect && s->nstats)
		cli_note("%s%s", what, text);
}

static void explain_no_runtime(struct gpubpf_session *s, const char *backend, const char *command, bool ended)
{
	char name[64];
	pid_t pid = ended ? cli_survivor(gpubpf_session__path(s), name, sizeof(name)) : 0;

	if (pid)
		note_nothing(s,
			     "%s ended before it used a GPU runtime, and left %s (pid %d), which continues "
			     "unprobed: probing ends with the program that was run; keep it in the foreground "
			     "(services have an option for that)",
			     command, name, pid);
	else
		note_nothing(s,
			     "%s never used a GPU runtime that gpubpf knows%s%s%s; did it find a device (gpubpf device "
			     "list), is it linked statically, or set-user-ID?",
			     command, backend ? " (only " : "", backend ? backend : "", backend ? " was requested)" : "");
}

static struct subject subject(const struct gpubpf_session *s, const struct gpubpf_prog *prog, const struct cli_program *text)
{
	struct subject who = { .prog = prog, .text = cli_program_owns(text, s, prog) };

	snprintf(who.is, sizeof(who.is), "%s %s", who.text ? "probe" : "program", who.text ? prog->section : prog->name);
	return who;
}

static void explain_programs(struct gpubpf_session *s, const struct cli_program *text)
{
	const struct gpubpf_prog *prog = NULL;

	while ((prog = gpubpf_session__next_program(s, prog))) {
		struct subject who = subject(s, prog, text);

		if (!prog->pattern[0])
			continue;
		if (gpubpf_report_is_matched(s, prog)) {
			if (!gpubpf_report_has_place(s, prog))
				explain_none(s, &who);
			continue;
		}
		if (gpubpf_prog_has_named_place(prog))
			explain_place(s, &who);
		else
			explain_program(s, &who);
	}
}

/* -- loaders' programs -- */

/* Has any version of the program run? Loaders attach each new version as a further link. */
static bool has_run(const struct gpubpf_session *s, const struct gpubpf_prog *prog)
{
	const struct gpubpf_unit *unit = &s->loaded->unit;

	for (uint32_t i = 0; i < unit->nprogs; i++) {
		const struct gpubpf_prog *other = &unit->progs[i];

		if (other->site == prog->site && !strcmp(other->name, prog->name) &&
		    !strcmp(other->pattern, prog->pattern) && gpubpf_link__launches(&s->links[i]))
			return true;
	}
	return false;
}

/*
 * Return a kernel that matches the program's pattern and whose launches were not probed for a known reason; NULL: none.
 */
static const struct gpubpf_kernel_stats *unprobed_kernel(struct gpubpf_session *s, const struct gpubpf_prog *prog)
{
	for (uint32_t i = 0; i < s->nstats; i++)
		if (gpubpf_pattern_matches(prog->pattern, s->stats[i].name) && gpubpf_report_reason(s, &s->stats[i])[0])
			return &s->stats[i];
	return NULL;
}

static void explain_never_run(struct gpubpf_session *s, const struct subject *who)
{
	const struct gpubpf_kernel_stats *unprobed = unprobed_kernel(s, who->prog);

	if (!s->nstats)
		gpubpf_session_note(s, "%s never ran: it is attached to %s, and no launch of a kernel was seen in the session",
				    who->is, who->prog->pattern);
	else if (unprobed)
		gpubpf_session_note(s, "%s never ran: kernel %s is %s: %s", who->is, unprobed->name,
				    gpubpf_report_outcome(unprobed), gpubpf_report_reason(s, unprobed));
	else if (!gpubpf_report_is_matched(s, who->prog))
		explain_program(s, who);
	else if (!gpubpf_report_has_place(s, who->prog))
		explain_none(s, who);
}

void cli_explain_loaders(struct gpubpf_session *s)
{
	uint32_t printed = 0, n = s->loaded ? s->loaded->unit.nprogs : 0;

	if (!n || gpubpf_kernel_table_collect(s) < 0)
		return;
	for (uint32_t i = 0; i < n; i++) {
		const struct gpubpf_prog *prog = &s->loaded->unit.progs[i];
		struct subject who = subject(s, prog, NULL);

		if (!s->links[i].was_attached || !prog->pattern[0] || has_run(s, prog))
			continue;
		if (printed++ < MAX_LISTED)
			explain_never_run(s, &who);
	}
	if (printed > MAX_LISTED)
		gpubpf_session_note(s, "%u more programs never ran; --report shows all kernels that were launched",
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
	for (uint32_t i = 0; i < s->nstats; i++)
		if (s->stats[i].probed)
			return false;
	return true;
}

/*
 * Print why no launch was probed. Called last, so that users do not mistake the zeros of such a run for measurements.
 */
static void explain_nothing(struct gpubpf_session *s)
{
	const struct gpubpf_kernel_stats *first = NULL;
	unsigned long long launches = 0;

	for (uint32_t i = 0; i < s->nstats; i++) {
		launches += s->stats[i].launches;
		if (!first && gpubpf_report_reason(s, &s->stats[i])[0])
			first = &s->stats[i];
	}
	if (first)
		note_nothing(s, "%llu launches of %u kernel%s ran without probes; %.200s: %s", launches, s->nstats,
			     s->nstats == 1 ? "" : "s", first->name, gpubpf_report_reason(s, first));
	else
		note_nothing(s,
			     "%llu launches of %u kernel%s ran without probes, because no program has a place in them; "
			     "gpubpf kernel list --places -- CMD lists what can be probed",
			     launches, s->nstats, s->nstats == 1 ? "" : "s");
}

void cli_explain(struct gpubpf_session *s, const struct cli_program *text, const char *backend, const char *command,
		 bool ended)
{
	if (!gpubpf_session__processes(s)) {
		explain_no_runtime(s, backend, command, ended);
		return;
	}
	if (gpubpf_kernel_table_collect(s) < 0)
		return;
	if (!s->nstats) {
		note_nothing(s, "no launch of a kernel by %s was seen", command);
		return;
	}
	explain_programs(s, text);
	if (!s->opts.inspect && cli_is_nothing_probed(s))
		explain_nothing(s);
}
