/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
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

/* -- settings that could load code -- */

/* Beginnings of the options of clang that an application may choose for gpubpf-build. None of them names a library. */
static const char *const clang_options[] = {
	"-D", "-U", "-O", "-cl-", "-ffast-math", "-ffp-contract=", "-fno-", "-funroll-loops", "-g", "-w",
};

static bool is_clang_option(const char *word, size_t size)
{
	for (size_t i = 0; i < sizeof(clang_options) / sizeof(clang_options[0]); i++)
		if (size >= strlen(clang_options[i]) && !strncmp(word, clang_options[i], strlen(clang_options[i])))
			return true;
	return false;
}

/* Returns true if LLVM neither loads a library (-load, -load-pass-plugin) nor reads options from a file (@FILE). */
static bool is_llvm_option(const char *word, size_t size)
{
	return word[0] == '-' && !memmem(word, size, "load", strlen("load")) &&
	       !memmem(word, size, "plugin", strlen("plugin"));
}

/* settings with options for a compiler, and the check of one option */
static const struct {
	const char *name;
	bool (*is_allowed)(const char *word, size_t size);
} option_settings[] = {
	{ "CL_CONFIG_LLVM_OPTIONS", is_llvm_option },
	{ "POCL_EXTRA_BUILD_FLAGS", is_clang_option },
};

static bool are_allowed(const char *text, size_t size, bool (*is_allowed)(const char *word, size_t size))
{
	for (size_t at = 0, end; at < size; at = end) {
		for (end = at; end < size && !isspace((unsigned char)text[end]);)
			end++;
		if (end > at && !is_allowed(text + at, end - at))
			return false;
		end += end == at;
	}
	return true;
}

/* Returns true if the value cannot load code, or equals this process's, which comes from the tool's environment. */
static bool is_safe(const char *name, const char *value, size_t size)
{
	const char *own = getenv(name);

	if (own && strlen(own) == size && !memcmp(own, value, size))
		return true;
	for (size_t i = 0; i < sizeof(option_settings) / sizeof(option_settings[0]); i++)
		if (!strcmp(option_settings[i].name, name))
			return are_allowed(value, size, option_settings[i].is_allowed);
	return true;
}

/* Returns 0 if all settings are known and safe, else as gpubpf_cl_settings_apply(). */
static int check_settings(const char *settings, const char **refused)
{
	const char *line = settings;

	for (size_t i = 0; i < NAMES; i++) {
		const char *next, *value = parse_value(line, names[i], &next);

		if (value && !is_safe(names[i], value, next - 1 - value)) {
			*refused = names[i];
			return -EPERM;
		}
		line = value ? next : line;
	}
	return line[0] ? -EINVAL : 0;
}

int gpubpf_cl_settings_apply(const char *settings, const char **refused)
{
	const char *line = settings;
	int err = check_settings(settings, refused);

	for (size_t i = 0; i < NAMES && err == 0; i++) {
		const char *next, *value = parse_value(line, names[i], &next);
		char *text = value ? strndup(value, next - 1 - value) : NULL;

		if (value ? !text || setenv(names[i], text, 1) : unsetenv(names[i]))
			err = -ENOMEM;
		free(text);
		line = value ? next : line;
	}
	return err;
}
