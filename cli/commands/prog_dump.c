/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf prog dump: prints the BPF programs of an object, or their code for a target after a stage or pass. A worker
 * process generates the code for a target.
 */
#include "dump_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/load/load.h"
#include "core/worker/job.h"
#include "maps/maps.h"

static int refuse_pass(const char *target, const char *after, struct gpubpf_diag *diag)
{
	const struct cli_pass *pass;
	size_t i = 0;

	while ((pass = cli_pass_row(i)) && strcmp(pass->name, after))
		i++;
	gpubpf_diag_where(diag, "--after %s", after);
	gpubpf_diag_remedy(diag, "gpubpf prog dump --target %s --after help FILE lists the target's stages", target);
	return gpubpf_diag_set(diag, GPUBPF_E_USAGE, GPUBPF_NOPC, "target %s has no such %s", target,
			       pass && pass->is_stage ? "stage" : "pass");
}

/*
 * Return the stages after which `prog dump` can print code for the target. If no target has this name (for example
 * "ebpf"), return the stages after which code can be printed for some target.
 */
static uint32_t find_printed_stages(const char *target)
{
	const struct gpubpf_target_info *info = gpubpf_target_find(target);
	uint32_t stages = 0;

	for (enum gpubpf_stage stage = GPUBPF_STAGE_LOWER; stage <= GPUBPF_STAGE_EMIT; stage++)
		if (!info || gpubpf_target_has_stage(info, stage))
			stages |= 1u << stage;
	return stages;
}

/*
 * Replace the emitted code by the code after the pass that --after names. That code is printed even if a later pass
 * failed.
 */
static int take_dump(const char *target, const char *after, int err, struct gpubpf_blob *dump, struct gpubpf_blob *blob,
		     struct gpubpf_diag *diag)
{
	if (err < 0 && !dump->data)
		return err;
	if (!dump->data && strcmp(after, "emit"))
		return refuse_pass(target, after, diag);
	if (!dump->data)
		return 0;
	if (!err)
		free(blob->data);
	*blob = *dump;
	return 0;
}

static int emit(const struct cli_args *args, const char *target, const struct gpubpf_lower_job *job,
		struct gpubpf_blob *blob, struct gpubpf_diag *diag)
{
	struct gpubpf_blob dump = { 0 };
	struct gpubpf_target_opts opts = { .opt_level = 2,
					   .text = true,
					   .cpu = cli_str(args, OPT_CPU, NULL),
					   .after = cli_str(args, OPT_AFTER, NULL),
					   .dump = &dump };
	struct gpubpf_worker_opts worker_opts = { .kind = gpubpf_target_find(target)->worker };
	struct gpubpf_worker *worker;
	int err = gpubpf_worker_create(&worker_opts, &worker);

	if (err < 0)
		return err;
	err = gpubpf_worker_emit(worker, target, job, &opts, blob, diag);
	gpubpf_worker_destroy(worker);
	return opts.after ? take_dump(target, opts.after, err, &dump, blob, diag) : err;
}

/*
 * Make one site for each selected program. The function of the n-th site is called gpubpf_site_<n>. Returns the number
 * of sites.
 */
static uint32_t make_sites(const struct cli_args *args, const struct gpubpf_unit *unit, uint32_t *index,
			   struct gpubpf_site_desc *sites)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < unit->nprogs; i++) {
		if (!cli_is_selected(args, &unit->progs[i]))
			continue;
		index[n] = i;
		sites[n] = (struct gpubpf_site_desc){
			.site = unit->progs[i].site,
			.progs = &index[n],
			.nprogs = 1,
			.may_end_thread = true,
		};
		memcpy(gpubpf_place_kind(sites[n].site)->where == GPUBPF_WHERE_FUNCTION ? sites[n].function :
											  sites[n].kernel,
		       unit->progs[i].pattern, sizeof(sites[n].kernel));
		n++;
	}
	return n;
}

static int lower(const struct cli_args *args, struct gpubpf_unit *unit, const char *target, struct gpubpf_blob *blob,
		 struct gpubpf_diag *diag)
{
	struct gpubpf_device_caps caps = cli_dump_device(cli_str(args, OPT_CPU, NULL));
	struct gpubpf_site_desc *sites = calloc(unit->nprogs + 1, sizeof(*sites));
	uint32_t *index = calloc(unit->nprogs + 1, sizeof(*index));
	struct gpubpf_lower_job job = { .unit = unit, .caps = &caps, .sites = sites };
	struct gpubpf_layout layout = { 0 };
	int err = sites && index ? cli_dump_prepare(unit, &caps, &layout, diag) : -ENOMEM;

	if (!err) {
		job.layouts = layout.maps;
		job.layout_hash = layout.hash;
		job.print_ring = layout.print_ring;
		job.print_layout = layout.prints;
		job.nsites = make_sites(args, unit, index, sites);
		err = emit(args, target, &job, blob, diag);
	}
	gpubpf_layout_finish(&layout);
	free(sites);
	free(index);
	return err;
}

static int dump_target(const struct cli_args *args, struct gpubpf_unit *unit, const char *target)
{
	struct gpubpf_blob blob = { 0 };
	struct gpubpf_diag diag;
	int err;

	gpubpf_diag_init(&diag);
	err = lower(args, unit, target, &blob, &diag);
	if (err < 0) {
		gpubpf_diag_set(&diag, GPUBPF_E_SYSTEM, GPUBPF_NOPC, "%s", strerror(-err));
		cli_diag(&diag);
	} else {
		cli_dump_print(&blob, stdout);
	}
	free(blob.data);
	cli_dump_release(unit);
	return err < 0 ? CLI_FAILED : CLI_OK;
}

int gpubpf_cmd_prog_dump(const struct cli_args *args)
{
	const char *target = cli_str(args, OPT_TARGET, "ebpf"), *after = cli_str(args, OPT_AFTER, NULL);
	struct gpubpf_loaded *loaded;
	int status;

	if (!cli_value_known(OPT_TARGET, target))
		return CLI_USAGE;
	if (after) {
		status = cli_dump_check_pass(after, GPUBPF_STAGE_BIT(LOWER) | GPUBPF_STAGE_BIT(EMIT),
					     find_printed_stages(target));
		if (status != CLI_OK)
			return status < 0 ? CLI_OK : status;
	}
	if (after && !strcmp(target, "ebpf")) {
		cli_error("--after %s: passes belong to a target; name it with --target", after);
		return CLI_USAGE;
	}
	status = cli_load(args, &loaded);
	if (status != CLI_OK)
		return status;
	if (!cli_is_any_selected(args, &loaded->unit))
		status = CLI_FAILED;
	else if (strcmp(target, "ebpf"))
		status = dump_target(args, &loaded->unit, target);
	for (uint32_t i = 0; i < loaded->unit.nprogs && !strcmp(target, "ebpf"); i++)
		if (cli_is_selected(args, &loaded->unit.progs[i]))
			cli_dump_ebpf(&loaded->unit.progs[i]);
	gpubpf_loaded_destroy(loaded);
	return status;
}
