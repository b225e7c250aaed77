/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf top: shows the kernels of a running session, or of an application that it starts, by their time. */
#include "cli/top/top.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_MS 1000
#define START_STEP_MS 100 /* time between readings while the first launch is awaited */
#define PLAIN_WIDTH 120 /* columns of a table that is not for a terminal */
#define PROBES "kerneltime"

/* Take a reading, and compute the rates since the last one. */
static int read_session(struct top *t)
{
	struct figures now;
	char why[4096];
	int err = figures_read(t->path, &now, why, sizeof(why));

	if (err == -EINTR && t->is.document)
		return 0; /* a signal, such as a new size of the screen, ended the wait; the next update reads again */
	if (err) {
		figures_finish(&now);
		snprintf(t->note, sizeof(t->note), "%.200s", why);
		t->has_ended = figures_has_ended(err);
		return err;
	}
	figures_finish(&t->was);
	t->has_was = t->is.document;
	t->was = t->is;
	t->is = now;
	t->note[0] = 0;
	figures_rates_finish(&t->rates);
	return figures_rates(t->has_was ? &t->was : NULL, &t->is, &t->rates);
}

/* Returns true if a launch was timed, or was probed by a session without times. */
static bool is_timed(const struct figures *f)
{
	for (uint32_t i = 0; i < f->nkernels; i++)
		if (f->kernel[i].timed || (!f->has_times && f->kernel[i].probed))
			return true;
	return false;
}

/* -- without a screen -- */

static void print_line(void *ctx, enum top_style style, const char *text)
{
	fprintf(ctx, "%s\n", text);
}

static int get_width(void)
{
	struct winsize size = { 0 };

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col)
		return PLAIN_WIDTH;
	return size.ws_col;
}

static int print_state(struct top *t)
{
	if (t->json) {
		top_print_json(t, stdout);
		return ferror(stdout) || fflush(stdout) ? -EIO : 0;
	}
	if (top_make_rows(t) < 0)
		return -ENOMEM;
	if (t->printed++)
		printf("\n");
	top_put_page(t, get_width(), 0, print_line, stdout);
	return ferror(stdout) || fflush(stdout) ? -EIO : 0;
}

static void wait_ms(uint64_t ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* --once waits until the application that top started has timed a launch, because its twins must be built first. */
static int wait_for_times(struct top *t)
{
	int err = 0;

	while (!err && !top_signal && t->once && t->child.pid && !is_timed(&t->is)) {
		wait_ms(t->delay_ms < START_STEP_MS ? t->delay_ms : START_STEP_MS);
		err = read_session(t);
	}
	return err;
}

/* Without a second reading, the figures count from the start of the session. */
static void count_from_start(struct top *t)
{
	t->note[0] = 0;
	figures_rates_finish(&t->rates);
	figures_rates(NULL, &t->is, &t->rates);
}

/* Returns true if the application that top started launched no kernel between the last two readings. */
static bool is_without_launches(const struct top *t)
{
	return t->child.pid && t->rates.launches_per_s <= 0;
}

/*
 * Print tables until the session ends. A table needs two readings. If the session or the launches of the application end
 * before the second one, the first table counts from the start of the session.
 */
static int print_tables(struct top *t)
{
	uint64_t round = 0;
	int err;

	if (t->child.pid)
		top_catch_signals(); /* Ctrl-C does not reach the application, which then runs on without probes */
	err = read_session(t);
	if (t->has_ended && t->child.pid)
		return CLI_OK; /* the application has ended, or could not be started */
	if (err) {
		cli_error("%s: %s", t->path, t->note);
		return CLI_FAILED;
	}
	err = wait_for_times(t);
	if (err)
		return print_state(t) < 0 ? CLI_FAILED : CLI_OK;
	while (!err && !top_signal && (!t->rounds || round < t->rounds)) {
		wait_ms(t->delay_ms);
		if (top_signal)
			break;
		err = read_session(t);
		if (!round && (err || is_without_launches(t)))
			count_from_start(t);
		if (!err || !round)
			err = print_state(t) < 0 ? -EIO : err;
		round++;
	}
	if (err && err != -EIO && !t->has_ended)
		cli_error("%s: %s", t->path, t->note);
	return err && !t->has_ended ? CLI_FAILED : CLI_OK;
}

/* Print the last reading below the screen, with figures since the start of the session. */
static void print_totals(struct top *t)
{
	t->view = TOP_KERNELS;
	count_from_start(t);
	if (t->is.document && !print_state(t))
		cli_note("the session has ended; the table counts from its start to its last update");
}

/* -- terminal and document -- */

static bool has_screen(const struct top *t)
{
	const char *type = cli_env_terminal();

	return !t->once && !t->json && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO) && type && strcmp(type, "dumb");
}

static int read_options(struct top *t, const struct cli_args *args)
{
	*t = (struct top){
		.args = args,
		.delay_ms = DEFAULT_MS,
		.once = cli_has(args, OPT_ONCE),
		.json = cli_has(args, OPT_JSON),
		.demangle = cli_has(args, OPT_DEMANGLE),
		.sort = { [TOP_KERNELS] = TOP_TIME, [TOP_PROCESSES] = TOP_PRATE },
	};
	if (!cli_ms(args, OPT_DELAY, &t->delay_ms) || !cli_u64(args, OPT_ROUNDS, 1, &t->rounds))
		return CLI_USAGE;
	if (t->once)
		t->rounds = 1;
	if (t->json && !t->once) {
		cli_error("top: --json needs --once, which prints one document");
		return CLI_USAGE;
	}
	if (args->nrest && (cli_has(args, OPT_SESSION) || cli_has(args, OPT_OF_PID))) {
		cli_error("top: a session and an application cannot be combined; remove --session and --pid, or the application");
		return CLI_USAGE;
	}
	if (!args->nrest && (cli_has(args, OPT_READY) || cli_has(args, OPT_SAMPLE) || cli_has(args, OPT_BACKEND))) {
		cli_error("top: --probe, --sample and --backend need an application; pass it after --");
		return CLI_USAGE;
	}
	return CLI_OK;
}

static int open_session(struct top *t, bool screen)
{
	if (!t->args->nrest)
		return cli_session_find(t->args, t->path, sizeof(t->path));
	return figures_child_start(&t->child, t->args, PROBES, screen ? FIGURES_OUTPUT_FILE : FIGURES_OUTPUT_ERROR,
				   t->path, sizeof(t->path));
}

static void finish(struct top *t)
{
	figures_finish(&t->was);
	figures_finish(&t->is);
	figures_rates_finish(&t->rates);
	free(t->row);
}

/* Show the session until the user quits or it ends. Afterwards an application that top started runs on unprobed. */
static int show(struct top *t, bool screen)
{
	int err = screen ? top_run_screen(t, read_session) : -ENOTTY, status = CLI_OK;

	if (err == -ENOTTY) {
		status = print_tables(t);
	} else if (t->has_ended && !t->is.document && !t->child.pid) {
		cli_error("%s: %s", t->path, t->note);
		status = CLI_FAILED;
	} else if (t->has_ended) {
		print_totals(t);
	}
	if (t->child.pid && !t->has_ended)
		figures_links_detach_all(t->path);
	return status == CLI_OK ? figures_child_finish(&t->child, t->args, t->has_ended) : status;
}

int gpubpf_cmd_top(const struct cli_args *args)
{
	struct top t;
	bool screen;
	int status = read_options(&t, args);

	if (status != CLI_OK)
		return status;
	setlocale(LC_CTYPE, "");
	screen = has_screen(&t);
	status = open_session(&t, screen);
	if (status == CLI_OK)
		status = show(&t, screen);
	finish(&t);
	return status;
}
