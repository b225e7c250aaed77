/* SPDX-License-Identifier: Apache-2.0 */
/* One line on a terminal while twins are made, which the program waits for; a summary behind a long wait. */
#include "cli.h"

#include <string.h>
#include <unistd.h>

#include "core/session/makers.h"
#include "core/session/session.h"

#define PATIENCE_NS 500000000ull       /* nothing is said of what takes less */

/* Past the clean stream, which lets nothing move the cursor; names are printable ASCII here. */
static void draw(const char *text)
{
	char line[256];
	int n = snprintf(line, sizeof(line), "\r\033[K%.200s\r", text);

	for (char *c = line + 4; *c && *c != '\r'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	if (write(STDERR_FILENO, line, n) < 0)
		return; /* a terminal that has gone away */
}

static uint64_t made(const struct gpubpf_session *s)
{
	return (uint64_t)s->cost.twins + s->cost.cached + s->cost.refused;
}

static void draw_now(const struct cli_progress *p, struct gpubpf_session *s, uint64_t now)
{
	char kernel[128], text[256];
	const char *stage;

	if (!gpubpf_makers_now(s->makers, kernel, sizeof(kernel), &stage))
		return;
	snprintf(text, sizeof(text), "gpubpf: making twins, %llu of %llu, %.1f s: %.60s%s%s",
		 (unsigned long long)(made(s) - p->before + 1), (unsigned long long)(made(s) - p->before + s->pending),
		 (now - p->since_ns) / 1e9, kernel, stage ? ", " : "", stage ? stage : "");
	draw(text);
}

static void end(struct cli_progress *p, const struct gpubpf_session *s, uint64_t now)
{
	if (p->drawn) {
		draw("");
		cli_note("%llu twins in %.1f s", (unsigned long long)(made(s) - p->before), (now - p->since_ns) / 1e9);
	}
	p->since_ns = 0;
	p->drawn = false;
}

bool cli_progress(struct cli_progress *p, struct gpubpf_session *s)
{
	uint64_t now = gpubpf_now_ns();

	if (!p->on)
		return false;
	if (s->pending && !p->since_ns) {
		p->since_ns = now;
		p->before = made(s);
	} else if (s->pending && now - p->since_ns > PATIENCE_NS) {
		draw_now(p, s, now);
		p->drawn = true;
	} else if (!s->pending && p->since_ns) {
		end(p, s, now);
	}
	return s->pending;
}
