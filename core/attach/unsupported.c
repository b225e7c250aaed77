/* SPDX-License-Identifier: Apache-2.0 */
/* Processors other than x86-64: the boot code (boot.S) exists for x86-64 alone. */
#include "attach.h"

#include <errno.h>
#include <stdio.h>

#include "patch.h"

int gpubpf_attach_process(pid_t pid, const struct gpubpf_attach_process_opts *opts, struct gpubpf_attach_times *times,
			  char *why, size_t size)
{
	snprintf(why, size, "process %d: gpubpf attaches to running programs on x86-64 only; start it with gpubpf run",
		 pid);
	return -EOPNOTSUPP;
}

static int refuse(pid_t pid, char *why, size_t size)
{
	snprintf(why, size, "process %d: gpubpf patches functions on x86-64 only", pid);
	return -EOPNOTSUPP;
}

int gpubpf_attach_patch(pid_t pid, struct gpubpf_patch_counts *counts, char *why, size_t size)
{
	return refuse(pid, why, size);
}

int gpubpf_attach_restore_patches(pid_t pid, struct gpubpf_patch_counts *counts, char *why, size_t size)
{
	return refuse(pid, why, size);
}

int gpubpf_attach_count_patches(pid_t pid, struct gpubpf_patch_counts *counts, char *why, size_t size)
{
	return refuse(pid, why, size);
}

int gpubpf_attach_clean(pid_t pid, char *what, size_t what_size, char *why, size_t why_size)
{
	return 0;
}
