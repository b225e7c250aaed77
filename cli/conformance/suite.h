/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite: cases that say what they give, the same files for every device. They come with the tool, as
 * objects; a run takes each case to each device and keeps what came of it.
 */
#ifndef GPUBPF_CLI_CONFORMANCE_SUITE_H
#define GPUBPF_CLI_CONFORMANCE_SUITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/target.h"
#include "core/wire/placement.h"

#define SUITE_JOBS 256

struct suite_object {
	char path[512];
	char name[96];           /* in the suite's folder: "isa.o", "maps.array.bpf.o" */
	char sha256[65];
	uint8_t *bytes;
	size_t size;
};

/* one case: a program of one thread, whose r1 and r2 are address and length of mem; or a whole object */
struct suite_case {
	char *group, *name;      /* "isa", "add32-imm" */
	uint32_t object;
	char *program, *mem;     /* hex; mem may be NULL */
	char *result;            /* r0, hex; NULL: it fails with */
	char *error;             /* what matches this regular expression */
	char *refused;           /* before it runs: by this rule of core/errors.def, and what is said; NULL: it is not */
	char *expect;            /* of an object: lines (grid.h); else NULL */
	bool random;             /* run as random programs are (random.h); without a program, those of the run's seed */
	uint64_t launch;         /* of a random program: the launch's number */
	bool may_be_refused;     /* it does not say: a refusal is no failure */
};

struct suite {
	char folder[4096];       /* where what comes with the tool lies; "": it was not looked for */
	struct suite_object *objects;
	uint32_t nobjects;
	struct suite_case *cases;
	uint32_t ncases;
};

enum suite_state {
	SUITE_FAILED,
	SUITE_PASSED,
	SUITE_SKIPPED,
};

/* what came of one case on one device */
struct suite_result {
	enum suite_state state;
	char expected[160];
	char got[400];           /* SKIPPED: the reason */
};

struct suite_device {
	struct gpubpf_device_caps caps; /* backend "host": the interpreter */
	uint32_t index;                 /* in its backend */
	struct suite_result *results;   /* [ncases] */
};

/* what a run is about */
struct suite_run {
	struct suite suite;
	struct suite_device *devices;
	uint32_t ndevices;
	struct suite_missing {
		char backend[16], why[160];
	} missing[16];
	uint32_t nmissing;
	const char *device;      /* a part of the names of those to run on; NULL: all */
	const char *target;      /* what devices are given; NULL: what suits them best */
	const struct gpubpf_target_info *route; /* NULL, or objects are probes, put into kernels by this target alone */
	enum gpubpf_placement place; /* where their maps lie that can, DEVICE 0 */
	const char *runtime_dir; /* for sockets; NULL: the library's */
	const char *(*variable)(const char *name); /* struct gpubpf_device_open's, as what follows */
	const char *cache;
	bool random;             /* random programs instead of the suite */
	uint64_t seed, programs, seconds; /* of these: so many, or for so long; 0: no limit */
	uint64_t jobs;           /* processes that run them side by side */
	bool verify;             /* programs are proven first; else each access is checked as it is made */
};

/* suite.c. 0, or -errno with the reason in why. Cases whose "group/name" the glob does not match are left out. */
int suite_find(struct suite *s, char *why, size_t size); /* its folder alone */
int suite_read(struct suite *s, const char *glob, char *why, size_t size);
void suite_finish(struct suite *s);
/* The next object from i on that a case which was not left out is in; nobjects: there is none. */
uint32_t suite_object(const struct suite *s, uint32_t i);
/* suite_table.c: the cases of a file of lines with tabs, as the public suite bpf_conformance is passed on: name, version,
 * group, instructions, flags, r0 in hex, -, program in hex, memory in hex. */
int suite_read_table(struct suite *s, const char *path, const char *glob, char *why, size_t size);

/* random.c: the one case of random programs. -ENOMEM. */
int suite_make_random(struct suite *s, uint64_t seed);

/* one_device.c: run all cases on a device; each gets a result. progress may be NULL. */
void suite_run_device(const struct suite_run *run, struct suite_device *device,
		      void (*progress)(void *arg, size_t done), void *arg);

/* Of the cases of a group (NULL: all), how many ended so. */
uint32_t suite_count(const struct suite_run *run, const struct suite_device *device, const char *group,
		     enum suite_state state);
/* The name of the i-th group, in the order of the cases; NULL past the end. */
const char *suite_group(const struct suite *s, uint32_t i);

/* What failed, and each reason for which cases were skipped, once; lines begin with `before`. */
void suite_put_failures(const struct suite_run *run, const struct suite_device *d, const char *before, FILE *out);
void suite_put_skipped(const struct suite_run *run, const struct suite_device *d, const char *before, FILE *out);

/* One file a form. */
void suite_write_text(const struct suite_run *run, FILE *out);
void suite_write_json(const struct suite_run *run, FILE *out);
void suite_write_junit(const struct suite_run *run, FILE *out);
void suite_write_markdown(const struct suite_run *run, FILE *out);

#endif
