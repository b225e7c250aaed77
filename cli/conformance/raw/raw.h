/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of one thread, either proven or with accesses that are checked at run time, and functions to run many of
 * them.
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
	uint8_t *mem; /* the memory to which r1 points; r2 is mem_size */
	size_t mem_size;
	uint8_t *insns;          /* the program's instructions as bytes */
	struct gpubpf_unit unit; /* the decoded program, without maps */
	uint64_t r0;
	bool done;
	const char *rule; /* name of the rule by which the decoder or the verifier refused it; NULL: accepted */
	char error[400];  /* why there is no r0; "": there is, or the case did not run yet */
};

struct conformance_opts {
	const char *backend;                       /* "host", "opencl", ... */
	const char *device;                        /* text that the device's name contains; NULL: any device */
	uint32_t index;                            /* index among the devices with such names */
	const char *target;                        /* NULL: the best target for the device */
	const char *(*variable)(const char *name); /* reads variables for struct gpubpf_device_open; `cache` is for
						    * it too */
	const char *cache;
	bool verify;
	bool dump;                                /* print the lowered code instead of running it */
	void (*progress)(void *arg, size_t done); /* reports the number of finished cases on a device; may be NULL */
	void *arg;
};

/* Is the backend the interpreter in this process? */
static inline bool conformance_is_host(const char *backend)
{
	return !strcmp(backend, "host");
}

/* Fill in a case from texts of hex digits, which may contain blanks. Sets the case's error on failure. */
void conformance_parse(struct conformance_case *c, const char *mem, const char *program);
void conformance_finish(struct conformance_case *c);
void conformance_fail(struct conformance_case *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Return why a checked run ended early (core/lower/lower.h), as text; NULL: the run completed. */
struct gpubpf_run;
const char *conformance_ended(const struct gpubpf_run *run, char *buf, size_t size);
/* Verify every case that has no error; sets the error of cases that are not proven. */
void conformance_verify(struct conformance_case *cases, size_t n);

/*
 * Combine cases without errors to one unit, with all programs at the kernel's entry. Map i contains a struct gpubpf_run
 * for program i, followed by the case's memory. Returns 0, or -errno and a diagnostic.
 */
#define CONFORMANCE_TOGETHER 32 /* maximum number of cases */
int conformance_unit(struct conformance_case *const *cases, uint32_t n, const char *kernel, struct gpubpf_unit *unit,
		     struct gpubpf_diag *diag);

/* Run every case that has neither a result nor an error; then each has one of them. */
void conformance_run_device(struct conformance_case *cases, size_t n, const struct conformance_opts *opts);
/* Print the cases as one module, lowered to opts->target, instead of running them. */
int conformance_dump(struct conformance_case *cases, size_t n, const struct conformance_opts *opts);
void conformance_run(struct conformance_case *cases, size_t n, const struct conformance_opts *opts);

#endif
