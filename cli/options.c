/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct cli_option_row cli_options[OPT_COUNT] = {
#define GPUBPF_OPTION(id, short_name, long_name, argument, help) \
	[OPT_##id] = { short_name, long_name, argument, help },
#include "options.def"
};

static void name_of(const struct cli_command *c, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s", c->object, c->verb ? " " : "", c->verb ? c->verb : "");
}

static bool accepts_option(const struct cli_command *c, int option)
{
	return c->options >> option & 1;
}

static int find_long(const struct cli_command *c, const char *name, size_t n)
{
	for (int i = 0; i < OPT_COUNT; i++)
		if (accepts_option(c, i) && strlen(cli_options[i].long_name) == n &&
		    !strncmp(cli_options[i].long_name, name, n))
			return i;
	return -1;
}

static int find_short(const struct cli_command *c, char name)
{
	for (int i = 0; i < OPT_COUNT; i++)
		if (accepts_option(c, i) && cli_options[i].short_name == name)
			return i;
	return -1;
}

static int report_unknown(const struct cli_command *c, const char *word)
{
	const char *names[OPT_COUNT], *near;
	char command[64], option_name[64];
	size_t n = 0;

	for (int i = 0; i < OPT_COUNT; i++)
		if (accepts_option(c, i))
			names[n++] = cli_options[i].long_name;
	name_of(c, command, sizeof(command));
	if (!strcmp(word, "-c") && accepts_option(c, OPT_EXPR)) { /* bpftrace's option for the command to run */
		cli_error("%s: %s has no such option; put the application to run after --", word, command);
		return CLI_USAGE;
	}
	snprintf(option_name, sizeof(option_name), "%.*s", (int)strcspn(word, "="), word + strspn(word, "-"));
	near = !strncmp(word, "--", 2) ? cli_nearest(option_name, names, n) : NULL;
	cli_error("%s: %s has no such option%s%s%s; gpubpf %s --help lists them", word, command,
		  near ? ", did you mean --" : "", near ? near : "", near ? "?" : "", command);
	return CLI_USAGE;
}

static int add_value(struct cli_args *args, int option, const char *value)
{
	struct cli_values *v = &args->option[option];
	const char **grown = realloc(v->value, (v->n + 1) * sizeof(*grown));

	if (!grown) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	v->value = grown;
	v->value[v->n++] = value;
	return CLI_OK;
}

/* Parse the option at argv[*i]. Its value follows "=", or the letter in the same word, or is the next word. */
static int parse_option(struct cli_args *args, int argc, char **argv, int *i)
{
	const char *word = argv[*i], *value = NULL;
	bool is_long = word[1] == '-';
	size_t n = is_long ? strcspn(word + 2, "=") : 1;
	int option = is_long ? find_long(args->command, word + 2, n) : find_short(args->command, word[1]);

	if (option < 0)
		return report_unknown(args->command, word);
	if (is_long ? word[2 + n] == '=' : word[2] != 0)
		value = word + 2 + (is_long ? n + 1 : 0);
	if (!cli_options[option].argument && value && is_long) {
		cli_error("--%s takes no value", cli_options[option].long_name);
		return CLI_USAGE;
	}
	if (!cli_options[option].argument && value) {
		argv[*i]++; /* the rest of the word has further options, as in -vj */
		argv[*i][0] = '-';
		(*i)--;
		value = NULL;
	}
	if (cli_options[option].argument && !value)
		value = *i + 1 < argc && strcmp(argv[*i + 1], "--") ? argv[++*i] : "";
	if (cli_options[option].argument && !value[0] && option != OPT_PARAM) {
		cli_error("--%s needs a value: %s", cli_options[option].long_name, cli_options[option].argument);
		return CLI_USAGE;
	}
	/* --events jsonl FILE selects an output file; otherwise the value is a number */
	if (option == OPT_EVENTS && !strcmp(value, "jsonl") && *i + 1 < argc)
		return add_value(args, OPT_JSONL, argv[++*i]);
	return add_value(args, option, value);
}

/* Returns true if the word is an option. -1 is a negative number, because no option is named by a digit. */
static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] && !isdigit((unsigned char)word[1]) &&
	       !(word[1] == '.' && isdigit((unsigned char)word[2]));
}

/* Returns true if the command runs an application. Then options end at the application's name. */
static bool runs_program(const struct cli_command *c)
{
	return strstr(c->arguments, "CMD") != NULL;
}

/*
 * Accept bpftool's form `map dump name counts` by removing the word `name`. If `key`, `value` or a file follows, `name`
 * is itself the name of a map, and stays.
 */
static void drop_name(const struct cli_command *command, struct cli_args *args)
{
	bool pins = command->verb && !strcmp(command->verb, "pin");

	if (strcmp(command->object, "map") || !strstr(command->arguments, "NAME") || args->nrest < (pins ? 3 : 2) ||
	    strcmp(args->rest[0], "name") || !strcmp(args->rest[1], "key") || !strcmp(args->rest[1], "value"))
		return;
	args->nrest--;
	memmove(args->rest, args->rest + 1, args->nrest * sizeof(*args->rest));
}

int cli_parse(const struct cli_command *command, int argc, char **argv, struct cli_args *args)
{
	bool stop = false;
	int status = CLI_OK;

	args->command = command;
	args->rest = calloc(argc + 1, sizeof(*args->rest));
	if (!args->rest)
		return CLI_FAILED;
	for (int i = 0; i < argc && status == CLI_OK; i++) {
		if (!stop && !strcmp(argv[i], "--")) {
			stop = true;
		} else if (!stop && is_option(argv[i])) {
			status = parse_option(args, argc, argv, &i);
		} else {
			/* a .bt file before the application's name counts as an --object */
			if (!stop && !args->nrest && accepts_option(command, OPT_EXPR) && cli_is_script(argv[i])) {
				status = add_value(args, OPT_OBJECT, argv[i]);
				continue;
			}
			args->rest[args->nrest++] = argv[i];
			stop |= runs_program(command);
		}
	}
	drop_name(command, args);
	if (status == CLI_OK && !command->arguments[0] && args->nrest) {
		char name[64];

		name_of(command, name, sizeof(name));
		cli_error("%s: %s takes no arguments", args->rest[0], name);
		status = CLI_USAGE;
	}
	return status;
}

void cli_args_finish(struct cli_args *args)
{
	for (int i = 0; i < OPT_COUNT; i++)
		free(args->option[i].value);
	free(args->rest);
}

bool cli_has(const struct cli_args *args, enum cli_option option)
{
	return args->option[option].n;
}

const char *cli_str(const struct cli_args *args, enum cli_option option, const char *otherwise)
{
	const struct cli_values *v = &args->option[option];

	return v->n ? v->value[v->n - 1] : otherwise;
}

bool cli_u64(const struct cli_args *args, enum cli_option option, uint64_t least, uint64_t *value)
{
	const char *text = cli_str(args, option, NULL);
	char *end;

	if (!text)
		return true;
	errno = 0;
	*value = strtoull(text, &end, 0);
	if (isdigit((unsigned char)text[0]) && !*end && !errno && *value >= least)
		return true;
	cli_error("--%s %s: must be a whole number%s", cli_options[option].long_name, text, least ? " above 0" : "");
	return false;
}

bool cli_ms(const struct cli_args *args, enum cli_option option, uint64_t *ms)
{
	char name[64];

	snprintf(name, sizeof(name), "--%s", cli_options[option].long_name);
	return cli_ms_of(name, cli_str(args, option, NULL), ms);
}

bool cli_ms_of(const char *name, const char *text, uint64_t *ms)
{
	double seconds;
	char *end;

	if (!text)
		return true;
	seconds = strtod(text, &end);
	if (end == text || *end || !(seconds > 0 && seconds <= 1000000)) {
		cli_error("%s %s: must be a number of seconds, e.g. 10 or 0.5", name, text);
		return false;
	}
	*ms = seconds * 1000 < 1 ? 1 : (uint64_t)(seconds * 1000);
	return true;
}
