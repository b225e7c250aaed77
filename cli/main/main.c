/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf: finds the command of the command line, parses its options and runs it. */
#include "cli/cli.h"

#include <errno.h>
#include <string.h>

#define OPT(id) | ((unsigned __int128)1 << OPT_##id)

const struct cli_command cli_commands[] = {
#define GPUBPF_COMMAND(function, object, verb, arguments, page, options, summary) \
	{ object, verb, arguments, page, 0 options, summary, gpubpf_cmd_##function },
#include "cli/commands.def"
};
const size_t cli_ncommands = sizeof(cli_commands) / sizeof(cli_commands[0]);

static bool is_object(const char *name)
{
	for (size_t i = 0; i < cli_ncommands; i++)
		if (!strcmp(cli_commands[i].object, name))
			return true;
	return false;
}

/* Return the synonym of a verb: bpftool accepts both show and list. */
static const char *find_synonym_verb(const char *verb)
{
	return !strcmp(verb, "list") ? "show" : !strcmp(verb, "show") ? "list" : NULL;
}

static const struct cli_command *find_command(const char *object, const char *verb)
{
	for (size_t i = 0; i < cli_ncommands; i++) {
		const struct cli_command *c = &cli_commands[i];

		if (!strcmp(c->object, object) && (!c->verb || (verb && !strcmp(c->verb, verb))))
			return c;
	}
	return NULL;
}

static int refuse_object(const char *name)
{
	const char *names[64], *near;
	char with_verb[160];
	size_t n = 0;

	if (cli_is_object_file(name)) {
		cli_error("%s is not a command; pass an object with -o, as in gpubpf run -o %s -- CMD", name, name);
		return CLI_USAGE;
	}
	if (strchr(name, '{')) {
		cli_error("%s is a program text; put -e before it", name);
		return CLI_USAGE;
	}
	if (name[0] == '-') {
		cli_error("%s: options follow a command: gpubpf run %s ...; gpubpf help lists the commands", name, name);
		return CLI_USAGE;
	}
	for (size_t i = 0; i < cli_ncommands && n < 64; i++)
		names[n++] = cli_commands[i].object;
	near = cli_commands_with_verb(name, with_verb, sizeof(with_verb)) ? with_verb : cli_nearest(name, names, n);
	cli_error("%s is not a command%s%s%s; gpubpf help lists them", name, near ? ", did you mean " : "",
		  near ? near : "", near ? "?" : "");
	return CLI_USAGE;
}

static int refuse_verb(const char *object, const char *verb)
{
	const char *names[16], *near;
	char list[128] = "";
	size_t n = 0;

	for (size_t i = 0; i < cli_ncommands && n < 16; i++) {
		if (strcmp(cli_commands[i].object, object))
			continue;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", n ? ", " : "", cli_commands[i].verb);
		names[n++] = cli_commands[i].verb;
	}
	near = verb ? cli_nearest(verb, names, n) : NULL;
	if (verb)
		cli_error("there is no command %s %s%s%s%s; the commands of %s are %s", object, verb,
			  near ? ", did you mean " : "", near ? near : "", near ? "?" : "", object, list);
	else
		cli_error("%s needs a command: %s", object, list);
	return CLI_USAGE;
}

static bool is_help(const char *word)
{
	return word && (!strcmp(word, "--help") || !strcmp(word, "-h"));
}

/*
 * Returns true if the command line requests JSON. All arguments are searched, because a parse error may precede the
 * option.
 */
static bool has_json_option(const struct cli_command *command, int argc, char **argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "-j") || !strcmp(argv[i], "--json"))
			return command->options >> OPT_JSON & 1;
	return false;
}

/*
 * Write a JSON document with the usage error. Only commands that run an application write one; others print the error
 * only as text.
 */
static void write_usage(const struct cli_args *args, const struct cli_failure *failure)
{
	struct cli_trace trace = { .args = args, .failed = CLI_USAGE, .failure = *failure };

	clock_gettime(CLOCK_REALTIME, &trace.started);
	cli_failure_document(&trace, NULL, stdout);
}

static int run_command(const struct cli_command *command, int argc, char **argv)
{
	bool json = has_json_option(command, argc, argv);
	struct cli_args args = { 0 };
	struct cli_failure failure = { 0 };
	int status;

	cli_capture_error(&failure);
	status = cli_parse(command, argc, argv, &args);

	if (status == CLI_OK && cli_has(&args, OPT_HELP))
		cli_help_command(command, stdout);
	else if (status == CLI_OK)
		status = command->run(&args);
	cli_capture_error(NULL);
	if (status == CLI_USAGE && json && failure.text[0])
		write_usage(&args, &failure);
	cli_args_finish(&args);
	if (fflush(stdout) == EOF && status == CLI_OK) {
		cli_error("standard output could not be written: %s", strerror(errno));
		status = CLI_FAILED;
	}
	return status;
}

/* Returns true for `gpubpf -e PROGRAM ...` and `gpubpf FILE.bt ...`, the forms of bpftrace users and of #! lines. */
static bool is_program(int argc, char **argv)
{
	if (argv[1][0] != '-')
		return cli_is_script(argv[1]);
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strncmp(argv[i], "-e", 2) || !strncmp(argv[i], "--expr", 6) || cli_is_script(argv[i]))
			return true;
	return false;
}

static int run_program(int argc, char **argv)
{
	return run_command(find_command("run", NULL), argc - 1, argv + 1);
}

/*
 * Execute gpubpf -l, which lists the kernels that an application launches. In bpftrace, -l lists probes that match a
 * pattern. Kernels are known only after an application has launched them, so a pattern is refused.
 */
static int list_kernels(int argc, char **argv)
{
	if (argc && (strchr(argv[0], '*') || !strncmp(argv[0], "gpu/", 4))) {
		cli_error("-l %s: lists the kernels that a program launches, not places; use gpubpf -l -- CMD "
			  "(gpubpf-lang(7) lists the places)",
			  argv[0]);
		return CLI_USAGE;
	}
	if (!argc) {
		cli_error("-l: no application; pass it after --, as in gpubpf -l -- ./app");
		return CLI_USAGE;
	}
	return run_command(find_command("kernel", "list"), argc, argv);
}

static int run_arguments(int argc, char **argv)
{
	const char *object = argc > 1 ? argv[1] : NULL, *verb = argc > 2 ? argv[2] : NULL;
	const struct cli_command *command;

	if (!object) {
		cli_help_all(stderr);
		return CLI_USAGE;
	}
	if (is_help(object)) {
		cli_help_all(stdout);
		return CLI_OK;
	}
	if (!strcmp(object, "--version") || !strcmp(object, "-V"))
		object = "version";
	if (!strcmp(object, "-l"))
		return list_kernels(argc - 2, argv + 2);
	if (is_program(argc, argv))
		return run_program(argc, argv);
	if (!is_object(object))
		return refuse_object(object);
	command = find_command(object, verb);
	if (!command && verb && find_synonym_verb(verb))
		command = find_command(object, find_synonym_verb(verb));
	if (!command && verb && (is_help(verb) || !strcmp(verb, "help"))) {
		cli_help_object(object, stdout);
		return CLI_OK;
	}
	if (!command)
		return refuse_verb(object, verb);
	argc -= command->verb ? 3 : 2;
	argv += command->verb ? 3 : 2;
	return run_command(command, argc, argv);
}

int main(int argc, char **argv)
{
	cli_limits_raise();
	cli_clean_streams();
	return cli_run_with_stack(run_arguments, argc, argv);
}
