/* SPDX-License-Identifier: Apache-2.0 */
#include "emit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/worker/job.h"

const struct gpubpf_target_info *conformance_target(const char *name, const struct gpubpf_device_caps *caps)
{
	const struct gpubpf_target_info *t = name ? gpubpf_target_find(name) : NULL;

	for (size_t i = 0; !name && (t = gpubpf_target_at(i)); i++)
		if (gpubpf_target_emits_for(t, caps))
			return t;
	return t && t->output ? t : NULL;
}

int conformance_open(const struct conformance_opts *opts, struct conformance_device *d, struct gpubpf_reason *why)
{
	const char *missing = gpubpf_device_missing(opts->backend);
	struct gpubpf_device_open how = {
		.name = opts->device, .index = opts->index, .variable = opts->variable, .cache = opts->cache
	};
	const struct gpubpf_device_caps *caps;

	if (missing[0]) {
		snprintf(why->text, sizeof(why->text), "backend %s: %s", opts->backend, missing);
		return -ENODEV;
	}
	d->ops = gpubpf_device_find(opts->backend);
	if (d->ops->open(&how, &d->device, why) < 0)
		return -ENODEV;
	caps = d->ops->caps(d->device);
	d->target = conformance_target(opts->target, caps);
	if (d->target)
		return 0;
	snprintf(why->text, sizeof(why->text),
		 "device %s: gpubpf cannot generate code for this device; selected target: %s", caps->name,
		 opts->target ? opts->target : "none");
	return -ENODEV;
}

bool conformance_once(const struct conformance_device *d)
{
	return d->target && d->target->output == GPUBPF_IMAGE_SPIRV;
}

int conformance_lower(const struct gpubpf_target_info *target, const struct gpubpf_lower_job *job, bool one_kernel,
		      struct gpubpf_blob *blob, struct gpubpf_diag *diag)
{
	static struct gpubpf_worker *workers[GPUBPF_NWORKERS];
	struct gpubpf_worker **worker = &workers[target->worker];
	struct gpubpf_worker_opts how = { .kind = target->worker, .timeout_ms = 60000 };
	struct gpubpf_target_opts opts = { .opt_level = 2, .kernels = !one_kernel, .one_kernel = one_kernel };
	int err = *worker ? 0 : gpubpf_worker_create(&how, worker);

	if (err < 0) {
		gpubpf_diag_set(diag, GPUBPF_E_SYSTEM, GPUBPF_NOPC, "%s: %s", gpubpf_worker_program(target->worker),
				strerror(-err));
		return err;
	}
	return gpubpf_worker_emit(*worker, target->name, job, &opts, blob, diag);
}

int conformance_emit(const struct gpubpf_target_info *target, struct gpubpf_lower_job *job,
		     struct conformance_case *cases, uint32_t n, struct gpubpf_blob *blob, struct gpubpf_diag *diag)
{
	struct gpubpf_prog progs[CONFORMANCE_GROUP];
	struct gpubpf_site_desc sites[CONFORMANCE_GROUP];
	uint32_t order[CONFORMANCE_GROUP];
	struct gpubpf_unit unit = { .progs = progs, .nprogs = n };

	for (uint32_t i = 0; i < n; i++) {
		order[i] = i;
		progs[i] = *cases[i].unit.progs;
		sites[i] = (struct gpubpf_site_desc){
			.site = GPUBPF_SITE_ENTRY,
			.kernel = "run",
			.progs = &order[i],
			.nprogs = 1,
			.may_end_thread = true,
		};
	}
	job->unit = &unit;
	job->sites = sites;
	job->nsites = n;
	return conformance_lower(target, job, false, blob, diag);
}

int conformance_dump(struct conformance_case *cases, size_t n, const struct conformance_opts *opts)
{
	struct gpubpf_device_caps caps = { .bits = GPUBPF_CAP_ATOMIC64 | GPUBPF_CAP_ACCEPTS_OPENCL_C };
	struct gpubpf_lower_job job = {
		.caps = &caps,
		.run_off = CONFORMANCE_RUN_OFF,
		.plain_mem = true,
		.checked = !opts->verify,
	};
	const struct gpubpf_target_info *target = conformance_target(opts->target, &caps);
	struct gpubpf_blob blob;
	struct gpubpf_diag diag;
	char text[600];

	if (!target)
		return -1;
	snprintf(caps.arch, sizeof(caps.arch), "%s", opts->device ? opts->device : "");
	for (size_t i = 0; i < n; i++)
		if (cases[i].error[0])
			return -1;
	gpubpf_diag_init(&diag);
	if (n > CONFORMANCE_GROUP || conformance_emit(target, &job, cases, n, &blob, &diag) < 0) {
		if (diag.code)
			gpubpf_diag_brief(&diag, text, sizeof(text));
		conformance_fail(&cases[0], "%s", diag.code ? text : "too many programs");
		return -1;
	}
	fwrite(blob.data, 1, blob.size, stdout);
	free(blob.data);
	return 0;
}
