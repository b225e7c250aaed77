/* SPDX-License-Identifier: Apache-2.0 */
/* Prints help from the tables of commands and options. No line is wider than 80 columns. */
#include "cli/cli.h"

#include <string.h>

#define NAME_COLUMNS 21 /* width of the column with the names of options */

static void print_usage_line(const struct cli_command *c, FILE *out)
{
	fprintf(out, "gpubpf %s%s%s%s%s%s", c->object, c->verb ? " " : "", c->verb ? c->verb : "",
		strstr(c->arguments, "OPTIONS") ? "" : " [OPTIONS]", c->arguments[0] ? " " : "", c->arguments);
}

static void list_commands(const char *object, FILE *out)
{
	for (size_t i = 0; i < cli_ncommands; i++) {
		const struct cli_command *c = &cli_commands[i];
		char name[32];

		if (object && strcmp(object, c->object))
			continue;
		snprintf(name, sizeof(name), "%s%s%s", c->object, c->verb ? " " : "", c->verb ? c->verb : "");
		fprintf(out, "  %-16s %s\n", name, c->summary);
	}
}

void cli_help_all(FILE *out)
{
	fputs("Usage: gpubpf OBJECT [COMMAND] [OPTIONS]\n"
	      "       gpubpf -e PROGRAM -- CMD [ARG]...\n"
	      "Run verified eBPF probes inside the GPU kernels of unmodified applications.\n\n",
	      out);
	list_commands(NULL, out);
	fputs("\nA first probe:\n"
	      "  gpubpf kernel list -- ./app                  which GPU kernels does it run?\n"
	      "  gpubpf run -p kerneltime -- ./app            how long does each kernel take?\n"
	      "  gpubpf probes                                which other probes are ready?\n"
	      "  gpubpf -e 'gpu/exit/* { @[kernel] = hist(duration); }' -- ./app\n"
	      "                                               bpftrace syntax: gpubpf-lang(7)\n"
	      "  gpubpf run -o probe.bpf.o -- ./app           run it with a BPF object\n"
	      "  gpubpf prog verify -v probe.bpf.o            is the object safe, and why?\n"
	      "gpubpf help OBJECT COMMAND explains a command; so does its man page.\n",
	      out);
}

void cli_help_object(const char *object, FILE *out)
{
	fprintf(out, "Usage: gpubpf %s COMMAND [OPTIONS]\n\n", object);
	list_commands(object, out);
	fprintf(out, "\ngpubpf help %s COMMAND explains a command.\n", object);
}

/* Print the option's help text. If the option's values are a table, they replace %s. */
static void print_help(enum cli_option option, FILE *out)
{
	const char *help = cli_options[option].help, *at = strstr(help, "%s"), *value;

	fprintf(out, "%.*s", at ? (int)(at - help) : (int)strlen(help), help);
	for (size_t i = 0; at && (value = cli_value_at(option, i)); i++)
		fprintf(out, "%s%s", i ? ", " : "", value);
	fprintf(out, "%s\n", at ? at + 2 : "");
}

/* Print examples of a command, from cli/examples.def. */
static void print_examples(const struct cli_command *c, FILE *out)
{
	static const struct {
		const char *object, *verb, *text;
	} examples[] = {
#define CLI_EXAMPLE(object, verb, text) { object, verb, text },
#include "cli/examples.def"
	};

	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		if (!strcmp(examples[i].object, c->object) &&
		    (c->verb ? examples[i].verb && !strcmp(examples[i].verb, c->verb) : !examples[i].verb))
			fprintf(out, "\n%s\n", examples[i].text);
}

void cli_help_command(const struct cli_command *c, FILE *out)
{
	fputs("Usage: ", out);
	print_usage_line(c, out);
	fprintf(out, "\n%s; see %s.\n\n", c->summary, c->page);
	for (int i = 0; i < OPT_COUNT; i++) {
		const struct cli_option_row *o = &cli_options[i];
		char name[40];

		if (!(c->options >> i & 1))
			continue;
		snprintf(name, sizeof(name), "--%s%s%s", o->long_name, o->argument ? " " : "",
			 o->argument ? o->argument : "");
		fprintf(out, "  %c%c%s %-*s", o->short_name ? '-' : ' ', o->short_name ? o->short_name : ' ',
			o->short_name ? "," : " ", NAME_COLUMNS, name);
		/* the name is too long: continue on the next line, in the column of the help text */
		if (strlen(name) > NAME_COLUMNS)
			fprintf(out, "\n%*s", NAME_COLUMNS + 6, "");
		fputc(' ', out);
		print_help(i, out);
	}
	print_examples(c, out);
}

int cli_commands_with_verb(const char *verb, char *buf, size_t size)
{
	int n = 0;

	buf[0] = 0;
	for (size_t i = 0; i < cli_ncommands; i++) {
		const struct cli_command *c = &cli_commands[i];
		size_t used = strlen(buf);

		if (c->verb && !strcmp(c->verb, verb))
			snprintf(buf + used, size - used, "%s%s %s", n++ ? ", " : "", c->object, c->verb);
	}
	return n;
}

static void print_option(enum cli_option option, FILE *out)
{
	const struct cli_option_row *o = &cli_options[option];
	const char *value;

	fprintf(out, "option --%s -%c %s\n", o->long_name, o->short_name ? o->short_name : '-',
		o->argument ? o->argument : "-");
	for (size_t i = 0; (value = cli_value_at(option, i)); i++)
		fprintf(out, "value %s\n", value);
}

/*
 * Prints the tables for the shell completions and tests/cli/manual.sh. Each command has a line with object, verb or -,
 * and man page. Below it, each option of the command has a line. If the option's values are the rows of a table, each
 * value has a line too.
 */
void cli_help_tables(FILE *out)
{
	for (size_t i = 0; i < cli_ncommands; i++) {
		const struct cli_command *c = &cli_commands[i];

		fprintf(out, "command %s %s %s\n", c->object, c->verb ? c->verb : "-", c->page);
		for (int o = 0; o < OPT_COUNT; o++)
			if (c->options >> o & 1)
				print_option(o, out);
	}
}

int gpubpf_cmd_help(const struct cli_args *args)
{
	const char *object = args->nrest > 0 ? args->rest[0] : NULL;
	const char *verb = args->nrest > 1 ? args->rest[1] : NULL;
	char near[160] = "";
	bool found = false;

	if (!object) {
		cli_help_all(stdout);
		return CLI_OK;
	}
	if (!strcmp(object, "tables") && !verb) {
		cli_help_tables(stdout);
		return CLI_OK;
	}
	for (size_t i = 0; i < cli_ncommands; i++) {
		const struct cli_command *c = &cli_commands[i];

		if (strcmp(c->object, object))
			continue;
		found = true;
		if (c->verb ? verb && !strcmp(c->verb, verb) : !verb) {
			cli_help_command(c, stdout);
			return CLI_OK;
		}
	}
	if (found && !verb) {
		cli_help_object(object, stdout);
		return CLI_OK;
	}
	if (!found && !verb)
		cli_commands_with_verb(object, near, sizeof(near));
	cli_error("help %s%s%s: there is no such command%s%s%s; gpubpf help lists them", object, verb ? " " : "",
		  verb ? verb : "", near[0] ? ", did you mean " : "", near, near[0] ? "?" : "");
	return CLI_USAGE;
}
