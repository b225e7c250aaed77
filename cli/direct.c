/* SPDX-License-Identifier: Apache-2.0 */
#include "direct.h"

#include <errno.h>
#include <string.h>

#include "core/model/prog.h"
#include "core/session/session.h"

#define MAX_WAIT_MS 300000 /* time limit of the compilation */

static void on_print(void *ctx, const struct gpubpf_print_record *p)
{
	if (!*(const bool *)ctx)
		printf("block %llu,%llu,%llu thread %llu,%llu,%llu %s: %s\n", (unsigned long long)p->block[0],
		       (unsigned long long)p->block[1], (unsigned long long)p->block[2], (unsigned long long)p->thread[0],
		       (unsigned long long)p->thread[1], (unsigned long long)p->thread[2], p->prog, p->text);
}

static void on_note(void *ctx, const char *text)
{
	(void)ctx;
	cli_note("%s", text);
}

/* Find the program by its name, or the only program if the command line has no name. */
static int find_program(const struct cli_args *args, struct gpubpf_session *s, const struct gpubpf_prog **found)
{
	const char *name = args->nrest > 1 ? args->rest[1] : NULL;
	const struct gpubpf_prog *prog = NULL;
	char list[200] = "";
	uint32_t n = 0;

	while ((prog = gpubpf_session__next_program(s, prog))) {
		if (!name ? !prog->is_run : strcmp(name, gpubpf_prog__name(prog)))
			continue;
		*found = prog;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", n++ ? ", " : "",
			 gpubpf_prog__name(prog));
	}
	if (n == 1)
		return CLI_OK;
	if (name)
		cli_error("%s: the object has no program '%s'; gpubpf prog show lists them", args->rest[0], name);
	else if (n)
		cli_error("%s: has several programs in gpu/run/; name one of %s", args->rest[0], list);
	else
		cli_error("%s: has no program in a section gpu/run/NAME; other programs need a kernel of an application "
			  "(gpubpf run)",
			  args->rest[0]);
	return CLI_FAILED;
}

int cli_direct_open(const struct cli_args *args, const bool *json, struct gpubpf_session **out,
		    const struct gpubpf_prog **prog)
{
	struct gpubpf_session *s;
	char runtime[512], cache[512];
	struct gpubpf_session_opts o = {
		.sz = sizeof(o),
		.runtime_dir = cli_env_runtime_dir(runtime, sizeof(runtime)),
		.cache_dir = cli_has(args, OPT_NO_CACHE) ? NULL : cli_env_cache_dir(cache, sizeof(cache)),
		.no_attach = true,
		.no_kernel = true,
		.wait_ms = MAX_WAIT_MS, /* without its twin, a launch is useless */
		.print = on_print,
		.note = on_note,
		.ctx = (void *)json,
	};
	uint64_t threads = 0;
	int err;

	if (!cli_u64(args, OPT_THREADS, 1, &threads) || !cli_u64(args, OPT_MAX_COST, 1, &o.max_cost))
		return CLI_USAGE;
	o.threads = threads > UINT32_MAX ? UINT32_MAX : (uint32_t)threads;
	s = gpubpf_session__new(&o);
	*out = s;
	if (!s) {
		cli_error("cannot create a session: %s", strerror(errno));
		return CLI_FAILED;
	}
	gpubpf_session_set_assembler(s, cli_assembler());
	err = gpubpf_session__add_object(s, args->rest[0]);
	if (!err)
		err = gpubpf_session__load(s);
	if (!err)
		err = gpubpf_session__start(s);
	if (err < 0)
		cli_error("%s", gpubpf_session__error(s));
	return err < 0 ? CLI_FAILED : find_program(args, s, prog);
}
