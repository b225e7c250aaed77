/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patch-tool PID WORD...: runs the words patch, restore, count and wait (1 ms) one after the other. Prints "WORD sites N
 * patched N refused N foreign N stopped NS" for each, or "WORD ERROR REASON". Exit status 1 if one failed.
 */
#include "core/attach/patch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int run(pid_t pid, const char *word)
{
	struct gpubpf_patch_counts c = { 0 };
	char why[512] = "";
	int err;

	if (!strcmp(word, "wait"))
		return usleep(1000);
	err = !strcmp(word, "patch")   ? gpubpf_attach_patch(pid, &c, why, sizeof(why)) :
	      !strcmp(word, "restore") ? gpubpf_attach_restore_patches(pid, &c, why, sizeof(why)) :
					 gpubpf_attach_count_patches(pid, &c, why, sizeof(why));
	if (err < 0)
		printf("%s %d %s\n", word, err, why);
	else
		printf("%s sites %u patched %u refused %u foreign %u stopped %lu\n", word, c.sites, c.patched,
		       c.refused, c.foreign, c.stopped);
	return err;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 2; i < argc; i++)
		failed |= run(atoi(argv[1]), argv[i]) < 0;
	return failed;
}
