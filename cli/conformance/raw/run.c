/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies programs, and runs them on the interpreter or on a device. */
#include <stdlib.h>
#include <string.h>

#include "raw.h"
#include "core/model/diag.h"
#include "core/model/facts.h"
#include "core/interp/interp.h"

static void verify(struct conformance_case *c)
{
	struct gpubpf_verify_opts opts = {
		.plain_mem = true, .mem_size = c->mem_size, .allow_exit_thread = true, .allow_ptr_leaks = true
	};
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (gpubpf_verify(&c->unit, c->unit.progs, &opts, &diag) < 0) {
		conformance_fail(c, "the verifier refuses it: instruction %u: %s", diag.pc, diag.what);
		c->rule = gpubpf_error_name(diag.code);
	}
}

static void run_host(struct conformance_case *c)
{
	struct gpubpf_interp_job job = {
		.unit = &c->unit,
		.prog = c->unit.progs,
		.mem = c->mem,
		.mem_size = c->mem_size,
	};
	struct gpubpf_interp_result result;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (gpubpf_interp_run(&job, &result, &diag) < 0) {
		conformance_fail(c, "instruction %u: %s", diag.pc, diag.what);
		return;
	}
	c->r0 = result.r0;
	c->done = true;
}

void conformance_verify(struct conformance_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!cases[i].error[0])
			verify(&cases[i]);
}

void conformance_run(struct conformance_case *cases, size_t n, const struct conformance_opts *opts)
{
	if (opts->verify)
		conformance_verify(cases, n);
	if (opts->dump) {
		conformance_dump(cases, n, opts);
		return;
	}
	if (!conformance_is_host(opts->backend)) {
		conformance_run_device(cases, n, opts);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (!cases[i].error[0])
			run_host(&cases[i]);
}
