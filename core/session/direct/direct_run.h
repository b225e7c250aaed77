/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct runs of a program in gpubpf-runner (core/wire/direct.h). begin() starts the runner, which joins the session.
 * The caller serves the session until is_done() returns true, then calls end(). A session has one direct run at a time.
 */
#ifndef GPUBPF_SESSION_DIRECT_RUN_H
#define GPUBPF_SESSION_DIRECT_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "gpubpf/gpubpf.h"

struct gpubpf_direct_run;

/*
 * Start a run of the link's program. If `queues` is not 0, start an executor's resident launch with that many bytes of
 * queues; it has no time limit. Returns 0, or -errno with the reason in
 * gpubpf_session__error().
 */
int gpubpf_direct_begin(struct gpubpf_session *s, uint32_t link, const struct gpubpf_test_run_opts *opts, size_t queues,
			struct gpubpf_direct_run **run);
struct gpubpf_direct_block *gpubpf_direct_block(const struct gpubpf_direct_run *run);
uint64_t gpubpf_direct_launches(const struct gpubpf_direct_run *run); /* launches that ran the program */
/* Returns why launches of gpubpf's kernel were not probed, or "". */
const char *gpubpf_direct_reason(const struct gpubpf_direct_run *run);
uint32_t gpubpf_direct_number(const struct gpubpf_direct_run *run); /* number of the run in the session, from 1 */
size_t gpubpf_direct_data_size(const struct gpubpf_direct_run *run);
/* Returns true if the runner has ended and its connection is closed. Kills the runner after its time limit. */
bool gpubpf_direct_is_done(struct gpubpf_direct_run *run);
bool gpubpf_direct_is_forgotten(struct gpubpf_direct_run *run); /* done, and 5 s have passed since its end */
/*
 * Store the results in *opts, which may be another struct than that of begin(), and free the run. If the run is not
 * done, kill the runner. Returns 0, or -errno with the reason in gpubpf_session__error().
 */
int gpubpf_direct_end(struct gpubpf_direct_run *run, struct gpubpf_test_run_opts *opts);

#endif
