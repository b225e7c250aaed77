/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emulates files that libbpf reads to find out how to create kprobes, for a Linux kernel without kprobes. Only
 * processes that have loaded a GPU program see these files.
 */
#include "loader.h"

#include <string.h>

#define PMU "/sys/bus/event_source/devices/kprobe/"

static const struct {
	const char *path, *text;
} files[] = {
	{ PMU "type", "26480\n" },
	{ PMU "format/retprobe", "config:0\n" },
};

_Static_assert(PMU_TYPE == 26480, "PMU_TYPE equals the number in the emulated file");

const char *emulated_file(const char *path)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (!strcmp(path, files[i].path) && have_session() && atomic_load(&caller_state()->loaded))
			return files[i].text;
	return NULL;
}
