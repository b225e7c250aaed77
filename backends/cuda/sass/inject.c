/* SPDX-License-Identifier: Apache-2.0 */
/* The making of twins out of machine code and probes. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/wire/twin_format.h"
#include "check.h"
#include "core/diag.h"
#include "image.h"
#include "target.h"
#include "twin.h"

/* the job's sites on the kernel that its first one names */
struct making {
	const struct gpubpf_lower_job *job;
	struct sass_cubin probes;
	struct sass_probe entry, exit;
	bool has_entry, has_exit;
	struct gpubpf_blob made;
	bool found;
};

/* A probe at the entry cannot end the thread: its EXITs lead to the kernel. */
static int check_site(const struct gpubpf_lower_job *job, const struct gpubpf_site_desc *site, struct gpubpf_diag *diag)
{
	assert(site->site == GPUBPF_SITE_ENTRY || site->site == GPUBPF_SITE_EXIT); /* no other is in the target's mask */
	for (uint32_t i = 0; site->site == GPUBPF_SITE_ENTRY && i < site->nprogs; i++) {
		const struct gpubpf_prog *prog = &job->unit->progs[site->progs[i]];

		if (!prog->facts || prog->facts->ends_thread)
			return gpubpf_diag_set(diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC,
					       "program %s ends threads (helper 507), which machine code's entries cannot",
					       prog->name);
	}
	return 0;
}

static int read_probes(struct making *m, struct gpubpf_diag *diag)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < m->job->nsites; i++) {
		const struct gpubpf_site_desc *site = &m->job->sites[i];
		bool entry = site->site == GPUBPF_SITE_ENTRY;
		char name[40];

		if (strcmp(site->kernel, m->job->sites[0].kernel))
			continue;
		err = check_site(m->job, site, diag);
		if (err < 0)
			return err;
		snprintf(name, sizeof(name), "gpubpf_inline_%u", i);
		err = sass_probe_read(&m->probes, name, entry ? &m->entry : &m->exit, diag);
		*(entry ? &m->has_entry : &m->has_exit) = !err;
	}
	return err;
}

/* The addresses that are the agent's to fill in go with the cubin. */
static int pack(const struct sass_cubin *app, struct sass_twin *twin)
{
	struct cuda_twin_address *addresses = calloc(twin->nbindings + 1, sizeof(*addresses));
	int err;

	if (!addresses)
		return -ENOMEM;
	for (uint32_t i = 0; i < twin->nbindings; i++)
		addresses[i] = (struct cuda_twin_address){ app->symbols[twin->bindings[i].symbol].name,
							   twin->bindings[i].off, twin->bindings[i].addend,
							   twin->bindings[i].part };
	err = cuda_twin_pack(&twin->cubin.data, &twin->cubin.size, addresses, twin->nbindings);
	free(addresses);
	return err;
}

/* No twin leaves that was not read back. */
static int finish(struct making *m, const struct sass_cubin *app, const struct sass_kernel *k,
		  const struct sass_code *code, struct sass_twin *twin, struct gpubpf_diag *diag)
{
	int err;

	err = sass_check(app, k, code, twin->cubin.data, twin->cubin.size, m->has_entry, m->has_exit, diag);
	if (err < 0)
		return err;
	err = pack(app, twin);
	if (err < 0)
		return err;
	m->made = twin->cubin;
	twin->cubin = (struct gpubpf_blob){ 0 };
	return 0;
}

/* Do the insertions have the places of the code, the exits all or none? */
static int check_places(const struct making *m, const struct sass_code *code, struct gpubpf_diag *diag)
{
	struct gpubpf_inserting at = { .job = m->job, .kernel = m->job->sites[0].kernel };
	bool entry = gpubpf_site_at(&at, GPUBPF_SITE_ENTRY, "", 0) != UINT32_MAX;
	uint32_t exits = 0;

	for (uint32_t i = 0; i < code->nexits; i++)
		exits += gpubpf_site_at(&at, GPUBPF_SITE_EXIT, "", i) != UINT32_MAX;
	if (entry != m->has_entry || exits != (m->has_exit ? code->nexits : 0))
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "%u of its %u exits are to have a probe, and all of them or none can", exits,
				       code->nexits);
	return gpubpf_all_inserted(&at, diag);
}

static int make(struct making *m, const struct sass_cubin *app, const struct sass_kernel *k, struct gpubpf_diag *diag)
{
	struct sass_grafted grafted = { 0 };
	struct sass_twin twin = { 0 };
	struct sass_code code;
	int err;

	if (app->sm != m->probes.sm)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "its machine code is for sm_%u, and the probes were made for sm_%u", app->sm,
				       m->probes.sm);
	err = sass_code_read(app, k, &code, diag);
	if (err < 0)
		return err;
	err = check_places(m, &code, diag);
	m->has_exit &= code.nexits || !m->has_entry; /* one that never ends has an entry all the same */
	if (!err)
		err = sass_graft(&code, k->regs, m->has_entry ? &m->entry : NULL, m->has_exit ? &m->exit : NULL, &grafted,
				 diag);
	if (!err)
		err = sass_twin_write(app, k, &code, &m->probes, &grafted, &twin, diag);
	if (!err)
		err = finish(m, app, k, &code, &twin, diag);
	sass_twin_finish(&twin);
	sass_grafted_finish(&grafted);
	sass_code_finish(&code);
	return err;
}

/* Of two cubins with the same kernel nobody here knows which the driver took. */
static int try_cubin(void *arg, const void *data, size_t size, struct gpubpf_diag *diag)
{
	const struct sass_kernel *k;
	struct making *m = arg;
	struct sass_cubin app;
	int err = sass_cubin_open(data, size, &app, diag);

	if (err < 0)
		return err;
	k = sass_kernel_find(&app, m->job->sites[0].kernel);
	if (k && m->found)
		err = gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				      "the image has it twice, and which of the two runs is not clear");
	else if (k)
		err = make(m, &app, k, diag);
	m->found |= k != NULL;
	sass_cubin_finish(&app);
	return err;
}

static int make_twin(struct making *m, const struct gpubpf_image *image, struct gpubpf_diag *diag)
{
	uint32_t sm = sass_image_arch(image->data, image->size, sass_capability(m->job->caps));
	int err = read_probes(m, diag);

	if (!err)
		err = sass_image_each(image->data, image->size, sm, try_cubin, m, diag);
	if (!err && !m->found)
		err = gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the image has no machine code of it for sm_%u",
				      sm);
	return err;
}

int sass_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
		const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	struct gpubpf_twin_image made = { 0 };
	struct making m = { .job = job };
	int err;

	if (!job->nsites || !opts->probes_size)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "no kernel is named, or no probes are given");
	err = sass_cubin_open(opts->probes, opts->probes_size, &m.probes, diag);
	if (err < 0)
		return err;
	err = gpubpf_twin_of_one(job, &made);
	if (!err)
		err = make_twin(&m, image, diag);
	sass_probe_finish(&m.entry);
	sass_probe_finish(&m.exit);
	sass_cubin_finish(&m.probes);
	if (err < 0) {
		free(m.made.data);
		free(made.refused);
		free(made.twins);
		return err;
	}
	made.piece[0] = (struct gpubpf_twin_piece){ GPUBPF_IMAGE_CUBIN, m.made, NULL };
	made.npieces = 1;
	*out = made;
	return 0;
}
