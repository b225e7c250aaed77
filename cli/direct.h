/* SPDX-License-Identifier: Apache-2.0 */
/* The session of gpubpf prog run and gpubpf prog serve. */
#ifndef GPUBPF_CLI_DIRECT_H
#define GPUBPF_CLI_DIRECT_H

#include "cli/cli.h"
#include "gpubpf/gpubpf.h"

/*
 * Start a session with the object in args->rest[0], and find the program that args->rest[1] names, or the only program of
 * section gpu/run/. Prints of programs appear on standard output, unless *json is set. Returns a status; the caller frees
 * *s in each case.
 */
int cli_direct_open(const struct cli_args *args, const bool *json, struct gpubpf_session **s,
		    const struct gpubpf_prog **prog);

#endif
