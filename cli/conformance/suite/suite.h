/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite: cases with expected results, in installed object files that are the same for every device. A
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

/* One case: a whole BPF object, or a one-thread program that gets the address of `mem` in r1 and its length in r2. */
struct suite_case {
	char *group, *name; /* "isa", "add32-imm" */
	uint32_t object;
	char *program, *mem; /* hex digits; mem may be NULL */
	char *result;        /* expected r0 in hex digits; NULL: the case expects an error */
	char *error;         /* regular expression that the run's error must match */
	/*
	 * The verifier must refuse the program with this rule (a name in core/model/errors.def) and this part of the
	 * message. NULL: no refusal is expected.
	 */
	char *refused;
	/* expectations of an object, one per line (cli/conformance/grid/grid.h); NULL for a one-thread program */
	char *expect;
	/*
	 * The case is a random program (cli/conformance/random/random.h). If `program` is NULL, random programs for the
	 * run's seeds are generated.
	 */
	bool random;
	uint64_t launch; /* launch number of a random program, which is its input */
	/* the case does not state whether the verifier accepts it, so a refusal is not a failure */
	bool may_be_refused;
};

struct suite {
	char folder[4096]; /* folder of the suite; "": not found yet */
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
	char got[400]; /* the actual result, or why the case failed or was skipped */
};

struct suite_device {
	struct gpubpf_device_caps caps; /* the backend "host" is the interpreter */
	uint32_t index;                 /* index of the device in its backend */
	struct suite_result *results;   /* [ncases] results by the index of the case in the suite */
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
	const char *device; /* only devices whose name contains this text; NULL: all devices */
	const char *target; /* name of the target that lowers programs; NULL: the best target for each device */
	/* not NULL: the cases probe kernels of an application, only by this route */
	const struct gpubpf_target_info *route;
	/* where maps are placed if their type permits it; DEVICE (0) is the default */
	enum gpubpf_placement place;
	const char *runtime_dir;                   /* folder for sockets; NULL: the library's default */
	const char *(*variable)(const char *name); /* `variable`, `cache`: see struct gpubpf_device_open */
	const char *cache;
	bool random; /* run random programs instead of the suite */
	bool direct; /* run them by gpubpf_prog__test_run() */
	/* first seed, maximum number and maximum seconds of random programs; 0: no limit */
	uint64_t seed, programs, seconds;
	uint64_t jobs; /* number of processes that run random programs in parallel */
	bool verify;   /* verify programs before they run; if false, check each access at run time instead */
};

/*
 * suite.c: suite_find() finds the folder of the suite. suite_read() also reads the cases whose "group/name" matches the
 * glob. Both return 0, or -errno with the reason in `why`.
 */
int suite_find(struct suite *s, char *why, size_t size);
int suite_read(struct suite *s, const char *glob, char *why, size_t size);
void suite_finish(struct suite *s);
/* Return the index of the first object with a case, beginning with index i; nobjects if there is none. */
uint32_t suite_object(const struct suite *s, uint32_t i);
/*
 * table.c: reads cases from a file with tab-separated columns, the format of the public suite bpf_conformance. The
 * columns are name, version, group, instructions, flags, r0 in hex, -, program in hex, and memory in hex.
 */
int suite_read_table(struct suite *s, const char *path, const char *glob, char *why, size_t size);

/* cli/conformance/random/random.c: creates one case, which stands for all random programs. Returns 0 or -ENOMEM. */
int suite_make_random(struct suite *s, uint64_t seed);

/* one_device.c: runs all cases on a device and stores their results. `progress` may be NULL. */
void suite_run_device(const struct suite_run *run, struct suite_device *device,
		      void (*progress)(void *arg, size_t done), void *arg);

/* Return the number of cases with this state in a group, or in all groups if `group` is NULL. */
uint32_t suite_count(const struct suite_run *run, const struct suite_device *device, const char *group,
		     enum suite_state state);
/* Return the name of the i-th group, or NULL past the end. Groups are in the order of the cases. */
const char *suite_group(const struct suite *s, uint32_t i);

/*
 * suite_put_failures() prints the failed cases. suite_put_skipped() prints each reason for skipped cases once. Each
 * line begins with the text `before`.
 */
void suite_put_failures(const struct suite_run *run, const struct suite_device *d, const char *before, FILE *out);
void suite_put_skipped(const struct suite_run *run, const struct suite_device *d, const char *before, FILE *out);

/* functions that write the results of a run, each in another format */
void suite_write_text(const struct suite_run *run, FILE *out);
void suite_write_json(const struct suite_run *run, FILE *out);
void suite_write_junit(const struct suite_run *run, FILE *out);
void suite_write_markdown(const struct suite_run *run, FILE *out);

#endif
