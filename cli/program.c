/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program text in the language of cli/lang. Adds its object to the session, and executes its BEGIN, END and
 * interval blocks and its actions on the host.
 */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <json-c/json.h>

#include "core/model/diag.h"
#include "core/load/load.h"
#include "core/session/report/missed.h"
#include "core/session/report/report.h"
#include "core/wire/files/open_file.h"
#include "cli/lang/host/host.h"

struct cli_program {
	const struct cli_args *args;
	struct lang *l;
	struct lang_host host;
	char *file;   /* contents of FILE.bt; NULL: the text is the value of -e */
	char *output; /* the text's output, collected for the JSON document; NULL: printed directly */
	size_t output_size;
	FILE *output_file;
	uint32_t noted_reasons; /* number of reasons for unprobed launches that were printed */
};

bool cli_is_object_file(const char *path)
{
	size_t n = strlen(path);

	return n > 2 && !strcmp(path + n - 2, ".o");
}

bool cli_is_script(const char *path)
{
	size_t n = strlen(path);

	return n > 3 && !strcmp(path + n - 3, ".bt");
}

static const char *script_of(const struct cli_args *args, uint32_t *n)
{
	const struct cli_values *objects = &args->option[OPT_OBJECT];
	const char *script = NULL;

	*n = args->option[OPT_EXPR].n;
	for (uint32_t i = 0; i < objects->n; i++)
		if (cli_is_script(objects->value[i])) {
			script = objects->value[i];
			++*n;
		}
	return script;
}

static int read_file(const char *path, char **text, size_t *size)
{
	FILE *f = gpubpf_fopen_regular(path);

	*text = NULL;
	*size = 0;
	if (!f) {
		cli_error("%s: cannot be read: %s; pass the path of a script", path, strerror(errno));
		return CLI_RUN_FAILED;
	}
	*text = malloc(LANG_TEXT_SIZE + 2);
	if (*text)
		*size = fread(*text, 1, LANG_TEXT_SIZE + 1, f);
	fclose(f);
	if (*text)
		return CLI_OK;
	cli_error("%s: out of memory", path);
	return CLI_RUN_FAILED;
}

static void report_refusal(const struct lang *l)
{
	const struct lang_refusal *r = lang_refusal(l);
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	gpubpf_diag_refuse(&diag, LANGUAGE, "%s", r->what);
	gpubpf_diag_where(&diag, "%s", r->place);
	gpubpf_diag_remedy(&diag, "%s", r->remedy);
	cli_diag_as(&diag, lang_why(l));
}

static int compile(struct cli_program *p, const struct lang_opts *opts)
{
	int err = lang_compile(opts, &p->l);

	for (const struct lang_warning *w = err < 0 ? NULL : lang_warnings(p->l); w; w = w->next)
		cli_note("%s", w->text);
	if (err == -EINVAL)
		report_refusal(p->l);
	else if (err < 0)
		cli_error("%s: %s%s", opts->name, strerror(-err),
			  err == -EFBIG ? "; raise the limit on file sizes (ulimit -f), which also limits files in memory" :
					  "");
	return err < 0 ? CLI_RUN_FAILED : CLI_OK;
}

/*
 * Returns true if the text is a number. In earlier versions -e 1000 meant --events 1000; a number is not a valid
 * program.
 */
static bool is_number(const char *text)
{
	return text[0] && strspn(text, "0123456789") == strlen(text);
}

static int open_text(struct cli_program *p, const char *script)
{
	const struct cli_values *params = &p->args->option[OPT_PARAM];
	const char *text = cli_str(p->args, OPT_EXPR, "");
	struct lang_opts opts = {
		.path = cli_env_path(),
		.reads_files = true,
		.name = script ? script : "-e",
		.text = text,
		.size = strlen(text),
		.params = params->value,
		.nparams = params->n,
	};
	int status = CLI_OK;

	if (!script && is_number(text)) {
		cli_error("-e %s: is not a program; --events %s sets the number of records to keep", text, text);
		return CLI_USAGE;
	}
	if (!cli_u64(p->args, OPT_THREADS, 1, &opts.threads))
		return CLI_USAGE;
	if (script) {
		status = read_file(script, &p->file, &opts.size);
		opts.text = p->file;
	}
	return status == CLI_OK ? compile(p, &opts) : status;
}

int cli_program_open(struct cli_program **out, const struct cli_args *args)
{
	struct cli_program *p;
	const char *script;
	uint32_t n;
	int status;

	*out = NULL;
	script = script_of(args, &n);
	if (!n && cli_has(args, OPT_PARAM)) {
		cli_error("--param %s: only a program as text has parameters; add -e PROGRAM or FILE.bt",
			  cli_str(args, OPT_PARAM, ""));
		return CLI_USAGE;
	}
	if (!n)
		return CLI_OK;
	if (n > 1) {
		cli_error("run: only one program text is possible, but -e or FILE.bt was passed several times; put all "
			  "probes into one text");
		return CLI_USAGE;
	}
	p = calloc(1, sizeof(*p));
	if (!p) {
		cli_error("out of memory");
		return CLI_RUN_FAILED;
	}
	p->args = args;
	status = open_text(p, script);
	if (status == CLI_OK)
		*out = p;
	else
		cli_program_close(p);
	return status;
}

void cli_program_close(struct cli_program *p)
{
	if (!p)
		return;
	lang_host_finish(&p->host);
	if (p->output_file)
		fclose(p->output_file);
	free(p->output);
	lang_destroy(p->l);
	free(p->file);
	free(p);
}

/* -- in a session -- */

static const char *shown(void *ctx, uint64_t kernel)
{
	struct cli_program *p = ctx;

	return gpubpf_kernel_display_name(p->host.s, kernel, cli_has(p->args, OPT_DEMANGLE));
}

int cli_program_add(const struct cli_program *p, struct gpubpf_session *s)
{
	const void *object;
	size_t size;

	if (!p)
		return 0;
	object = lang_object(p->l, &size);
	return object ? gpubpf_session__add_object_mem(s, p->l->name, object, size) : 0;
}

bool cli_program_owns(const struct cli_program *p, const struct gpubpf_session *s, const struct gpubpf_prog *prog)
{
	return p && !strcmp(gpubpf_session_loaded(s)->objects[prog->object].path, p->l->name);
}

int cli_program_begin(struct cli_program *p, struct gpubpf_session *s, FILE *out, struct cli_stream *stream)
{
	if (!p)
		return CLI_OK;
	if (cli_has(p->args, OPT_JSON))
		out = p->output_file = open_memstream(&p->output, &p->output_size);
	if (out)
		out = cli_stream_tee(stream, out);
	if (!out) {
		cli_error("out of memory");
		return CLI_RUN_FAILED;
	}
	p->host.l = p->l;
	p->host.s = s;
	p->host.out = out;
	p->host.shown = shown;
	p->host.ctx = p;
	lang_host_begin(&p->host);
	return CLI_OK;
}

/* Returns true if blocks and actions run on the host. They do not if twins are only prepared. */
static bool runs_on_host(const struct cli_program *p)
{
	return p && p->host.l;
}

bool cli_program_event(struct cli_program *p, const struct gpubpf_event *event)
{
	return runs_on_host(p) && lang_host_record(&p->host, event);
}

bool cli_program_run(struct cli_program *p)
{
	if (!runs_on_host(p))
		return false;
	lang_host_run(&p->host);
	return p->host.exit;
}

uint64_t cli_program_due(const struct cli_program *p)
{
	return runs_on_host(p) ? lang_host_due(&p->host) : 0;
}

static uint64_t read_counter(struct gpubpf_session *s, const char *name)
{
	const struct gpubpf_map *map = gpubpf_session__find_map_by_name(s, name);
	uint32_t key = 0;
	uint64_t n = 0;

	if (map)
		gpubpf_map__lookup_elem(map, &key, sizeof(key), &n, sizeof(n), 0);
	return n;
}

/* Print a note that output was lost. It is printed even with --quiet, because it changes the meaning of the results. */
__attribute__((format(printf, 2, 3))) static void note_loss(const struct cli_program *p, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gpubpf_session_note(p->host.s, "%s", text);
	if (cli_has(p->args, OPT_QUIET))
		cli_note("%s", text);
}

/* Print how much output was lost and why. */
static void note_losses(const struct cli_program *p)
{
	struct gpubpf_session *s = p->host.s;
	const struct gpubpf_map *map = NULL;
	uint64_t lost = read_counter(s, "__lost"), limits = read_counter(s, "__limits"), drops;

	while ((map = gpubpf_session__next_map(s, map))) {
		const char *name = gpubpf_map__name(map);

		drops = gpubpf_map__drops(map) + (strcmp(name, "__records") ? 0 : p->host.dropped);
		if (drops && (name[0] == '@' || !strncmp(name, "AT_", 3)))
			note_loss(p, "@%s: %llu updates found no room for their keys; declare a larger map: let @%s = hash(%u);",
				  name + (name[0] == '@' ? 1 : 3), (unsigned long long)drops,
				  name + (name[0] == '@' ? 1 : 3), 4 * gpubpf_map__max_entries(map));
		else if (drops && !strcmp(name, "__records"))
			note_loss(p,
				  "%llu calls of printf() or print() in kernels were lost: filter the calls, or "
				  "count in maps",
				  (unsigned long long)drops);
	}
	if (limits)
		note_loss(p,
			  "%llu loops ended at their maximum number of iterations; raise it: config = { max_loop_steps = "
			  "100000 }",
			  (unsigned long long)limits);
	if (lost)
		note_loss(p, "%llu threads have no duration: too many ran at once; raise --threads",
			  (unsigned long long)lost);
}

const char *cli_program_reason(const struct cli_program *p, struct gpubpf_session *s, const char *reason, char *buf,
			       size_t size)
{
	const size_t start = strlen("program ");
	const struct gpubpf_prog *prog = NULL;

	if (strncmp(reason, "program ", start))
		return reason;
	while ((prog = gpubpf_session__next_program(s, prog))) {
		size_t n = strlen(prog->name);

		if (strncmp(reason + start, prog->name, n) || !memchr(": ", reason[start + n], 2) ||
		    !cli_program_owns(p, s, prog))
			continue;
		snprintf(buf, size, "probe %s%s", prog->section, reason + start + n);
		return buf;
	}
	return reason;
}

/* kernels whose launches were not probed for the same reason */
struct unprobed_group {
	const char *kernel, *why; /* name of the first kernel, and the reason */
	uint32_t kernels;
	uint64_t launches, unprobed;
};

static void add_to_group(struct unprobed_group *all, uint32_t *n, const struct gpubpf_kernel_stats *k, const char *why,
			 uint64_t lost)
{
	uint32_t i = 0;

	while (i < *n && strcmp(all[i].why, why))
		i++;
	if (i == *n)
		all[(*n)++] = (struct unprobed_group){ .kernel = k->name, .why = why };
	all[i].kernels++;
	all[i].launches += k->launches;
	all[i].unprobed += lost;
}

static void note_group(const struct cli_program *p, const struct unprobed_group *group)
{
	char more[32] = "", why[512];

	if (group->kernels > 1)
		snprintf(more, sizeof(more), " and %u more kernel%s", group->kernels - 1, group->kernels > 2 ? "s" : "");
	note_loss(p, "%.200s%s: %llu of %llu launches were not probed: %s", group->kernel, more,
		  (unsigned long long)group->unprobed, (unsigned long long)group->launches,
		  cli_program_reason(p, p->host.s, group->why, why, sizeof(why)));
}

/*
 * Print which kernels were not probed. The report's table of kernels shows them, but a session with only a program text
 * prints no table. Launches that the user excluded are not printed.
 */
static void note_unprobed(struct cli_program *p)
{
	struct gpubpf_session *s = p->host.s;
	struct unprobed_group *all;
	uint32_t n = 0;

	if (gpubpf_kernel_table_collect(s) < 0)
		return;
	all = calloc(gpubpf_kernel_stats_count(s) + 1, sizeof(*all));
	for (uint32_t i = 0; all && i < gpubpf_kernel_stats_count(s); i++) {
		const char *why = gpubpf_report_reason(s, gpubpf_kernel_stats_at(s, i));
		uint64_t lost = gpubpf_missed_lost(s, gpubpf_kernel_stats_at(s, i));

		if (lost && why[0])
			add_to_group(all, &n, gpubpf_kernel_stats_at(s, i), why, lost);
	}
	for (uint32_t i = 0; i < n; i++)
		note_group(p, &all[i]);
	p->noted_reasons = n;
	free(all);
}

void cli_program_end(struct cli_program *p)
{
	if (!runs_on_host(p))
		return;
	lang_host_end(&p->host);
	fflush(p->host.out);
	note_losses(p);
	if (cli_program_is_only(p))
		note_unprobed(p);
}

bool cli_program_is_idle(const struct cli_program *p)
{
	return p && cli_program_is_only(p) && !lang_has_device_probes(p->l);
}

int cli_program_status(const struct cli_program *p)
{
	return p ? p->host.status : 0;
}

uint32_t cli_program_noted_reasons(const struct cli_program *p)
{
	return p ? p->noted_reasons : 0;
}

bool cli_program_is_only(const struct cli_program *p)
{
	return p && !cli_has(p->args, OPT_VERBOSE) && !cli_has(p->args, OPT_PROBE) &&
	       p->args->option[OPT_OBJECT].n == (p->file != NULL);
}

void cli_program_maps(struct cli_program *p, FILE *out)
{
	if (p)
		lang_host_print_maps(&p->host, out);
}

void cli_program_json(struct cli_program *p, struct json_object *document)
{
	if (!p || !p->output_file)
		return;
	fflush(p->output_file);
	json_object_object_add(document, "output", json_object_new_string_len(p->output, (int)p->output_size));
}

/* -- without a session -- */

const char *cli_program_name(const struct cli_program *p)
{
	return p->l->name;
}

const void *cli_program_object(const struct cli_program *p, size_t *size)
{
	const void *object = lang_object(p->l, size);
	const char *host = p->l->records ? "printf(), print() or another action of the host" : NULL;

	for (const struct lang_block *b = p->l->blocks; b && !host; b = b->next)
		for (const struct lang_probe *probe = b->probes; probe && !host; probe = probe->next)
			host = probe->when == LANG_ON_DEVICE ? NULL : probe->section;
	if (!host && object)
		return object;
	cli_error("%s: %s runs in the tool that starts the session, so it cannot join a running session; write to maps, "
		  "which gpubpf map dump prints",
		  p->l->name, host ? host : "the text");
	return NULL;
}

static int emit(const char *path, const void *object, size_t size)
{
	int err = cli_file_replace(path, object, size);

	if (err < 0)
		cli_error("--emit %s: cannot be written: %s", path, strerror(-err));
	return err < 0 ? CLI_RUN_FAILED : CLI_OK;
}

static int dump(const struct cli_program *p, const void *object, size_t size)
{
	struct gpubpf_load_image image = { object, size };
	struct gpubpf_load_opts opts = {
		.paths = &p->l->name,
		.npaths = 1,
		.images = &image,
	};
	struct gpubpf_loaded *loaded;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (gpubpf_load(&opts, &loaded, &diag) < 0) {
		cli_diag(&diag);
		return CLI_RUN_FAILED;
	}
	for (uint32_t i = 0; i < loaded->unit.nprogs; i++)
		cli_dump_ebpf(&loaded->unit.progs[i]);
	gpubpf_loaded_destroy(loaded);
	return CLI_OK;
}

int cli_program_show(const struct cli_args *args)
{
	struct cli_program *p;
	const void *object;
	size_t size;
	int status = cli_program_open(&p, args);

	if (status != CLI_OK)
		return status;
	object = p ? lang_object(p->l, &size) : NULL;
	if (!p)
		cli_error("run: --emit and --dump need a program text; add -e PROGRAM or FILE.bt");
	else if (!object)
		cli_error("%s: no probe runs in GPU kernels, so there is no compiled object", p->l->name);
	if (!object)
		status = CLI_USAGE;
	if (status == CLI_OK && cli_has(args, OPT_EMIT))
		status = emit(cli_str(args, OPT_EMIT, ""), object, size);
	if (status == CLI_OK && cli_has(args, OPT_DUMP))
		status = dump(p, object, size);
	cli_program_close(p);
	return status;
}
