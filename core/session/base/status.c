/* SPDX-License-Identifier: Apache-2.0 */
/* Errors, notes and times of a session, which all of its parts use. */
#include "core/session/session.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *gpubpf_version_string(void)
{
	return GPUBPF_VERSION;
}

uint64_t gpubpf_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

uint32_t gpubpf_session_build_ms(const struct gpubpf_session *s)
{
	return s->opts.wait_ms > GPUBPF_BUILD_TIMEOUT_MS ? s->opts.wait_ms : GPUBPF_BUILD_TIMEOUT_MS;
}

int gpubpf_session_fail(struct gpubpf_session *s, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->error, sizeof(s->error), fmt, ap);
	va_end(ap);
	return err;
}

int gpubpf_session_refuse(struct gpubpf_session *s, int err, const struct gpubpf_diag *diag)
{
	gpubpf_diag_format(diag, s->error, sizeof(s->error));
	s->refusal = *diag;
	return err;
}

void gpubpf_session_note(struct gpubpf_session *s, const char *fmt, ...)
{
	char text[2048], **grown;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?'; /* a peer cannot send escape sequences to the user's terminal */
	for (uint32_t i = 0; i < s->nnotes; i++)
		if (!strcmp(s->notes[i], text))
			return;
	if (s->nnotes == GPUBPF_MAX_NOTES)
		return;
	grown = realloc(s->notes, (s->nnotes + 1) * sizeof(*grown));
	if (!grown)
		return;
	s->notes = grown;
	s->notes[s->nnotes] = strdup(text);
	if (s->notes[s->nnotes])
		s->nnotes++;
	if (s->opts.note)
		s->opts.note(s->opts.ctx, text);
}
