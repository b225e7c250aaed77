/* SPDX-License-Identifier: Apache-2.0 */
/* A text buffer that grows. If an allocation fails, `failed` is set; the caller checks it once, at the end. */
#ifndef GPUBPF_LOWER_TEXT_H
#define GPUBPF_LOWER_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
	char *data;
	size_t len, room;
	bool failed;
};

void text_add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_append(struct text *t, const char *data, size_t len);
void text_finish(struct text *t);

#endif
