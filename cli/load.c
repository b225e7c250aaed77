/* SPDX-License-Identifier: Apache-2.0 */
/* Loads objects for commands that only inspect objects, such as gpubpf prog. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/load/load.h"

int cli_attach_of(const struct cli_args *args, const char *text, char *prog, size_t size, const char **pattern)
{
	const char *equals = strchr(text, '=');

	if (!equals || equals == text || !equals[1] || (size_t)(equals - text) >= size) {
		cli_error("--attach %s: must be PROG=PATTERN, a program of the object and a kernel's name or glob", text);
		return CLI_USAGE;
	}
	snprintf(prog, size, "%.*s", (int)(equals - text), text);
	*pattern = equals + 1;
	return CLI_OK;
}

bool cli_is_selected(const struct cli_args *args, const struct gpubpf_prog *prog)
{
	const char *name = cli_str(args, OPT_PROGRAM, NULL);

	return !name || !strcmp(name, prog->name);
}

bool cli_is_any_selected(const struct cli_args *args, const struct gpubpf_unit *unit)
{
	for (uint32_t i = 0; i < unit->nprogs; i++)
		if (cli_is_selected(args, &unit->progs[i]))
			return true;
	cli_error("--program %s: the object has no such program; gpubpf prog show lists them",
		  cli_str(args, OPT_PROGRAM, "?"));
	return false;
}

static int fill_attach(const struct cli_args *args, struct gpubpf_attach *attach, char (*names)[64])
{
	const struct cli_values *v = &args->option[OPT_ATTACH];

	for (uint32_t i = 0; i < v->n; i++) {
		if (cli_attach_of(args, v->value[i], names[i], sizeof(names[i]), &attach[i].pattern) != CLI_OK)
			return CLI_USAGE;
		attach[i].prog = names[i];
	}
	return CLI_OK;
}

static void note_host_programs(const struct gpubpf_loaded *loaded)
{
	for (uint32_t i = 0; i < loaded->nobjects; i++)
		for (uint32_t p = 0; p < loaded->objects[i].nhost; p++)
			cli_note("%s is a program for the Linux kernel, which verifies it when a session starts",
				 loaded->objects[i].host[p]);
}

int cli_load(const struct cli_args *args, struct gpubpf_loaded **loaded)
{
	uint32_t nattach = args->option[OPT_ATTACH].n;
	struct gpubpf_attach *attach = calloc(nattach + 1, sizeof(*attach));
	char (*names)[64] = calloc(nattach + 1, sizeof(*names));
	struct gpubpf_load_opts opts = {
		.paths = (const char *const *)args->rest,
		.npaths = args->nrest,
		.attach = attach,
		.nattach = nattach,
		.all_gpu = cli_has(args, OPT_GPU),
	};
	struct gpubpf_diag diag;
	int status = CLI_FAILED, err;

	gpubpf_diag_init(&diag);
	if (!args->nrest) {
		cli_error("%s %s: no object; pass a .bpf.o file", args->command->object, args->command->verb);
		status = CLI_USAGE;
	} else if (!attach || !names) {
		cli_error("out of memory");
	} else if ((status = fill_attach(args, attach, names)) == CLI_OK) {
		err = gpubpf_load(&opts, loaded, &diag);
		if (err < 0 && diag.code == GPUBPF_OK)
			gpubpf_diag_set(&diag, GPUBPF_E_SYSTEM, GPUBPF_NOPC, "%s", strerror(-err));
		if (err < 0)
			cli_diag(&diag);
		status = err < 0 ? CLI_FAILED : CLI_OK;
		if (!err)
			note_host_programs(*loaded);
	}
	free(attach);
	free(names);
	return status;
}
