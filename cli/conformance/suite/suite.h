/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite: cases with expected results, the same files for every device. They are installed with the
 * tool, as objects. A run executes each case on each device and stores the results.
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
	char name[96];           /* relative to the suite's folder: "isa.o", "maps.array.bpf.o" */
	char sha256[65];
	uint8_t *bytes;
	size_t size;
};

/* one case: a whole object, or a program of one thread, with the address and length of mem in r1 and r2 */
struct suite_case {
	char *group, *name;      /* "isa", "add32-imm" */
	uint32_t object;
	char *program, *mem;     /* hex; mem may be NULL */
	char *result;            /* expected r0, hex; NULL: the case expects an error */
	char *error;             /* regular expression that the error must match */
	/* expected refusal before the run, as a rule of core/model/errors.def and text of the message; NULL: none */
	char *refused;
	char *expect;            /* expectations of an object: lines (cli/conformance/grid/grid.h); else NULL */
	/* run as a random program (cli/conformance/random/random.h); without a program, run the programs of the run's seed */
	bool random;
	uint64_t launch;         /* number of a random program's launch */
	bool may_be_refused;     /* the case states no verdict: a refusal is no failure */
};

struct suite {
	char folder[4096];       /* folder of the installed suite; "": not searched */
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

/* result of one case on one device */
struct suite_result {
	enum suite_state state;
	char expected[160];
	char got[400];           /* SKIPPED: the reason */
};

struct suite_device {
	struct gpubpf_device_caps caps; /* backend "host": the interpreter */
	uint32_t index;                 /* index in its backend */
	struct suite_result *results;   /* [ncases] */
};

/* settings and results of a run */
struct suite_run {
	struct suite suite;
	struct suite_device *devices;
	uint32_t ndevices;
	struct suite_missing {
		char backend[16], why[160];
	} missing[16];
	uint32_t nmissing;
	const char *device;      /* part of the names of the devices to use; NULL: all */
	const char *target;      /* target for the devices; NULL: the best for each */
	const struct gpubpf_target_info *route; /* not NULL: cases probe kernels, by this target only */
	enum gpubpf_placement place; /* placement of maps, where possible; DEVICE is 0 */
	const char *runtime_dir; /* for sockets; NULL: the library's default */
	const char *(*variable)(const char *name); /* for struct gpubpf_device_open, like `cache` */
	const char *cache;
	bool random;             /* run random programs instead of the suite */
	uint64_t seed, programs, seconds; /* first seed, number and duration of random programs; 0: no limit */
	uint64_t jobs;           /* number of parallel processes for them */
	bool verify;             /* verify programs first; else check each access at run time */
};

/*
 * suite.c. Returns 0, or -errno with the reason in `why`. Cases whose "group/name" does not match the glob are skipped.
 */
int suite_find(struct suite *s, char *why, size_t size); /* only finds the folder */
int suite_read(struct suite *s, const char *glob, char *why, size_t size);
void suite_finish(struct suite *s);
/* The first object from index i on that contains a case; nobjects: none. */
uint32_t suite_object(const struct suite *s, uint32_t i);
/*
 * table.c: read cases from a file with tab-separated lines, the format of the public suite bpf_conformance.
 * Columns: name, version, group, instructions, flags, r0 in hex, -, program in hex, memory in hex.
 */
int suite_read_table(struct suite *s, const char *path, const char *glob, char *why, size_t size);

/* cli/conformance/random/random.c: create the single case for random programs. Returns 0 or -ENOMEM. */
int suite_make_random(struct suite *s, uint64_t seed);

/* one_device.c: run all cases on a device; each gets a result. progress may be NULL. */
void suite_run_device(const struct suite_run *run, struct suite_device *device,
		      void (*progress)(void *arg, size_t done), void *arg);

/* Number of cases of a group (NULL: all) with this state. */
uint32_t suite_count(const struct suite_run *run, const struct suite_device *device, const char *group,
		     enum suite_state state);
/* The name of the i-th group, in the order of the cases; NULL past the end. */
const char *suite_group(const struct suite *s, uint32_t i);

/* Print the failures, and each reason for skipped cases once; lines begin with `before`. */
void suite_put_failures(const struct suite_run *run, const struct suite_device *d, const char *before, FILE *out);
void suite_put_skipped(const struct suite_run *run, const struct suite_device *d, const char *before, FILE *out);

/* One file per output format. */
void suite_write_text(const struct suite_run *run, FILE *out);
void suite_write_json(const struct suite_run *run, FILE *out);
void suite_write_junit(const struct suite_run *run, FILE *out);
void suite_write_markdown(const struct suite_run *run, FILE *out);

#endif
