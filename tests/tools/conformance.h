/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance tool's cases and the ways to run them. */
#ifndef GPUBPF_TESTS_CONFORMANCE_H
#define GPUBPF_TESTS_CONFORMANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/prog.h"

struct conformance_case {
	char *id;
	uint8_t *mem;             /* r1; r2 is mem_size */
	size_t mem_size;
	struct gpubpf_unit unit;  /* one program, no maps */
	uint64_t r0;
	bool done;
	char error[400];          /* why there is no r0; "" if there is */
};

struct conformance_opts {
	const char *backend;      /* "host", "opencl", "cuda", "hip" */
	const char *device;       /* NULL: the first */
	const char *target;       /* NULL: what suits the device best */
	bool verify;
	bool dump;                /* print what the device would be given */
};

/* Fill in a case from texts of hex bytes, blanks allowed; a failure is the case's error. */
void conformance_parse(struct conformance_case *c, const char *mem, const char *program);
void conformance_finish(struct conformance_case *c);
void conformance_fail(struct conformance_case *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Run every case that has neither result nor error; each gets one or the other. */
void conformance_run_device(struct conformance_case *cases, size_t n, const struct conformance_opts *opts);
/* Print the cases lowered to opts->target, as one module, instead. */
int conformance_dump(struct conformance_case *cases, size_t n, const struct conformance_opts *opts);
void conformance_run(struct conformance_case *cases, size_t n, const struct conformance_opts *opts);

#endif
