/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf export: publishes the figures of a running session to Prometheus or to a collector of OpenTelemetry. */
#include "export.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/figures/child.h"
#include "core/session/session.h"

#define DEFAULT_MS 10000
#define STEP_MS 200          /* time between checks for a signal and for the end of the session */
#define MIN_AGE_NS 500000000 /* a scrape reads the session again if the last reading is older */
#define DEFAULT_KERNELS 20
#define PROBES "kerneltime"

struct export {
	const struct cli_args *args;
	uint64_t interval_ms, kernels;
	pthread_mutex_t lock; /* protects the members below */
	char path[512];       /* socket of the session; "": none is running */
	bool is_open;         /* the main thread has chosen the session; the server's thread reads none before */
	bool is_fixed;        /* the session was named or started, so no other session is read after it */
	bool has_ended;       /* the session has ended */
	bool several_noted;   /* the note about several sessions was printed */
	bool failure_noted;   /* the note about a session that does not answer was printed */
	uint64_t tried_ns;    /* end of the last reading for a scrape, successful or not */
	struct figures figures;
	struct export_named named;
	uint64_t start_unix_ns;
	struct export_sender *sender;
	struct figures_child child;
};

static volatile sig_atomic_t ending;

static void on_signal(int number)
{
	ending = number;
}

/* Forget the session that has ended. */
static void leave_session(struct export *e)
{
	figures_finish(&e->figures);
	export_named_finish(&e->named);
	e->start_unix_ns = 0;
	e->has_ended = e->is_fixed;
	if (!e->is_fixed)
		e->path[0] = 0;
}

/* Find the user's only session. If several run, print a note once and export none. */
static void find_session(struct export *e)
{
	size_t n = cli_session_find_only(e->path, sizeof(e->path));

	if (n > 1 && !e->several_noted)
		cli_note("export: %zu sessions are running, and none is exported; name one with --session", n);
	e->several_noted = n > 1;
}

/* Forget the last figures, because they are no longer the session's. If it does not answer, print a note once. */
static void drop_figures(struct export *e, int err, const char *why)
{
	figures_finish(&e->figures);
	if (figures_has_ended(err))
		leave_session(e);
	else if (!e->failure_noted)
		cli_note("%s: %s; gpubpf_up is 0 until it answers", e->path, why);
	e->failure_noted = !figures_has_ended(err);
}

/* Read the session, or the user's only session if none is read yet. Call with the lock held. */
static void read_session(struct export *e)
{
	char why[4096];
	struct figures now;
	int err;

	if (e->has_ended || !e->is_open)
		return;
	if (!e->path[0])
		find_session(e);
	if (!e->path[0])
		return;
	err = figures_read(e->path, &now, why, sizeof(why));
	if (err)
		figures_finish(&now);
	if (err == -EINTR)
		return;
	if (err) {
		drop_figures(e, err, why);
		return;
	}
	figures_finish(&e->figures);
	e->figures = now;
	e->failure_noted = false;
}

/* Make the samples of the last reading. Call with the lock held. */
static int make_samples(struct export *e, struct export_samples *s)
{
	uint64_t lost = e->sender ? export_sender_lost(e->sender) : 0;
	int err = export_make_samples(e->figures.document ? &e->figures : NULL, &e->named, lost, s);

	if (!e->start_unix_ns)
		e->start_unix_ns = s->read_unix_ns;
	s->start_unix_ns = e->start_unix_ns;
	return err;
}

/* Write the samples as text. Returns the malloc'd text, or NULL. Call with the lock held. */
static char *format_samples(struct export *e, void (*write)(const struct export_samples *s, FILE *out), size_t *size)
{
	struct export_samples s;
	char *text = NULL;
	FILE *out = make_samples(e, &s) ? NULL : open_memstream(&text, size);

	if (out)
		write(&s, out);
	if (out && fclose(out) == EOF) {
		free(text);
		text = NULL;
	}
	export_samples_finish(&s);
	return text;
}

static char *make_page(void *ctx, size_t *size)
{
	struct export *e = ctx;
	char *text;

	pthread_mutex_lock(&e->lock);
	if (gpubpf_now_ns() - e->tried_ns > MIN_AGE_NS) {
		read_session(e);
		e->tried_ns = gpubpf_now_ns();
	}
	text = format_samples(e, export_write_text, size);
	pthread_mutex_unlock(&e->lock);
	return text;
}

static void send_samples(struct export *e)
{
	size_t size = 0;
	char *text;

	pthread_mutex_lock(&e->lock);
	text = format_samples(e, export_write_otlp, &size);
	pthread_mutex_unlock(&e->lock);
	if (text)
		export_sender_send(e->sender, text, size);
}

/* Read the session and send its samples. Returns true if the session has ended. */
static bool read_and_send(struct export *e)
{
	bool has_ended;

	pthread_mutex_lock(&e->lock);
	read_session(e);
	has_ended = e->has_ended;
	pthread_mutex_unlock(&e->lock);
	if (e->sender && !has_ended)
		send_samples(e);
	return has_ended;
}

/* Read the session at each interval, until it has ended, and once more if a signal ends export before. */
static void run_loop(struct export *e)
{
	uint64_t next_ns = 0;
	bool has_ended = false;

	while (!ending && !has_ended) {
		if (gpubpf_now_ns() >= next_ns) {
			has_ended = read_and_send(e);
			next_ns = gpubpf_now_ns() + e->interval_ms * 1000000;
		}
		nanosleep(&(struct timespec){ 0, STEP_MS * 1000000 }, NULL);
		pthread_mutex_lock(&e->lock);
		has_ended = e->has_ended |= e->is_fixed && access(e->path, F_OK) < 0;
		pthread_mutex_unlock(&e->lock);
	}
	if (ending && !has_ended)
		read_and_send(e);
}

static int read_options(struct export *e, const struct cli_args *args)
{
	*e = (struct export){ .args = args, .interval_ms = DEFAULT_MS, .kernels = DEFAULT_KERNELS };
	pthread_mutex_init(&e->lock, NULL);
	if (!cli_has(args, OPT_PROMETHEUS) && !cli_has(args, OPT_OTLP)) {
		cli_error("export: no destination; use --prometheus ADDR:PORT or --otlp URL");
		return CLI_USAGE;
	}
	if (!cli_ms(args, OPT_PERIOD, &e->interval_ms) || !cli_u64(args, OPT_KERNELS, 1, &e->kernels))
		return CLI_USAGE;
	if (e->kernels > 1000) {
		cli_error("--kernels %llu: must be at most 1000, because each kernel is a time series",
			  (unsigned long long)e->kernels);
		return CLI_USAGE;
	}
	if (args->nrest && cli_has(args, OPT_SESSION)) {
		cli_error("export: --session and an application cannot be combined; use one of them");
		return CLI_USAGE;
	}
	if (!args->nrest && (cli_has(args, OPT_READY) || cli_has(args, OPT_SAMPLE) || cli_has(args, OPT_BACKEND))) {
		cli_error("export: --probe, --sample and --backend need an application; pass it after --");
		return CLI_USAGE;
	}
	e->named.limit = (uint32_t)e->kernels;
	return CLI_OK;
}

/* Find the session that the user named, and check that it answers. */
static int open_named(struct export *e)
{
	int status = cli_session_find(e->args, e->path, sizeof(e->path)), err;
	struct figures now;
	char why[4096] = "";

	if (status != CLI_OK)
		return status;
	err = figures_read(e->path, &now, why, sizeof(why));
	figures_finish(&now);
	if (!err)
		return CLI_OK;
	cli_error("%s: %s", e->path, why);
	return CLI_FAILED;
}

static int open_session(struct export *e)
{
	e->is_fixed = e->args->nrest || cli_has(e->args, OPT_SESSION) || cli_env_session();
	if (e->args->nrest)
		return figures_child_start(&e->child, e->args, PROBES, FIGURES_OUTPUT_SHARED, e->path, sizeof(e->path));
	return e->is_fixed ? open_named(e) : CLI_OK;
}

/* Let the server's thread read the session too, and read it until the end. */
static void read_until_end(struct export *e)
{
	pthread_mutex_lock(&e->lock);
	e->is_open = true;
	pthread_mutex_unlock(&e->lock);
	run_loop(e);
}

static void on_pipe(int number)
{
	(void)number; /* a write to a closed connection returns EPIPE */
}

/* SIGPIPE has a handler instead of SIG_IGN, because the application would inherit SIG_IGN. */
static void catch_signals(void)
{
	const struct sigaction action = { .sa_handler = on_signal };
	const struct sigaction on_broken = { .sa_handler = on_pipe, .sa_flags = SA_RESTART };
	struct sigaction was;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (!sigaction(SIGPIPE, NULL, &was) && was.sa_handler != SIG_IGN)
		sigaction(SIGPIPE, &on_broken, NULL);
}

static int export_session(struct export *e, const char *address, const char *url)
{
	struct export_server *server = NULL;
	int status = CLI_OK;
	uint64_t lost;

	e->sender = url ? export_sender_start(url) : NULL; /* set it before the server starts, whose thread reads it */
	if (url && !e->sender)
		return CLI_USAGE;
	if (address)
		status = export_server_start(address, make_page, e, &server);
	if (status == CLI_OK)
		status = open_session(e);
	if (status == CLI_OK)
		read_until_end(e);
	export_server_stop(server);
	lost = export_sender_stop(e->sender);
	e->sender = NULL;
	if (lost)
		cli_note("%s: %llu batch%s of metrics %s lost", url, (unsigned long long)lost, lost == 1 ? "" : "es",
			 lost == 1 ? "was" : "were");
	return status == CLI_OK ? figures_child_finish(&e->child, e->args, e->has_ended) : status;
}

int gpubpf_cmd_export(const struct cli_args *args)
{
	struct export e;
	int status = read_options(&e, args);

	if (status != CLI_OK)
		return status;
	catch_signals();
	status = export_session(&e, cli_str(args, OPT_PROMETHEUS, NULL), cli_str(args, OPT_OTLP, NULL));
	figures_finish(&e.figures);
	export_named_finish(&e.named);
	pthread_mutex_destroy(&e.lock);
	return status;
}
