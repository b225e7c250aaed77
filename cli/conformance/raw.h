/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of one thread, proven or with each access checked, and the ways to run many of them. */
#ifndef GPUBPF_CLI_CONFORMANCE_H
#define GPUBPF_CLI_CONFORMANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/prog.h"

struct conformance_case {
	char *id;
	uint8_t *mem;             /* r1; r2 is mem_size */
	size_t mem_size;
	struct gpubpf_unit unit;  /* one program, no maps */
	uint64_t r0;
	bool done;
	const char *rule;         /* by which the decoder or the verifier refused it, as error tells; NULL: it did not */
	char error[400];          /* why there is no r0; "" if there is */
};

struct conformance_opts {
	const char *backend;      /* "host", "opencl", ... */
	const char *device;       /* a part of its name; NULL: any */
	uint32_t index;           /* of those, this one */
	const char *target;       /* NULL: what suits the device best */
	bool verify;
	bool dump;                /* print what the device would be given */
	void (*progress)(void *arg, size_t done); /* cases that are done on a device, now and then; may be NULL */
	void *arg;
};

/* The interpreter, in this process. */
static inline bool conformance_is_host(const char *backend)
{
	return !strcmp(backend, "host");
}

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
