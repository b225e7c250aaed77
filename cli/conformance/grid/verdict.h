/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the results of a run with the expectations of a case. */
#ifndef GPUBPF_CLI_CONFORMANCE_JUDGE_H
#define GPUBPF_CLI_CONFORMANCE_JUDGE_H

#include "grid.h"

struct judging;
struct grid_run;

/* functions that read the results of a run; all are mandatory */
struct judge_ops {
	/* returns the map with this name, or NULL */
	const struct gpubpf_map *(*find)(const struct judging *j, const char *name);
	const struct btf *(*btf)(const struct judging *j);
	/* calls fn for each entry of the map until fn returns false */
	void (*walk)(const struct judging *j, const struct gpubpf_map *map,
		     bool (*fn)(void *arg, const void *key, const void *value), void *arg);
	uint64_t (*records)(const struct judging *j, const struct gpubpf_map *map);
	uint64_t (*drops)(const struct judging *j, const struct gpubpf_map *map);
	/* returns the number of prints with this text; stores a print with a different text in `other` */
	uint64_t (*prints)(const struct judging *j, const char *text, char *other, size_t size);
};

struct judging {
	const struct suite_case *c;
	struct suite_result *r;
	const struct judge_ops *left;
	uint64_t threads;           /* number of threads in the launch; expectations call it THREADS */
	const struct grid_run *run; /* the results of a direct run, or NULL */
};

void suite_judge(struct judging *j);

#endif
