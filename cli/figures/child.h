/* SPDX-License-Identifier: Apache-2.0 */
/* Starts an application for `top` and `export`, as `gpubpf run` in another process. That process has the session. */
#ifndef GPUBPF_CLI_FIGURES_CHILD_H
#define GPUBPF_CLI_FIGURES_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct cli_args;

enum figures_output {
	FIGURES_OUTPUT_SHARED, /* the application has the standard streams and the signals of the terminal */
	FIGURES_OUTPUT_ERROR,  /* its output goes to standard error, because standard output has the figures */
	FIGURES_OUTPUT_FILE,   /* its output goes to a file, because the terminal has a screen */
};

struct figures_child {
	pid_t pid; /* 0: none */
	int status;
	bool ended;
	char output[64]; /* path of the file with the output, or "" */
};

/*
 * Start the application of args->rest with the ready probes `probes` (names separated by commas), and the options --probe,
 * --backend and --sample of the command line. Wait until its session exists, and store the path of its socket. Except with
 * FIGURES_OUTPUT_SHARED, the application has a separate process group, so Ctrl-C does not reach it. Returns an exit
 * status.
 */
int figures_child_start(struct figures_child *c, const struct cli_args *args, const char *probes,
			enum figures_output output, char *path, size_t size);
/* Returns true if the application has ended. */
bool figures_child_has_ended(struct figures_child *c);
/*
 * Print the output of an application that has ended. If it runs on, print a note. If has_ended is set, the session has ended,
 * so the function first waits for the application. Returns gpubpf's exit status: that of the application, or CLI_OK if it runs on.
 */
int figures_child_finish(struct figures_child *c, const struct cli_args *args, bool has_ended);

#endif
