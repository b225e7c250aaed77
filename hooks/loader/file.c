/* SPDX-License-Identifier: Apache-2.0 */
/* Emulates the files that libbpf reads to find out how to create kprobes, if the Linux kernel has no kprobes. Only
 * processes that have loaded a GPU program see them. */
#include "loader.h"

#include <string.h>

#define PMU "/sys/bus/event_source/devices/kprobe/"

static const struct {
	const char *path, *text;
} files[] = {
	{ PMU "type", "26480\n" },
	{ PMU "format/retprobe", "config:0\n" },
};

_Static_assert(PMU_TYPE == 26480, "as the file says");

const char *emulated_file(const char *path)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (!strcmp(path, files[i].path) && have_session() && atomic_load(&caller_state()->loaded))
			return files[i].text;
	return NULL;
}
