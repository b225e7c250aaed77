/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles a program text: parses, checks and generates code. */
#include "lang.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t power_of_two(uint64_t n)
{
	uint64_t p = 1024;

	while (p < n && p < 1u << 28)
		p *= 2;
	return p;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int check_text(struct lang *l)
{
	const char *nul = memchr(l->text, 0, l->size);

	if (l->size > LANG_TEXT_SIZE)
		return lang_fail(l, 0, "shorten it", "the program has %zu bytes; the maximum is %u", l->size,
				 LANG_TEXT_SIZE);
	return nul ? lang_fail(l, nul - l->text, "use a text file", "the program contains a zero byte") : 0;
}

int lang_compile(const struct lang_opts *opts, struct lang **out)
{
	struct lang *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	l->name = opts->name;
	l->text = opts->text;
	l->size = l->total = opts->size;
	l->reads_files = opts->reads_files;
	l->params = opts->params;
	l->nparams = opts->nparams;
	l->path = opts->path;
	l->threads = power_of_two(opts->threads ? opts->threads : 1 << 20);
	l->start_ns = now_ns();
	*out = l;
	err = check_text(l);
	if (!err)
		err = lang_parse(l);
	if (!err)
		err = lang_check(l);
	return err < 0 ? err : lang_generate(l);
}

const void *lang_object(const struct lang *l, size_t *size)
{
	*size = l->object_size;
	return l->object;
}

const struct lang_warning *lang_warnings(const struct lang *l)
{
	return l->warnings;
}

void lang_destroy(struct lang *l)
{
	if (!l)
		return;
	lang_btf_free(l);
	lang_free_memory(l);
	free(l->object);
	free(l->joined);
	free(l);
}
