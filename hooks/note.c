/* SPDX-License-Identifier: Apache-2.0 */
/* Lines for the user. Each text is said once, so that a kernel launched a million times does not. */
#include "agent.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NOTES_MAX 256

static _Atomic uint64_t said[NOTES_MAX];

/* FNV-1a, 64 bits */
static uint64_t hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3ull;
	return h ? h : 1;
}

static bool first_time(const char *text)
{
	uint64_t h = hash(text);

	for (size_t i = 0; i < NOTES_MAX; i++) {
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(&said[i], &none, h))
			return true;
		if (none == h)
			return false;
	}
	return false;
}

static bool tell(const char *text)
{
	struct gpubpf_writer w = {0};
	int err;

	if (!gpubpf_session_up())
		return false;
	gpubpf_put_str(&w, text);
	err = gpubpf_session_tell(GPUBPF_MSG_NOTE, &w);
	gpubpf_writer_finish(&w);
	return !err;
}

void gpubpf_hook_note(const char *fmt, ...)
{
	char line[512] = "gpubpf: ";
	size_t at = strlen(line);
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(line + at, sizeof(line) - at - 1, fmt, args);
	va_end(args);
	if (n < 0 || !first_time(line) || tell(line + at))
		return;
	n = strlen(line);
	line[n] = '\n';
	(void)!write(STDERR_FILENO, line, n + 1);
}
