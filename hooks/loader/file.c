/* SPDX-License-Identifier: Apache-2.0 */
/* Files that libbpf reads to learn how to create kprobes. If the Linux kernel has no kprobes, they are emulated for
 * processes that have loaded a GPU program. */
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
