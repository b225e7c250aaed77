/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf prog dump: prints a program after each stage of its compilation. A worker generates the code of a target. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/model/facts.h"
#include "core/load/load.h"
#include "core/worker/job.h"
#include "maps/maps.h"

static bool is_selected(const struct cli_args *args, const struct gpubpf_prog *p)
{
	const char *name = cli_str(args, OPT_PROGRAM, NULL);

	return !name || !strcmp(name, p->name);
}

/* Return the capabilities of a device that has all of them, so that no program is refused because of a device. */
static struct gpubpf_device_caps any_device(const char *cpu)
{
	struct gpubpf_device_caps caps = {
		.name = "any",
		.bits = GPUBPF_CAP_ACCEPTS_SPIRV | GPUBPF_CAP_ACCEPTS_OPENCL_C | GPUBPF_CAP_ATOMIC64 | GPUBPF_CAP_LINK |
			GPUBPF_CAP_EXIT_THREAD | GPUBPF_CAP_OFFSET | GPUBPF_CAP_SUBGROUPS | GPUBPF_CAP_ALLOCATIONS,
		.clock = GPUBPF_CLOCK_KHR,
		.compute_units = 64,
		.warp_size = 32,
		.spirv_version = 0x00010400,
		.opencl_c_version = 300,
		.address_bits = 64,
		.max_threads_per_block = 1024,
	};

	snprintf(caps.arch, sizeof(caps.arch), "%s", cpu ? cpu : "");
	return caps;
}

static int verify(struct gpubpf_unit *unit, uint32_t *use, bool *prints, struct gpubpf_diag *diag)
{
	struct gpubpf_verify_opts opts = { .max_cost = UINT64_MAX, .allow_exit_thread = true };

	for (uint32_t i = 0; i < unit->nprogs; i++) {
		int err = gpubpf_verify(unit, &unit->progs[i], &opts, diag);

		if (err < 0) {
			gpubpf_diag_where(diag, "program %s", unit->progs[i].name);
			return err;
		}
		*prints |= unit->progs[i].facts->prints;
		for (uint32_t m = 0; m < unit->nmaps; m++)
			use[m] |= unit->progs[i].facts->map_use[m];
	}
	return 0;
}

static int emit(const struct cli_args *args, const char *target, const struct gpubpf_lower_job *job,
		struct gpubpf_blob *blob, struct gpubpf_diag *diag)
{
	struct gpubpf_target_opts opts = { .opt_level = 2, .text = true, .cpu = cli_str(args, OPT_CPU, NULL) };
	struct gpubpf_worker_opts worker_opts = { .kind = gpubpf_target_find(target)->worker };
	struct gpubpf_worker *worker;
	int err = gpubpf_worker_create(&worker_opts, &worker);

	if (err < 0)
		return err;
	err = gpubpf_worker_emit(worker, target, job, &opts, blob, diag);
	gpubpf_worker_destroy(worker);
	return err;
}

/* Make one site for each selected program; gpubpf_site_<n> is the function of the n-th site. */
static uint32_t make_sites(const struct cli_args *args, const struct gpubpf_unit *unit, uint32_t *index,
			   struct gpubpf_site_desc *sites)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < unit->nprogs; i++) {
		if (!is_selected(args, &unit->progs[i]))
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

static int lower(const struct cli_args *args, struct gpubpf_unit *unit, const char *target, uint32_t *use,
		 struct gpubpf_blob *blob, struct gpubpf_diag *diag)
{
	struct gpubpf_device_caps caps = any_device(cli_str(args, OPT_CPU, NULL));
	struct gpubpf_site_desc *sites = calloc(unit->nprogs + 1, sizeof(*sites));
	uint32_t *index = calloc(unit->nprogs + 1, sizeof(*index));
	struct gpubpf_layout_opts layout_opts = { .replicas = caps.compute_units, .map_use = use };
	struct gpubpf_lower_job job = { .unit = unit, .caps = &caps, .sites = sites };
	struct gpubpf_layout layout = { 0 };
	bool prints = false;
	int err = sites && index ? verify(unit, use, &prints, diag) : -ENOMEM;

	layout_opts.print_bytes = prints ? 1 << 20 : 0;
	if (!err)
		err = gpubpf_layout_compute(unit, &layout_opts, &layout, diag);
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
	uint32_t *use = calloc(unit->nmaps + 1, sizeof(*use));
	struct gpubpf_blob blob = { 0 };
	struct gpubpf_diag diag;
	int err;

	gpubpf_diag_init(&diag);
	err = use ? lower(args, unit, target, use, &blob, &diag) : -ENOMEM;
	if (err < 0) {
		gpubpf_diag_set(&diag, GPUBPF_E_SYSTEM, GPUBPF_NOPC, "%s", strerror(-err));
		cli_diag(&diag);
	} else {
		fwrite(blob.data, 1, blob.size, stdout);
	}
	free(blob.data);
	free(use);
	for (uint32_t i = 0; i < unit->nprogs; i++) {
		gpubpf_facts_destroy(unit->progs[i].facts);
		unit->progs[i].facts = NULL;
	}
	return err < 0 ? CLI_FAILED : CLI_OK;
}

static bool is_any_selected(const struct cli_args *args, const struct gpubpf_unit *unit)
{
	for (uint32_t i = 0; i < unit->nprogs; i++)
		if (is_selected(args, &unit->progs[i]))
			return true;
	cli_error("--program %s: the object has no such program; gpubpf prog show lists them",
		  cli_str(args, OPT_PROGRAM, "?"));
	return false;
}

int gpubpf_cmd_prog_dump(const struct cli_args *args)
{
	const char *target = cli_str(args, OPT_TARGET, "ebpf");
	struct gpubpf_loaded *loaded;
	int status;

	if (!cli_value_known(OPT_TARGET, target))
		return CLI_USAGE;
	status = cli_load(args, &loaded);
	if (status != CLI_OK)
		return status;
	if (!is_any_selected(args, &loaded->unit))
		status = CLI_FAILED;
	else if (strcmp(target, "ebpf"))
		status = dump_target(args, &loaded->unit, target);
	for (uint32_t i = 0; i < loaded->unit.nprogs && !strcmp(target, "ebpf"); i++)
		if (is_selected(args, &loaded->unit.progs[i]))
			cli_dump_ebpf(&loaded->unit.progs[i]);
	gpubpf_loaded_destroy(loaded);
	return status;
}
