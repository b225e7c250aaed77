/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that an application wants to load into gpubpf-build. It appends the names of the processes that load it to
 * the file in GPUBPF_TEST_LOADED.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void record(void)
{
	const char *path = getenv("GPUBPF_TEST_LOADED");
	FILE *file = path ? fopen(path, "a") : NULL;

	if (!file)
		return;
	fprintf(file, "%s\n", program_invocation_short_name);
	fclose(file);
}
