/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf session attach: attaches programs in a running session. New programs come from an object, a ready probe or a
 * program text. Each of them joins the session by a separate query.
 */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/session/session.h"
#include "core/wire/msg.h"

#define NAME_LEN 200 /* maximum bytes of a text that names its object in lists */

struct attaching {
	const struct cli_args *args;
	char session[512]; /* path of the session's socket */
};

/* Append the programs of the command line, PROG or PROG=PATTERN. Returns an exit status. */
static int put_programs(const struct cli_args *args, struct gpubpf_writer *w)
{
	gpubpf_put_u32(w, args->nrest);
	for (int i = 0; i < args->nrest; i++) {
		const char *pattern = strchr(args->rest[i], '=');
		char prog[64];

		if (pattern && cli_attach_of(args, args->rest[i], prog, sizeof(prog), &pattern) != CLI_OK)
			return CLI_USAGE;
		gpubpf_put_str(w, pattern ? prog : args->rest[i]);
		gpubpf_put_str(w, pattern ? pattern : "");
	}
	return CLI_OK;
}

/*
 * Attach the programs of one object. `name` is its absolute path. If fd >= 0, fd contains the object, and `name` is
 * its name. If `name` is "", attach programs of the session's objects. Only the last query prints the links.
 */
static int attach_one(const struct attaching *a, const char *name, int fd, bool last)
{
	struct gpubpf_writer w = { 0 };
	FILE *out = last ? stdout : fopen("/dev/null", "w");
	int status;

	gpubpf_put_str(&w, name);
	status = put_programs(a->args, &w);
	if (status == CLI_OK && out)
		status = cli_session_query_with(a->args, a->session, GPUBPF_QUERY_ATTACH, cli_has(a->args, OPT_JSON),
						&w, fd, out);
	else
		gpubpf_writer_finish(&w);
	if (out && !last)
		fclose(out);
	return out ? status : CLI_FAILED;
}

/* The session has another working directory, so it gets an absolute path. */
static int attach_file(const struct attaching *a, const char *path, bool last)
{
	char whole[PATH_MAX];

	if (realpath(path, whole))
		return attach_one(a, whole, -1, last);
	cli_error("%s: %s", path, strerror(errno));
	return CLI_FAILED;
}

static int attach_text(const struct attaching *a, const struct cli_program *program, bool last)
{
	char name[NAME_LEN + 4];
	size_t size;
	const void *object = cli_program_object(program, &size);
	int fd = object ? gpubpf_memfd_image("gpubpf-object", object, size) : -1, status;

	if (!object)
		return CLI_FAILED;
	if (fd < 0) {
		cli_error("session attach: no memory file for the object: %s", strerror(-fd));
		return CLI_FAILED;
	}
	if (cli_has(a->args, OPT_EXPR))
		snprintf(name, sizeof(name), "-e %.*s", NAME_LEN, cli_str(a->args, OPT_EXPR, ""));
	else
		snprintf(name, sizeof(name), "%.*s", NAME_LEN, cli_program_name(program));
	for (char *c = name; *c; c++)
		*c = strchr("\n\t./", *c) ? ' ' : *c;
	status = attach_one(a, name, fd, last);
	close(fd);
	return status;
}

/* Attach the objects of --object, then the ready probes, then the text. The first failure ends the command. */
static int attach_all(const struct attaching *a, char **probes, const struct cli_program *program)
{
	const struct cli_values *objects = &a->args->option[OPT_OBJECT];
	uint32_t n = program != NULL, nprobes = 0;
	int status = CLI_OK;

	while (probes[nprobes])
		nprobes++;
	for (uint32_t i = 0; i < objects->n; i++)
		n += !cli_is_script(objects->value[i]);
	n += nprobes;
	if (n > 1 && a->args->nrest) {
		cli_error("session attach: %s: several objects are passed, so the program's object is not known; run the "
			  "command once per object",
			  a->args->rest[0]);
		return CLI_USAGE;
	}
	if (!n)
		return attach_one(a, "", -1, true);
	for (uint32_t i = 0; i < objects->n && status == CLI_OK; i++)
		status = cli_is_script(objects->value[i]) ? CLI_OK : attach_file(a, objects->value[i], !--n);
	for (uint32_t i = 0; i < nprobes && status == CLI_OK; i++)
		status = attach_file(a, probes[i], !--n);
	return status == CLI_OK && program ? attach_text(a, program, true) : status;
}

static void free_paths(char **paths)
{
	for (char **path = paths; path && *path; path++)
		free(*path);
	free(paths);
}

int gpubpf_cmd_session_attach(const struct cli_args *args)
{
	struct cli_program *program = NULL;
	struct attaching a = { .args = args };
	struct cli_args own = *args;
	char **probes = NULL;
	int status;

	if (!args->nrest && !cli_has(args, OPT_OBJECT) && !cli_has(args, OPT_EXPR) && !cli_has(args, OPT_READY)) {
		cli_error("session attach: no BPF program; use gpubpf session attach PROG=PATTERN, -o FILE, -e PROGRAM or "
			  "--probe NAME");
		return CLI_USAGE;
	}
	own.option[OPT_PROBE] = args->option[OPT_READY]; /* cli_probe_objects() reads the names from OPT_PROBE */
	status = cli_probe_objects(&own, NULL, &probes);
	if (status == CLI_OK)
		status = cli_program_open(&program, args);
	status = status == CLI_RUN_FAILED ? CLI_FAILED : status;
	if (status == CLI_OK)
		status = cli_session_find(args, a.session, sizeof(a.session));
	if (status == CLI_OK)
		status = attach_all(&a, probes, program);
	cli_program_close(program);
	free_paths(probes);
	return status;
}
