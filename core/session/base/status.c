/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the state of a session, its last error, and its notes to the user. */
#include "core/session/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_NOTES 256

struct session_status {
	char error[GPUBPF_ERROR_SIZE];
	struct gpubpf_diag refusal; /* why gpubpf_session__load() failed; code GPUBPF_OK: it has not failed */
	char **notes;               /* [nnotes] */
	uint32_t nnotes;
};

int gpubpf_status_create(struct gpubpf_session *s)
{
	s->status = calloc(1, sizeof(*s->status));
	return s->status ? 0 : -ENOMEM;
}

void gpubpf_status_destroy(struct gpubpf_session *s)
{
	for (uint32_t i = 0; s->status && i < s->status->nnotes; i++)
		free(s->status->notes[i]);
	if (s->status)
		free(s->status->notes);
	free(s->status);
	s->status = NULL;
}

const char *gpubpf_version_string(void)
{
	return GPUBPF_VERSION;
}

enum gpubpf_session_state gpubpf_session_state(const struct gpubpf_session *s)
{
	return s->state;
}

const struct gpubpf_session_opts *gpubpf_session_options(const struct gpubpf_session *s)
{
	return &s->opts;
}

void gpubpf_session_admit_loaders(struct gpubpf_session *s, bool supervised)
{
	s->admits_loaders = true;
	s->supervised = supervised;
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

const char *gpubpf_session__error(const struct gpubpf_session *s)
{
	return s->status->error;
}

int gpubpf_session_fail(struct gpubpf_session *s, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->status->error, sizeof(s->status->error), fmt, ap);
	va_end(ap);
	return err;
}

int gpubpf_session_fail_diag(struct gpubpf_session *s, int err, const struct gpubpf_diag *diag)
{
	gpubpf_diag_format(diag, s->status->error, sizeof(s->status->error));
	return err;
}

void gpubpf_session_clear_error(struct gpubpf_session *s)
{
	s->status->error[0] = 0;
}

int gpubpf_session_refuse(struct gpubpf_session *s, int err, const struct gpubpf_diag *diag)
{
	s->status->refusal = *diag;
	return gpubpf_session_fail_diag(s, err, diag);
}

const struct gpubpf_diag *gpubpf_session_refusal(const struct gpubpf_session *s)
{
	return s->status->refusal.code == GPUBPF_OK ? NULL : &s->status->refusal;
}

const char *gpubpf_session_note_at(const struct gpubpf_session *s, uint32_t i)
{
	return i < s->status->nnotes ? s->status->notes[i] : NULL;
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
			*c = '?'; /* a text from a peer must not send escape sequences to the user's terminal */
	for (uint32_t i = 0; i < s->status->nnotes; i++)
		if (!strcmp(s->status->notes[i], text))
			return;
	if (s->status->nnotes == MAX_NOTES)
		return;
	grown = realloc(s->status->notes, (s->status->nnotes + 1) * sizeof(*grown));
	if (!grown)
		return;
	s->status->notes = grown;
	s->status->notes[s->status->nnotes] = strdup(text);
	if (s->status->notes[s->status->nnotes])
		s->status->nnotes++;
	if (s->opts.note)
		s->opts.note(s->opts.ctx, text);
}
