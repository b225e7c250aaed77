/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the values of options whose values are the rows of a table. Help, completions and error messages use these
 * lists.
 */
#include "cli.h"

#include <stdio.h>
#include <string.h>

#include "core/device.h"
#include "core/model/facts.h"
#include "core/target.h"

#define MAX_VALUES 16 /* maximum number of values of an option */

/* Return the i-th target for `prog dump`: first "ebpf", then each target that emits code. NULL past the end. */
static const char *targets(size_t i)
{
	const struct gpubpf_target_info *t;

	if (!i)
		return "ebpf";
	for (size_t k = 0; (t = gpubpf_target_at(k)); k++)
		if (t->output && !--i)
			return t->name;
	return NULL;
}

static const char *limits(size_t i)
{
	const struct gpubpf_limits *l = gpubpf_limits_at(i);

	return l ? l->name : NULL;
}

static const char *hosts_and_backends(size_t i)
{
	return i ? gpubpf_backend_at(i - 1) : "host";
}

/* Return the i-th target that accepts images of applications, or NULL past the end. */
static const char *routes(size_t i)
{
	const struct gpubpf_target_info *t;

	for (size_t k = 0; (t = gpubpf_target_at(k)); k++)
		if (gpubpf_target_route(t->name) && !i--)
			return t->name;
	return NULL;
}

static const char *placements(size_t i)
{
	return gpubpf_placement_name(i);
}

static const char *(*const values[OPT_COUNT])(size_t i) = {
	[OPT_BACKEND] = gpubpf_backend_at,
	[OPT_RUN_ON] = gpubpf_backend_at,
	[OPT_ON] = hosts_and_backends,
	[OPT_TARGET] = targets,
	[OPT_LIMITS] = limits,
	[OPT_PROBE] = cli_probe_at,
	[OPT_ROUTE] = routes,
	[OPT_AFTER] = cli_pass_at,
	[OPT_PLACE_ALL] = placements,
};

const char *cli_value_at(enum cli_option option, size_t i)
{
	return values[option] ? values[option](i) : NULL;
}

bool cli_value_known(enum cli_option option, const char *value)
{
	const char *names[MAX_VALUES], *name, *near;
	char list[200] = "";
	size_t n = 0;

	for (; n < MAX_VALUES && (name = cli_value_at(option, n)); n++) {
		if (!strcmp(name, value))
			return true;
		names[n] = name;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", n ? ", " : "", name);
	}
	near = cli_nearest(value, names, n);
	cli_error("--%s %s: there is no such %s%s%s%s; known are: %s", cli_options[option].long_name, value,
		  cli_options[option].long_name, near ? ", did you mean " : "", near ? near : "", near ? "?" : "", list);
	return false;
}
