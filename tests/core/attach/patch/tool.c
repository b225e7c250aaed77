/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patch-tool PID WORD...: runs the words patch, restore, count and wait (1 ms) one after the other. Prints "WORD sites N
 * patched N refused N foreign N stopped NS" for each, or "WORD ERROR REASON". Exit status 1 if one failed. It repeats a
 * word if the threads did not stop in time, which happens on a busy machine.
 */
#include "core/attach/patch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIES 200 /* each takes about 1 s */

static int run_once(pid_t pid, const char *word, struct gpubpf_patch_counts *c, char *why, size_t size)
{
	if (!strcmp(word, "patch"))
		return gpubpf_attach_patch(pid, c, why, size);
	if (!strcmp(word, "restore"))
		return gpubpf_attach_restore_patches(pid, c, why, size);
	return gpubpf_attach_count_patches(pid, c, why, size);
}

static int run(pid_t pid, const char *word)
{
	struct gpubpf_patch_counts c = { 0 };
	char why[512] = "";
	int err = -EAGAIN;

	if (!strcmp(word, "wait"))
		return usleep(1000);
	for (int i = 0; i < TRIES && err == -EAGAIN; i++)
		err = run_once(pid, word, &c, why, sizeof(why));
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
