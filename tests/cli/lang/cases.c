/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases DIR: tests the one-liner language (cli/lang) with the files in DIR. The test loads and verifies each file's
 * program as usual. The interpreter then runs it for three launches: the kernel vadd twice with 2 blocks of 4 threads,
 * and scale once with 4 blocks of 2 threads. Argument i of thread t is 100 * i + t. A file has these parts:
 *
 * `--- program`: the text of the program.
 * `--- params`: the values of $1, $2, ..., one per line.
 * `--- output`: the complete output.
 * `--- error`: the complete refusal, instead of the output.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lang/host/host.h"
#include "core/interp/interp.h"
#include "core/lower/lower.h"
#include "core/session/session.h"
#include "core/wire/match.h"
#include "tests/cases.h"
#include "tests/tap.h"

#define PARAMS 8

struct test {
	char *file; /* the file's text; the members below point into it */
	const char *program, *output, *error;
	const char *param[PARAMS];
	uint32_t nparams;
	struct lang_host host;
	char *printed;
	size_t size;
};

static const struct launch {
	const char *kernel;
	uint64_t number, blocks, threads;
} launches[] = { { "vadd", 0, 2, 4 }, { "vadd", 1, 2, 4 }, { "scale", 0, 4, 2 } };

/* -- files -- */

static char *read_file(const char *dir, const char *name)
{
	char path[512], *text = calloc(1, 65536);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	if (!f || !text || fread(text, 1, 65535, f) == 0)
		abort();
	fclose(f);
	return text;
}

static void split_params(struct test *t, char *text)
{
	for (char *line = strtok(text, "\n"); line && t->nparams < PARAMS; line = strtok(NULL, "\n"))
		t->param[t->nparams++] = line;
}

/*
 * Split the file at its "--- name" lines into the members of t. Returns false if the file has an unknown part or lacks
 * one.
 */
static bool cut(struct test *t)
{
	char *at = t->file, *params = NULL;

	while (at && *at) {
		char *body = strchr(at, '\n'), *next = body ? strstr(body, "\n--- ") : NULL;

		if (strncmp(at, "--- ", 4) || !body)
			return false;
		*body++ = '\0';
		if (next)
			*next++ = '\0';
		else if (strlen(body) && body[strlen(body) - 1] == '\n')
			body[strlen(body) - 1] = '\0';
		if (!strcmp(at, "--- program"))
			t->program = body;
		else if (!strcmp(at, "--- output"))
			t->output = body;
		else if (!strcmp(at, "--- error"))
			t->error = body;
		else if (!strcmp(at, "--- params"))
			params = body;
		else
			return false;
		at = next;
	}
	if (params)
		split_params(t, params);
	return t->program && !t->output != !t->error;
}

/* -- running -- */

static const char *shown(void *s, uint64_t kernel)
{
	return gpubpf_kernel_full_name(s, kernel);
}

static void on_event(void *ctx, const struct gpubpf_event *event)
{
	struct test *t = ctx;

	lang_host_record(&t->host, event);
}

/* parameters of both kernels: arg0 is a pointer, arg1 is signed, and arg3 has no known type */
static const struct gpubpf_param params[] = {
	{ "a", "__global float *", GPUBPF_PARAM_POINTER, 8, 8, UINT32_MAX },
	{ "b", "const char", GPUBPF_PARAM_INT, 1, 1, UINT32_MAX },
	{ "c", "uint", GPUBPF_PARAM_INT, 4, 4, UINT32_MAX },
	{ "", "", GPUBPF_PARAM_INT, 8, 8, UINT32_MAX },
};

static void run_thread(struct gpubpf_session *s, const struct gpubpf_prog *prog, const struct launch *l, uint64_t thread)
{
	struct gpubpf_ctx ctx = {
		.launch = l->number,
		.site = prog->site,
		.nargs = 4,
		.work_dim = 1,
		.grid_dim = { l->blocks, 1, 1 },
		.block_dim = { l->threads, 1, 1 },
		.block_idx = { thread / l->threads },
		.thread_idx = { thread % l->threads },
		.global_id = { thread },
		.global_linear = thread,
		.kernel = gpubpf_kernel_id(s, l->kernel),
	};
	struct gpubpf_interp_job job = {
		.unit = gpubpf_session_unit(s),
		.prog = prog,
		.ctx = &ctx,
		.arena = gpubpf_arena_at(s, 0)->base,
		.layout = &gpubpf_arena_at(s, 0)->layout,
		.params = params,
		.nparams = sizeof(params) / sizeof(params[0]),
		.pid_tgid = 77ull << 32,
		.sm = 0,
		.warp = ctx.thread_idx[0] / 2,
		.lane = ctx.thread_idx[0] % 2,
	};
	struct gpubpf_interp_result result;
	struct gpubpf_diag diag;

	for (uint32_t i = 0; i < GPUBPF_CTX_ARGS; i++)
		ctx.arg[i] = 100 * i + thread;
	snprintf(ctx.kernel_name, sizeof(ctx.kernel_name), "%s", l->kernel);
	gpubpf_diag_init(&diag);
	if (gpubpf_interp_run(&job, &result, &diag) < 0)
		note("%s: %s", prog->name, diag.what);
}

static void run_site(struct gpubpf_session *s, const struct launch *l, enum gpubpf_site site)
{
	const struct gpubpf_prog *prog = NULL;

	while ((prog = gpubpf_session__next_program(s, prog)))
		for (uint64_t i = 0;
		     prog->site == site && gpubpf_pattern_matches(prog->pattern, l->kernel) && i < l->blocks * l->threads;
		     i++)
			run_thread(s, prog, l, i);
}

static void run_launches(struct test *t, struct gpubpf_session *s)
{
	lang_host_begin(&t->host);
	for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]) && !t->host.exit; i++) {
		run_site(s, &launches[i], GPUBPF_SITE_ENTRY);
		run_site(s, &launches[i], GPUBPF_SITE_EXIT);
		gpubpf_reader_run(s, true);
		lang_host_run(&t->host);
	}
	lang_host_end(&t->host);
	lang_host_print_maps(&t->host, t->host.out);
}

static const char *load(struct test *t, struct gpubpf_session *s)
{
	size_t size;
	const void *object = lang_object(t->host.l, &size);

	if (object && gpubpf_session__add_object_mem(s, "-e", object, size) < 0)
		return gpubpf_session__error(s);
	return gpubpf_session__load(s) < 0 ? gpubpf_session__error(s) : NULL;
}

/* Returns the program's output, or its refusal with *refused set. */
static char *run(struct test *t, bool *refused)
{
	struct lang_opts opts = {
		.name = "-e",
		.text = t->program,
		.size = strlen(t->program),
		.params = t->param,
		.nparams = t->nparams,
		.threads = 1024,
		.reads_files = true,
	};
	struct gpubpf_session_opts session_opts = { .sz = sizeof(session_opts), .event = on_event, .ctx = t };
	struct gpubpf_session *s = gpubpf_session__new(&session_opts);
	const char *why;
	char *text;

	if (!s)
		abort();
	why = lang_compile(&opts, &t->host.l) < 0 ? lang_why(t->host.l) : load(t, s);
	*refused = why;
	text = strdup(why ? why : "");
	if (!why) {
		t->host.s = s;
		t->host.shown = shown;
		t->host.ctx = s;
		t->host.out = open_memstream(&t->printed, &t->size);
		run_launches(t, s);
		fclose(t->host.out);
		free(text);
		text = t->printed;
	}
	lang_host_finish(&t->host);
	gpubpf_session__free(s);
	lang_destroy(t->host.l);
	return text;
}

static void show(const char *title, const char *text)
{
	note("%s:", title);
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		note("|%.*s", (int)strcspn(text, "\n"), text);
}

static void run_case(const char *dir, const char *name)
{
	struct test t = { .file = read_file(dir, name) };
	const char *wanted;
	bool refused;
	char *got;
	size_t n;

	if (!ok(cut(&t), "%s: is a case", name)) {
		free(t.file);
		return;
	}
	got = run(&t, &refused);
	n = strlen(got);
	while (n && got[n - 1] == '\n')
		got[--n] = '\0';
	wanted = t.output ? t.output : t.error;
	if (!ok(refused == !t.output && !strcmp(got, wanted), "%s", name)) {
		show("wanted", wanted);
		show(refused ? "was refused" : "printed", got);
	}
	free(got);
	free(t.file);
}

int main(int argc, char **argv)
{
	ok(argc > 1 && run_each_case(argv[1], ".case", run_case) > 0, "there are cases");
	return done();
}
