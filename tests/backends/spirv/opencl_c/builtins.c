/* SPDX-License-Identifier: Apache-2.0 */
/*
 * builtins OPENCL-C.H: checks each OpenCL C function that clang's header declares with a pointer or an image. The
 * reader must see the bytes that the function accesses, or refuse the function with a reason. Only the functions in the
 * list below do neither, because they do not access that memory. If a row of the reader's table refuses a function, the
 * reason must be the row's.
 */
#include <stdio.h>
#include <string.h>

#include "backends/spirv/opencl_c/event/event.h"
#include "tests/tap.h"

enum { SEEN, REFUSED, NOTHING, NWAYS };

static const char *const nothing[] = { "wait_group_events", "get_*", "is_valid_*", "retain_event", "release_event", "set_user_event_status",
				       "work_group_barrier", "barrier" };

static bool may_be_nothing(const char *name)
{
	for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++) {
		size_t n = strlen(nothing[i]);

		if (nothing[i][n - 1] == '*' ? !strncmp(name, nothing[i], n - 1) : !strcmp(name, nothing[i]))
			return true;
	}
	return false;
}

/* Parses the parameters of a declaration into arg; only images and pointers matter. */
static uint32_t read_arguments(char *params, struct cl_argument *arg)
{
	uint32_t n = 0;

	for (char *p = strtok(params, ","); p && n < 16; p = strtok(NULL, ",")) {
		memset(&arg[n], 0, sizeof(arg[n]));
		arg[n].image = strstr(p, "image");
		arg[n].bytes = 4;
		arg[n].count = 1;
		arg[n++].spaces = strchr(p, '*') ? GPUBPF_IN(GLOBAL) : 0;
	}
	return n;
}

static int way_of(const char *name, const struct cl_argument *arg, uint32_t nargs, struct cl_event *e)
{
	memset(e, 0, sizeof(*e));
	clread_builtin(name, arg, nargs, e);
	return e->unseen ? REFUSED : e->naccesses ? SEEN : NOTHING;
}

/* Returns the name of the function if the line declares one with a pointer or an image, or NULL. */
static char *declared(char *line, char **params)
{
	char *open = strchr(line, '('), *end = strchr(line, ')'), *name = open;

	if (!open || !end || line[0] == '#' || strstr(line, "//") == line || !strpbrk(line, ";"))
		return NULL;
	*open = *end = 0;
	*params = open + 1;
	if (!strchr(*params, '*') && !strstr(*params, "image"))
		return NULL;
	while (name > line && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", name[-1]))
		name--;
	return *name ? name : NULL;
}

static void look_through(FILE *in)
{
	unsigned ways[NWAYS] = { 0 };
	char line[1024], silent[4096] = "", *name, *params;
	struct cl_argument arg[16];
	struct cl_event e;

	while (fgets(line, sizeof(line), in)) {
		uint32_t nargs;
		int way;

		name = declared(line, &params);
		if (!name)
			continue;
		nargs = read_arguments(params, arg);
		way = way_of(name, arg, nargs, &e);
		ways[way]++;
		if (way == NOTHING && !may_be_nothing(name) && strlen(silent) + strlen(name) + 2 < sizeof(silent))
			strcat(strcat(silent, name), " ");
	}
	ok(ways[SEEN] > 1000 && ways[REFUSED] > 500, "%u declarations are seen, %u refused, %u touch nothing", ways[SEEN], ways[REFUSED],
	   ways[NOTHING]);
	ok(!silent[0], "none is left out: %s", silent);
}

static void refuses(const char *name, uint32_t pointers, const char *why, uint32_t spaces)
{
	struct cl_argument arg[4] = { 0 };
	struct cl_event e;
	int way;

	for (uint32_t i = 0; i < pointers; i++)
		arg[i] = (struct cl_argument){ .spaces = GPUBPF_IN(SHARED), .bytes = 4, .count = 1 };
	way = way_of(name, arg, 4, &e);
	ok(way == REFUSED && !strcmp(e.unseen, why) && e.access[0].spaces == (spaces | (pointers ? GPUBPF_IN(SHARED) : 0)),
	   "%s: %s", name, e.unseen ? e.unseen : "");
}

int main(int argc, char **argv)
{
	FILE *in = argc > 1 ? fopen(argv[1], "r") : NULL;

	if (!in)
		return 2;
	look_through(in);
	fclose(in);
	refuses("async_work_group_strided_copy", 2, "a strided copy", 0);
	refuses("async_work_group_copy_2D2D", 2, "a multidimensional copy", 0);
	refuses("atomic_compare_exchange_strong_explicit", 2, "a compare-exchange, which accesses two objects", 0);
	refuses("atomic_flag_test_and_set", 1, "an atomic flag", 0);
	refuses("intel_sub_group_block_read4", 1, "a sub-group block access", 0);
	refuses("read_pipe", 1, "a pipe", GPUBPF_IN(GLOBAL));
	refuses("write_pipe", 0, "a pipe", GPUBPF_IN(GLOBAL));
	refuses("enqueue_kernel", 0, "a device queue", GPUBPF_IN(GLOBAL));
	refuses("what_nobody_knows", 1, "a pointer passed to an unknown function", 0);
	return done();
}
