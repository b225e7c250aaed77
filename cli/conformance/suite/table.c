/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"

enum column { NAME, VERSION, GROUP, COUNT, FLAGS, RESULT, NOTHING, PROGRAM, MEMORY, COLUMNS };

static int add_line(struct suite *s, char *line, const char *glob)
{
	char *column[COLUMNS];
	struct suite_case *c;
	int n = 0, err;

	while (n < COLUMNS && (column[n] = strsep(&line, "\t")))
		n++;
	if (n < MEMORY || !column[RESULT][0] || !column[PROGRAM][0])
		return -EBADMSG;
	err = suite_add_case(s, column[GROUP], column[NAME], glob, &c);
	if (!c)
		return err;
	c->result = strdup(column[RESULT]);
	c->program = strdup(column[PROGRAM]);
	c->random = !strcmp(column[GROUP], "random");
	c->launch = strtoull(column[FLAGS], NULL, 0);
	c->may_be_refused = !c->random;
	c->mem = strdup(n > MEMORY ? column[MEMORY] : "");
	return c->result && c->program && c->mem ? err : -ENOMEM;
}

int suite_read_table(struct suite *s, const char *path, const char *glob, char *why, size_t size)
{
	int err = suite_add_object(s, path, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	char *text, *rest, *line;
	uint32_t number = 0;

	if (err < 0) {
		snprintf(why, size, "%s: %s", path, strerror(-err));
		return err;
	}
	rest = text = strndup((char *)s->objects[s->nobjects - 1].bytes, s->objects[s->nobjects - 1].size);
	while (!err && rest && (line = strsep(&rest, "\n"))) {
		number++;
		line[strcspn(line, "\r")] = '\0';
		if (line[0] && line[0] != '#')
			err = add_line(s, line, glob);
	}
	if (err < 0)
		snprintf(why, size,
			 "%s:%u: a line must have these fields, separated by tabs: name, version, group, instructions, "
			 "flags, r0, -, program, memory",
			 path, number);
	free(text);
	suite_sort(s);
	return err;
}
