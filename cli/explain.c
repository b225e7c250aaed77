/* SPDX-License-Identifier: Apache-2.0 */
/* What went otherwise than the user meant: one clear line each, with what was seen instead. */
#include "cli.h"

#include <string.h>

#include "core/session/report.h"

#define LISTED 8

/* Names of launched kernels, at most LISTED of them, and the one nearest to the pattern. */
static const char *list_seen(struct gpubpf_session *s, const char *pattern, char *buf, size_t size)
{
	const char *names[1024];
	uint32_t n = 0;

	buf[0] = 0;
	for (uint32_t i = 0; i < s->nstats && n < 1024; i++) {
		names[n++] = s->stats[i].name;
		if (i < LISTED)
			snprintf(buf + strlen(buf), size - strlen(buf), "%s%s", i ? ", " : "", s->stats[i].name);
	}
	if (s->nstats > LISTED)
		snprintf(buf + strlen(buf), size - strlen(buf), " and %u more", s->nstats - LISTED);
	return cli_nearest(pattern, names, n);
}

static void explain_program(struct gpubpf_session *s, const struct gpubpf_prog *prog)
{
	char seen[1200];
	const char *near;

	if (gpubpf_report_matched(s, prog))
		return;
	near = list_seen(s, prog->pattern, seen, sizeof(seen));
	if (near)
		cli_note("program %s: no kernel is called %s; launched were: %s; did you mean --attach %s=%s?",
			 prog->name, prog->pattern, seen, prog->name, near);
	else
		cli_note("program %s: no kernel is called %s; launched were: %s; bind it with --attach %s=KERNEL",
			 prog->name, prog->pattern, seen, prog->name);
}

void cli_explain(struct gpubpf_session *s, const char *backend, const char *command)
{
	const struct gpubpf_prog *prog = NULL;

	if (!gpubpf_session__processes(s)) {
		cli_note("%s never used a GPU runtime that gpubpf knows%s%s%s; is it linked statically, or "
			 "set-user-ID?", command, backend ? " (only " : "", backend ? backend : "",
			 backend ? " was asked for)" : "");
		return;
	}
	if (gpubpf_board_collect(s) < 0)
		return;
	if (!s->nstats) {
		cli_note("no launch of a kernel by %s was seen", command);
		return;
	}
	while ((prog = gpubpf_session__next_program(s, prog)))
		explain_program(s, prog);
}
