/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the cases of a test. Each case is one file, in a folder or its subfolders. */
#ifndef GPUBPF_TESTS_CASES_H
#define GPUBPF_TESTS_CASES_H

#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef void run_case_fn(const char *folder, const char *name);

static int compare_case_names(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool has_ending(const char *name, const char *ending)
{
	size_t n = strlen(name), m = strlen(ending);

	return n > m && !strcmp(name + n - m, ending);
}

/* Runs each file below the folder whose name ends with `ending`. Returns the number of these files. */
static int run_each_case(const char *folder, const char *ending, run_case_fn *run)
{
	char *roots[] = { (char *)folder, NULL }, path[1024];
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, compare_case_names);
	FTSENT *e;
	int n = 0;

	while (tree && (e = fts_read(tree))) {
		if (e->fts_info != FTS_F || !has_ending(e->fts_name, ending))
			continue;
		snprintf(path, sizeof(path), "%.*s", (int)(strlen(e->fts_path) - strlen(e->fts_name) - 1), e->fts_path);
		run(path, e->fts_name);
		n++;
	}
	if (tree)
		fts_close(tree);
	return n;
}

#endif
