/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite: cases with expected results. Their files, installed objects, are the same for every device. A
 * run executes each case on each device and stores the results.
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
	char name[96]; /* path relative to the suite's folder: "isa.o", "maps.array.bpf.o" */
	char sha256[65];
	uint8_t *bytes;
	size_t size;
};

/* One case: a whole object, or a program of one thread that gets the address and the length of mem in r1 and r2. */
struct suite_case {
	char *group, *name; /* "isa", "add32-imm" */
	uint32_t object;
	char *program, *mem; /* hex digits; mem may be NULL */
	char *result;        /* expected r0 in hex digits; NULL: the case expects an error */
	char *error;         /* regular expression that the error must match */
	/*
	 * the refusal that is expected before the run: a rule's name in core/model/errors.def, and a part of the
	 * message; NULL: none
	 */
	char *refused;
	char *expect; /* expectations of an object, one per line (cli/conformance/grid/grid.h); else NULL */
	/*
	 * the case is a random program (cli/conformance/random/random.h); without `program`, those of the run's seeds
	 */
	bool random;
	uint64_t launch;     /* launch number of a random program, which is its input */
	bool may_be_refused; /* the case states no verdict, so a refusal is not a failure */
};

struct suite {
	char folder[4096]; /* folder of the installed suite; "": not searched for */
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

/* the result of one case on one device */
struct suite_result {
	enum suite_state state;
	char expected[160];
	char got[400]; /* why the case failed or, if SKIPPED, why it was skipped */
};

struct suite_device {
	struct gpubpf_device_caps caps; /* backend "host" is the interpreter */
	uint32_t index;                 /* index of the device in its backend */
	struct suite_result *results;   /* [ncases] by the case's index in the suite */
};

/* the settings and the results of a run */
struct suite_run {
	struct suite suite;
	struct suite_device *devices;
	uint32_t ndevices;
	struct suite_missing {
		char backend[16], why[160];
	} missing[16];
	uint32_t nmissing;
	const char *device; /* text that the names of the devices contain; NULL: all devices */
	const char *target; /* name of the target that lowers programs; NULL: the best one for each device */
	const struct gpubpf_target_info *route;    /* not NULL: cases probe kernels of an application, by this target
						 * only */
	enum gpubpf_placement place;               /* placement of the maps that may have it; DEVICE (0): the default */
	const char *runtime_dir;                   /* folder for sockets; NULL: the library's default */
	const char *(*variable)(const char *name); /* reads variables for struct gpubpf_device_open; `cache` is for
						    * it too */
	const char *cache;
	bool random;                      /* run random programs instead of the suite */
	uint64_t seed, programs, seconds; /* first seed, maximum number, and maximum duration of random programs; 0:
					   * no limit */
	uint64_t jobs;                    /* number of processes that run random programs in parallel */
	bool verify; /* verify programs before they run; if false, each access is checked at run time */
};

/*
 * suite.c: reads the suite's cases whose "group/name" matches the glob. Returns 0, or -errno with the reason in `why`.
 */
int suite_find(struct suite *s, char *why, size_t size); /* finds only the folder */
int suite_read(struct suite *s, const char *glob, char *why, size_t size);
void suite_finish(struct suite *s);
/* Return the index of the first object from index i on that has a case; nobjects: there is none. */
uint32_t suite_object(const struct suite *s, uint32_t i);
/*
 * table.c: read cases from a file with tab-separated lines, the format of the public suite bpf_conformance.
 * Columns: name, version, group, instructions, flags, r0 in hex, -, program in hex, memory in hex.
 */
int suite_read_table(struct suite *s, const char *path, const char *glob, char *why, size_t size);

/* cli/conformance/random/random.c: create the single case for random programs. Returns 0 or -ENOMEM. */
int suite_make_random(struct suite *s, uint64_t seed);

/* one_device.c: runs all cases on a device and stores a result for each. progress may be NULL. */
void suite_run_device(const struct suite_run *run, struct suite_device *device,
		      void (*progress)(void *arg, size_t done), void *arg);

/* Return the number of cases in a group (NULL: in all groups) with this state. */
uint32_t suite_count(const struct suite_run *run, const struct suite_device *device, const char *group,
		     enum suite_state state);
/* Return the name of group i, in the order of the cases; NULL past the end. */
const char *suite_group(const struct suite *s, uint32_t i);

/* Print the failures, and each reason for skipped cases once; each line begins with `before`. */
void suite_put_failures(const struct suite_run *run, const struct suite_device *d, const char *before, FILE *out);
void suite_put_skipped(const struct suite_run *run, const struct suite_device *d, const char *before, FILE *out);

/* write the results, each in one format */
void suite_write_text(const struct suite_run *run, FILE *out);
void suite_write_json(const struct suite_run *run, FILE *out);
void suite_write_junit(const struct suite_run *run, FILE *out);
void suite_write_markdown(const struct suite_run *run, FILE *out);

#endif
