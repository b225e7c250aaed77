/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "settings.h"

static const char *const names[] = {
	"CL_CONFIG_CPU_EXPENSIVE_MEM_OPT",
	"CL_CONFIG_CPU_FORCE_GLOBAL_MEM_SIZE",
	"CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE",
	"CL_CONFIG_CPU_FORCE_MAX_MEM_ALLOC_SIZE",
	"CL_CONFIG_CPU_FORCE_MAX_WORK_GROUP_SIZE",
	"CL_CONFIG_CPU_FORCE_WORK_GROUP_SIZE",
	"CL_CONFIG_CPU_O0_VECTORIZATION",
	"CL_CONFIG_CPU_REQD_SUB_GROUP_SIZE",
	"CL_CONFIG_CPU_RT_LOOP_UNROLL_FACTOR",
	"CL_CONFIG_CPU_STREAMING_ALWAYS",
	"CL_CONFIG_CPU_SUB_GROUP_CONSTRUCTION",
	"CL_CONFIG_CPU_TARGET_ARCH",
	"CL_CONFIG_CPU_VECTORIZER_MODE",
	"CL_CONFIG_LLVM_OPTIONS",
	"CL_CONFIG_LTO_PM",
	"CL_CONFIG_STACK_DEFAULT_SIZE",
	"CL_CONFIG_STACK_EXTRA_SIZE",
	"CL_CONFIG_USE_FAST_RELAXED_MATH",
	"CL_CONFIG_USE_TRAPPING",
	"CL_CONFIG_USE_VECTORIZER",
	"POCL_EXTRA_BUILD_FLAGS",
	"POCL_WORK_GROUP_METHOD",
};

enum { NAMES = sizeof(names) / sizeof(names[0]) };

void gpubpf_cl_settings_query(struct gpubpf_device_caps *caps, const char *(*variable)(const char *name))
{
	size_t n = 0;

	caps->settings[0] = 0;
	for (size_t i = 0; variable && i < NAMES; i++) {
		const char *value = variable(names[i]);

		if (!value)
			continue;
		n += snprintf(caps->settings + n, sizeof(caps->settings) - n, "%s=%s\n", names[i], value);
		if (n >= sizeof(caps->settings) || strchr(value, '\n')) {
			strcpy(caps->settings, "?");
			return;
		}
	}
}

/* Returns the value if the line sets the variable `name`, else NULL. *next receives the start of the next line. */
static const char *parse_value(const char *line, const char *name, const char **next)
{
	size_t size = strlen(name);

	if (strncmp(line, name, size) || line[size] != '=' || !(*next = strchr(line, '\n')))
		return NULL;
	++*next;
	return line + size + 1;
}

bool gpubpf_cl_settings_apply(const char *settings)
{
	const char *line = settings;

	for (size_t i = 0; i < NAMES; i++) {
		const char *next, *value = parse_value(line, names[i], &next);
		char *text = value ? strndup(value, next - 1 - value) : NULL;

		if (value ? !text || setenv(names[i], text, 1) : unsetenv(names[i])) {
			free(text);
			return false;
		}
		free(text);
		line = value ? next : line;
	}
	return !line[0];
}
