/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the user's ptxas, which compiles PTX twins; without ptxas the CUDA driver compiles them. $GPUBPF_PTXAS takes
 * precedence over PATH. PATH takes precedence over the CUDA toolkit.
 */
#include "cli.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/wire/reach.h"

#define NAME "ptxas"
#define TOOLKIT "/usr/local/cuda/bin"

/*
 * Store the path of ptxas in `file`. Relative folders of PATH are ignored: an executable in the current folder is not
 * trusted.
 */
static bool find_ptxas(char file[PATH_MAX])
{
	const char *requested = cli_env_assembler();

	if (!requested)
		return (gpubpf_reach_find(NAME, cli_env_path(), file) && file[0] == '/') ||
		       gpubpf_reach_find(NAME, TOOLKIT, file);
	if (requested[0] && (requested[0] != '/' || access(requested, X_OK) < 0))
		cli_note("GPUBPF_PTXAS %s: not the absolute path of an executable; the CUDA driver compiles twins "
			 "instead",
			 requested);
	else if (requested[0])
		return snprintf(file, PATH_MAX, "%s", requested) < PATH_MAX;
	return false;
}

char *cli_assembler(void)
{
	char file[PATH_MAX];

	return find_ptxas(file) && access(file, X_OK) == 0 ? strdup(file) : NULL;
}
