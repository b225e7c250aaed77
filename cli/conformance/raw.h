/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of one thread, proven or with each access checked, and the ways to run many of them. */
#ifndef GPUBPF_CLI_CONFORMANCE_H
#define GPUBPF_CLI_CONFORMANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/prog.h"

struct gpubpf_diag;

struct conformance_case {
	char *id;
	uint8_t *mem;             /* r1; r2 is mem_size */
	size_t mem_size;
	uint8_t *insns;           /* the program's bytes, */
	struct gpubpf_unit unit;  /* and decoded: one program, no maps */
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
	const char *(*variable)(const char *name); /* struct gpubpf_device_open's, as what follows */
	const char *cache;
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

/* What a run that was checked ended with (core/lower/lower.h), for people; NULL: it went to its end. */
struct gpubpf_run;
const char *conformance_ended(const struct gpubpf_run *run, char *buf, size_t size);
/* Prove every case that has no error; one that is not proven has one then. */
void conformance_verify(struct conformance_case *cases, size_t n);

/* Cases that have no error as one unit, the programs at the kernel's entry. In the map of a program's number is a struct gpubpf_run
 * with the case's memory behind it. 0, or -errno and a diagnostic. */
#define CONFORMANCE_TOGETHER 32 /* at most */
int conformance_unit(struct conformance_case *const *cases, uint32_t n, const char *kernel, struct gpubpf_unit *unit,
		     struct gpubpf_diag *diag);

/* Run every case that has neither result nor error; each gets one or the other. */
void conformance_run_device(struct conformance_case *cases, size_t n, const struct conformance_opts *opts);
/* Print the cases lowered to opts->target, as one module, instead. */
int conformance_dump(struct conformance_case *cases, size_t n, const struct conformance_opts *opts);
void conformance_run(struct conformance_case *cases, size_t n, const struct conformance_opts *opts);

#endif
