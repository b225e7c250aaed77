/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conformance-plugin: runs one eBPF program and prints r0, with the interface of bpf_conformance's plugins. With
 * --batch it runs many programs and starts the device only once.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/conformance/raw/raw.h"

static const char usage[] =
	"usage: conformance-plugin [MEM] [--backend host|opencl|cuda|hip] [--device NAME] [--target NAME]\n"
	"                          [--no-verify] [--program HEX | --batch]\n"
	"Runs the eBPF program that standard input (or --program) holds as a line of hex bytes, r1 being the\n"
	"address of MEM (hex bytes) and r2 its length, and prints r0 in hex. --batch reads lines of\n"
	"id<TAB>MEM or -<TAB>program and prints id<TAB>r0, or id<TAB>ERROR message.\n"
	"--dump prints what the device would be given, --device being its architecture (gfx90a); of a batch,\n"
	"64 programs at most.\n"
	"--no-verify runs the program unproven, every access checked. --target chooses what the device is\n"
	"given (clc, spirv) where it takes several.\n";

struct arguments {
	struct conformance_opts opts;
	const char *mem, *program;
	bool batch;
};

static int parse_arguments(int argc, char **argv, struct arguments *args)
{
	static const struct option options[] = {
		{ "backend", required_argument, NULL, 'b' }, { "device", required_argument, NULL, 'd' },
		{ "target", required_argument, NULL, 't' },  { "no-verify", no_argument, NULL, 'n' },
		{ "program", required_argument, NULL, 'p' }, { "batch", no_argument, NULL, 'B' },
		{ "dump", no_argument, NULL, 'D' },
		{ "help", no_argument, NULL, 'h' },          { 0 },
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case 'b': args->opts.backend = optarg; break;
		case 'd': args->opts.device = optarg; break;
		case 't': args->opts.target = optarg; break;
		case 'n': args->opts.verify = false; break;
		case 'p': args->program = optarg; break;
		case 'D': args->opts.dump = true; break;
		case 'B': args->batch = true; break;
		case 'h': fputs(usage, stdout); exit(0);
		default: return -1;
		}
	}
	if (optind < argc)
		args->mem = argv[optind++];
	return optind < argc || (args->batch && (args->program || args->mem)) ? -1 : 0;
}

static int run_one(const struct arguments *args)
{
	struct conformance_case c = { 0 };
	char *line = NULL;
	size_t room = 0;
	int failed;

	if (!args->program && getline(&line, &room, stdin) < 0) {
		fputs("conformance-plugin: standard input holds no program\n", stderr);
		free(line);
		return 1;
	}
	conformance_parse(&c, args->mem ? args->mem : "", args->program ? args->program : line);
	conformance_run(&c, 1, &args->opts);
	failed = args->opts.dump ? c.error[0] != '\0' : !c.done;
	if (args->opts.dump && !failed)
		;
	else if (failed)
		fprintf(stderr, "conformance-plugin: %s\n", c.error);
	else
		printf("%llx\n", (unsigned long long)c.r0);
	conformance_finish(&c);
	free(line);
	return failed;
}

static void parse_line(struct conformance_case *c, char *line)
{
	char *mem, *program;

	line[strcspn(line, "\r\n")] = '\0';
	mem = strchr(line, '\t');
	program = mem ? strchr(mem + 1, '\t') : NULL;
	if (program) {
		*mem++ = '\0';
		*program++ = '\0';
		conformance_parse(c, strcmp(mem, "-") ? mem : "", program);
	} else {
		line[strcspn(line, "\t")] = '\0';
		conformance_fail(c, "a line must be id, MEM or -, program, with tabs between");
	}
	c->id = strdup(line);
}

static int run_batch(const struct arguments *args)
{
	struct conformance_case *cases = NULL, *more;
	size_t n = 0, room = 0;
	char *line = NULL;

	while (getline(&line, &room, stdin) > 0) {
		if (line[0] == '\n')
			continue;
		more = realloc(cases, (n + 1) * sizeof(*cases));
		if (!more)
			break;
		cases = more;
		memset(&cases[n], 0, sizeof(*cases));
		parse_line(&cases[n++], line);
	}
	conformance_run(cases, n, &args->opts);
	for (size_t i = 0; i < n; i++) {
		if (args->opts.dump && !cases[i].error[0])
			;
		else if (cases[i].done)
			printf("%s\t%llx\n", cases[i].id, (unsigned long long)cases[i].r0);
		else
			printf("%s\tERROR %s\n", cases[i].id, cases[i].error);
		conformance_finish(&cases[i]);
	}
	free(cases);
	free(line);
	return 0;
}

int main(int argc, char **argv)
{
	struct arguments args = { .opts = { .backend = "host", .verify = true } };

	if (parse_arguments(argc, argv, &args) < 0) {
		fputs(usage, stderr);
		return 2;
	}
	return args.batch ? run_batch(&args) : run_one(&args);
}
