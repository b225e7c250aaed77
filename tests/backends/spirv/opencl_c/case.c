/* SPDX-License-Identifier: Apache-2.0 */
#include "case.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *folder, const char *name, struct gpubpf_pool *pool, size_t *size)
{
	char path[4096], *text;
	FILE *in;
	long n;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	in = fopen(path, "rb");
	if (!in)
		return NULL;
	fseek(in, 0, SEEK_END);
	n = ftell(in);
	rewind(in);
	text = gpubpf_pool_alloc(pool, n + 1, 1);
	*size = text ? fread(text, 1, n, in) : 0;
	fclose(in);
	return text;
}

static uint32_t read_sizes(const char *word, size_t sizes[3])
{
	uint32_t n = 0;
	char *end;

	for (; n < 3 && *word; word = *end ? end + 1 : end)
		sizes[n++] = strtoul(word, &end, 0);
	return n;
}

static int read_run(struct case_run *run, char *line)
{
	char *save, *word = strtok_r(line, " ", &save);

	if (!word)
		return -EINVAL;
	snprintf(run->kernel, sizeof(run->kernel), "%s", word);
	word = strtok_r(NULL, " ", &save);
	if (!word)
		return -EINVAL;
	run->dim = read_sizes(word, run->global);
	word = strtok_r(NULL, " ", &save);
	if (!word)
		return -EINVAL;
	run->has_local = strcmp(word, "-") != 0;
	read_sizes(word, run->local);
	while ((word = strtok_r(NULL, " ", &save)) && run->nargs < MAX_ARGS)
		run->arg[run->nargs++] = word;
	return 0;
}

static int read_check(struct case_check *check, const char *key, char *line)
{
	char *blank = strchr(line, ' ');

	snprintf(check->what, sizeof(check->what), "%s", key);
	snprintf(check->kernel, sizeof(check->kernel), "%.*s", blank ? (int)(blank - line) : 127, line);
	check->rest = blank ? blank + 1 : "";
	return 0;
}

static int read_line(struct case_file *c, const char *folder, struct gpubpf_pool *pool, char *key)
{
	char *value = strstr(key, ": ");
	size_t size;

	if (!value)
		return -EINVAL;
	*value = 0;
	value += 2;
	if (strcmp(key, "options") == 0) {
		c->options = value;
		return 0;
	}
	if (strcmp(key, "header") == 0) {
		c->header = value;
		c->header_text = read_file(folder, value, pool, &size);
		return c->header_text ? 0 : -ENOENT;
	}
	if (strcmp(key, "run") == 0)
		return c->nruns < MAX_LINES ? read_run(&c->run[c->nruns++], value) : -E2BIG;
	return c->nchecks < MAX_LINES ? read_check(&c->check[c->nchecks++], key, value) : -E2BIG;
}

int case_load(const char *folder, const char *name, struct gpubpf_pool *pool, struct case_file *c, const char **why)
{
	char *copy, *save, *line;

	memset(c, 0, sizeof(*c));
	c->options = "";
	c->text = read_file(folder, name, pool, &c->size);
	copy = c->text ? gpubpf_pool_strndup(pool, c->text, c->size) : NULL;
	*why = "cannot read the file";
	if (!copy)
		return -ENOENT;
	for (line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		int err = strncmp(line, "//@ ", 4) == 0 ? read_line(c, folder, pool, line + 4) : 0;

		*why = line;
		if (err < 0)
			return err;
	}
	return 0;
}
