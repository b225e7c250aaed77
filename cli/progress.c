/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows one line on a terminal while the application waits for twins, and a summary after a long wait. Without a
 * terminal, prints one note.
 */
#include "cli.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/session/session.h"
#include "core/target.h"
#include "core/session/twins/session_twins.h"

#define MIN_WAIT_NS 500000000ull       /* minimum wait before the line is shown on a terminal */
#define MIN_NOTE_WAIT_NS 10000000000ull /* minimum wait before the note is printed without a terminal */
#define REDRAW_NS 100000000ull

void cli_progress_open(struct cli_progress *p, bool quiet)
{
	/* open the terminal again: O_NONBLOCK must not affect other users of standard error's file description */
	p->is_note_done = quiet;
	p->fd = quiet || !isatty(STDERR_FILENO) ? -1 :
						  open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

void cli_progress_close(struct cli_progress *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

/*
 * Draw the line, followed by the character `end`. The line is written directly to the terminal, because the sanitised
 * stream removes cursor movements. So all characters except printable ASCII are replaced.
 */
static void draw(const struct cli_progress *p, const char *text, char end)
{
	char line[256];
	int n = snprintf(line, sizeof(line), "\r\033[K%.200s%c", text, end);

	for (char *c = line + 4; c < line + n - 1; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	if (write(p->fd, line, n) < 0)
		return; /* the terminal is gone or stopped */
}

static uint64_t count_built(const struct gpubpf_session *s)
{
	const struct gpubpf_cost_stats *cost = gpubpf_session_costs(s);

	return (uint64_t)cost->twins + cost->cached + cost->refused;
}

static void draw_now(const struct cli_progress *p, struct gpubpf_session *s, uint64_t now)
{
	char kernel[128], text[256], stage[64];
	uint32_t step;

	if (!gpubpf_twins_current(s, kernel, sizeof(kernel), &step))
		return;
	gpubpf_step_label(step, stage, sizeof(stage));
	snprintf(text, sizeof(text), "gpubpf: building twins, %llu of %llu, %.1f s: %.60s%s%s",
		 (unsigned long long)(count_built(s) - p->before + 1),
		 (unsigned long long)(count_built(s) - p->before + gpubpf_session__pending(s)),
		 (now - p->since_ns) / 1e9, kernel, stage[0] ? ", " : "", stage);
	draw(p, text, '\r');
}

static void draw_summary(struct cli_progress *p, const struct gpubpf_session *s, uint64_t now)
{
	char text[64];

	snprintf(text, sizeof(text), "gpubpf: %llu twin%s in %.1f s", (unsigned long long)(count_built(s) - p->before),
		 count_built(s) - p->before == 1 ? "" : "s", (now - p->since_ns) / 1e9);
	if (p->drawn_ns)
		draw(p, text, '\n');
	p->since_ns = p->drawn_ns = 0;
}

static bool note_once(struct cli_progress *p, struct gpubpf_session *s, uint64_t now)
{
	char kernel[128], stage[64];
	uint32_t step;

	if (p->is_note_done || !gpubpf_session__pending(s)) {
		p->since_ns = 0;
		return false;
	}
	p->since_ns = p->since_ns ? p->since_ns : now;
	if (now - p->since_ns < MIN_NOTE_WAIT_NS || !gpubpf_twins_current(s, kernel, sizeof(kernel), &step))
		return true;
	gpubpf_step_label(step, stage, sizeof(stage));
	cli_note("the application waits while twins (probed copies) of its kernels are built: %s%s%s", kernel,
		 stage[0] ? ", " : "", stage);
	p->is_note_done = true;
	return false;
}

bool cli_progress(struct cli_progress *p, struct gpubpf_session *s)
{
	uint64_t now = gpubpf_now_ns();

	if (p->fd < 0)
		return note_once(p, s, now);
	if (gpubpf_session__pending(s) && !p->since_ns) {
		p->since_ns = now;
		p->before = count_built(s);
	} else if (gpubpf_session__pending(s) && now - p->since_ns > MIN_WAIT_NS && now - p->drawn_ns >= REDRAW_NS) {
		draw_now(p, s, now);
		p->drawn_ns = now;
	} else if (!gpubpf_session__pending(s) && p->since_ns) {
		draw_summary(p, s, now);
	}
	return gpubpf_session__pending(s);
}
