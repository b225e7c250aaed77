/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-thread programs, and functions that run many of them. A program is either proven by the verifier, or its accesses
 * are checked at run time.
 */
#ifndef GPUBPF_CLI_CONFORMANCE_H
#define GPUBPF_CLI_CONFORMANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/model/prog.h"

struct gpubpf_diag;

struct conformance_case {
	char *id;
	uint8_t *mem; /* the program's memory; r1 is its address, and r2 is mem_size */
	size_t mem_size;
	uint8_t *insns;          /* the program's instructions as bytes */
	struct gpubpf_unit unit; /* the decoded program, without maps */
	uint64_t r0;
	bool done;
	/* name of the rule by which the decoder or the verifier refused the program; NULL: not refused */
	const char *rule;
	char error[400]; /* why the case has no result r0; "": it has a result, or did not run yet */
};

struct conformance_opts {
	const char *backend;                       /* "host", "opencl", ... */
	const char *device;                        /* text that the device's name contains; NULL: any device */
	uint32_t index;                            /* index of the device among the devices with such names */
	const char *target;                        /* name of a target; NULL: the best target for the device */
	const char *(*variable)(const char *name); /* `variable`, `cache`: see struct gpubpf_device_open */
	const char *cache;
	bool verify;
	bool dump; /* print the lowered code instead of running it */
	/* called with the number of cases that a device has finished; may be NULL */
	void (*progress)(void *arg, size_t done);
	void *arg;
};

/* Returns true if the backend is the interpreter, which runs in this process. */
static inline bool conformance_is_host(const char *backend)
{
	return !strcmp(backend, "host");
}

/* Fill in a case from hex digits, which may contain spaces. Sets the case's error on failure. */
void conformance_parse(struct conformance_case *c, const char *mem, const char *program);
void conformance_finish(struct conformance_case *c);
void conformance_fail(struct conformance_case *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Return a message why a run with checks ended early (core/lower/lower.h), or NULL if the run completed. */
struct gpubpf_run;
const char *conformance_ended(const struct gpubpf_run *run, char *buf, size_t size);
/* Verify every case that has no error yet. A refused case gets an error. */
void conformance_verify(struct conformance_case *cases, size_t n);

/*
 * Combine the cases that have no error into one unit, and attach all programs to the entry of `kernel`. Map i contains
 * a struct gpubpf_run for program i, followed by the case's memory. Returns 0, or -errno with a diagnostic.
 */
#define CONFORMANCE_TOGETHER 32 /* maximum number of cases in a unit */
int conformance_unit(struct conformance_case *const *cases, uint32_t n, const char *kernel, struct gpubpf_unit *unit,
		     struct gpubpf_diag *diag);

/* Run every case that has neither a result nor an error yet. Afterwards each case has a result or an error. */
void conformance_run_device(struct conformance_case *cases, size_t n, const struct conformance_opts *opts);
/* Lower the cases to one module for opts->target and print its code, without running it. */
int conformance_dump(struct conformance_case *cases, size_t n, const struct conformance_opts *opts);
void conformance_run(struct conformance_case *cases, size_t n, const struct conformance_opts *opts);

#endif
