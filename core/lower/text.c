/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct text *t, size_t more)
{
	size_t room = t->room ? t->room : 4096;
	char *data;

	if (t->failed)
		return false;
	while (room - t->len <= more)
		room *= 2;
	if (room == t->room)
		return true;
	data = realloc(t->data, room);
	if (!data) {
		t->failed = true;
		return false;
	}
	t->data = data;
	t->room = room;
	return true;
}

void text_append(struct text *t, const char *data, size_t len)
{
	if (!reserve(t, len))
		return;
	memcpy(t->data + t->len, data, len);
	t->len += len;
	t->data[t->len] = '\0';
}

void text_add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !reserve(t, n))
		return;
	va_start(ap, fmt);
	vsnprintf(t->data + t->len, n + 1, fmt, ap);
	va_end(ap);
	t->len += n;
}

void text_finish(struct text *t)
{
	free(t->data);
	*t = (struct text){ 0 };
}
