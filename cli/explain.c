/* SPDX-License-Identifier: Apache-2.0 */
/* What went otherwise than the user meant: one clear line each, with what was seen instead. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

#include "core/session/called_functions.h"
#include "core/session/named_places.h"
#include "core/session/report.h"

#define LISTED 8
#define MOST_SEEN 1024

/* names that were seen, at most MOST_SEEN; text: the first LISTED of them */
struct seen {
	char (*names)[256];
	uint32_t n;
	bool known;      /* of some kernel at least, what it calls */
	char text[1200];
};

static void add_seen(struct seen *seen, const char *name)
{
	for (uint32_t i = 0; i < seen->n; i++)
		if (!strcmp(seen->names[i], name))
			return;
	if (seen->n == MOST_SEEN)
		return;
	snprintf(seen->names[seen->n], sizeof(*seen->names), "%s", name);
	if (seen->n++ < LISTED)
		snprintf(seen->text + strlen(seen->text), sizeof(seen->text) - strlen(seen->text), "%s%s",
			 seen->n > 1 ? ", " : "", name);
}

static void end_seen(struct seen *seen)
{
	if (seen->n > LISTED)
		snprintf(seen->text + strlen(seen->text), sizeof(seen->text) - strlen(seen->text), " and %u more",
			 seen->n - LISTED);
}

static const char *nearest(const struct seen *seen, const char *pattern)
{
	const char *names[MOST_SEEN];

	for (uint32_t i = 0; i < seen->n; i++)
		names[i] = seen->names[i];
	return cli_nearest(pattern, names, seen->n);
}

static void explain_kernel(struct gpubpf_session *s, const struct gpubpf_prog *prog, const struct seen *seen)
{
	const char *near = nearest(seen, prog->pattern);

	if (near)
		gpubpf_session_note(s, "program %s: no kernel is called %s; launched were: %s; did you mean --attach %s=%s?",
			 prog->name, prog->pattern, seen->text, prog->name, near);
	else
		gpubpf_session_note(s, "program %s: no kernel is called %s; launched were: %s; bind it with --attach %s=KERNEL",
			 prog->name, prog->pattern, seen->text, prog->name);
}

static void explain_function(struct gpubpf_session *s, const struct gpubpf_prog *prog, const struct seen *seen)
{
	const char *near = nearest(seen, prog->pattern);

	if (!seen->known)
		gpubpf_session_note(s, "program %s: which functions the kernels call could not be seen; the report says why, kernel "
			 "by "
			 "kernel",
			 prog->name);
	else if (!seen->n)
		gpubpf_session_note(s, "program %s: no kernel whose code was read calls a function, so none is called %s; compilers "
			 "inline functions (__noinline__ keeps one)", prog->name, prog->pattern);
	else if (near)
		gpubpf_session_note(s, "program %s: no function is called %s; kernels call: %s; did you mean --attach %s=%s?",
			 prog->name, prog->pattern, seen->text, prog->name, near);
	else
		gpubpf_session_note(s, "program %s: no function is called %s, or the compiler inlined it (__noinline__ keeps one); "
			 "kernels call: %s", prog->name, prog->pattern, seen->text);
}

static void explain_place(struct gpubpf_session *s, const struct gpubpf_prog *prog)
{
	gpubpf_session_note(s, "program %s: no kernel whose code was read has a place gpu/%s/%s; gpubpf kernel list --places -- CMD "
			    "lists marks and lines, the latter of code compiled with them (nvcc -lineinfo)", prog->name,
			    gpubpf_place_kind(prog->site)->name, prog->pattern);
}

static void explain_program(struct gpubpf_session *s, const struct gpubpf_prog *prog)
{
	struct seen seen = { .names = calloc(MOST_SEEN, sizeof(*seen.names)) };
	bool call = gpubpf_calls_wants(prog);
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
		explain_function(s, prog, &seen);
	else
		explain_kernel(s, prog, &seen);
	free(seen.names);
}

static void explain_no_runtime(struct gpubpf_session *s, const char *backend, const char *command, bool ended)
{
	char name[64];
	pid_t pid = ended ? cli_survivor(gpubpf_session__path(s), name, sizeof(name)) : 0;

	if (pid)
		gpubpf_session_note(s, "%s ended before it used a GPU runtime, and left %s (pid %d), which goes on unprobed: "
				    "probing ends with the program that was run; keep it in the foreground (services have an "
				    "option for that)", command, name, pid);
	else
		gpubpf_session_note(s, "%s never used a GPU runtime that gpubpf knows%s%s%s; did it find a device (gpubpf device "
				    "list), is it linked statically, or set-user-ID?", command, backend ? " (only " : "",
				    backend ? backend : "", backend ? " was asked for)" : "");
}

void cli_explain(struct gpubpf_session *s, const char *backend, const char *command, bool ended)
{
	const struct gpubpf_prog *prog = NULL;

	if (!gpubpf_session__processes(s)) {
		explain_no_runtime(s, backend, command, ended);
		return;
	}
	if (gpubpf_kernel_table_collect(s) < 0)
		return;
	if (!s->nstats) {
		gpubpf_session_note(s, "no launch of a kernel by %s was seen", command);
		return;
	}
	while ((prog = gpubpf_session__next_program(s, prog)))
		if (gpubpf_report_matched(s, prog))
			continue;
		else if (gpubpf_named_wants(prog))
			explain_place(s, prog);
		else
			explain_program(s, prog);
}
