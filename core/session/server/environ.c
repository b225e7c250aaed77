/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the environment variables of an application that joins a session. Other variables of the base environment
 * stay. Variables that are lists keep their entries.
 */
#include "core/session/session.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/wire/loader.h"
#include "core/worker/installed.h"
#include "core/session/private.h"

struct variable {
	const char *name;
	const char *value; /* the session's value */
	bool list;         /* the variable is a list, which gets the session's value as one more entry */
	bool prepend;      /* the session's value comes before the other entries */
};

static const char *find_value(char *const *base, const char *name)
{
	size_t n = strlen(name);

	for (; *base; base++)
		if (!strncmp(*base, name, n) && (*base)[n] == '=')
			return *base + n + 1;
	return NULL;
}

static bool is_overridden(const char *entry, const struct variable *vars, size_t nvars)
{
	for (size_t i = 0; i < nvars; i++) {
		size_t n = strlen(vars[i].name);

		if (!strncmp(entry, vars[i].name, n) && entry[n] == '=')
			return true;
	}
	return false;
}

/*
 * Format a variable as NAME=VALUE, and join it with its old value if it is a list.
 *
 * The OpenCL loader calls the last layer of OPENCL_LAYERS first. So the session's layer comes first: it is the nearest
 * to the driver and sees the calls that other layers make. In LD_PRELOAD the agent comes last, because a sanitizer's
 * library must be first.
 */
static int format_variable(const struct variable *v, const char *old, char *buf, size_t size)
{
	if (!v->list || !old || !old[0])
		return snprintf(buf, size, "%s=%s", v->name, v->value);
	return snprintf(buf, size, "%s=%s:%s", v->name, v->prepend ? v->value : old, v->prepend ? old : v->value);
}

static char **build_environ(char *const *base, const struct variable *vars, size_t nvars)
{
	size_t n = 0, bytes = 0, at = 0;
	char **env, *text;

	for (char *const *e = base; *e; e++)
		n++;
	for (size_t i = 0; i < nvars; i++)
		bytes += format_variable(&vars[i], find_value(base, vars[i].name), NULL, 0) + 1;
	env = malloc((n + nvars + 1) * sizeof(*env) + bytes);
	if (!env)
		return NULL;
	text = (char *)(env + n + nvars + 1);
	for (char *const *e = base; *e; e++)
		if (!is_overridden(*e, vars, nvars))
			env[at++] = *e;
	for (size_t i = 0; i < nvars; i++) {
		env[at++] = text;
		text += format_variable(&vars[i], find_value(base, vars[i].name), text, bytes) + 1;
	}
	env[at] = NULL;
	return env;
}

static int check_readable(char *why, size_t size, const char *what, const char *path)
{
	if (!access(path, R_OK))
		return 0;
	snprintf(why, size, "%s: the %s cannot be read: %s; build or install gpubpf completely", path, what,
		 strerror(errno));
	return -ENOENT;
}

/*
 * By default, AddressSanitizer refuses to start if another library is loaded first. The user's value follows this one,
 * and can override it.
 */
static const struct variable asan_options = { "ASAN_OPTIONS", "verify_asan_link_order=0", true, true };

int gpubpf_environ_idle(char *const *base, char ***env, char *why, size_t size)
{
	char idle[PATH_MAX];
	struct variable vars[] = { { "LD_PRELOAD", idle, true, false }, asan_options };
	int err;

	gpubpf_idle_find(idle, sizeof(idle));
	err = check_readable(why, size, "idle library", idle);
	if (err < 0)
		return err;
	if (strpbrk(idle, " :")) {
		snprintf(why, size,
			 "%s: LD_PRELOAD cannot name a path with a space or a colon; install gpubpf elsewhere", idle);
		return -EINVAL;
	}
	*env = build_environ(base, vars, sizeof(vars) / sizeof(vars[0]));
	return *env ? 0 : -ENOMEM;
}

int gpubpf_environ(const struct gpubpf_environ_opts *o, char *const *base, char ***env, char *why, size_t size)
{
	char agent[PATH_MAX], bpf[PATH_MAX], preload[2 * PATH_MAX + 1], pins[GPUBPF_BPF_PINS_SIZE];
	struct variable vars[6] = {
		{ "OPENCL_LAYERS", agent, true, true },
		{ "LD_PRELOAD", preload, true, false },
		asan_options,
		{ "GPUBPF_SESSION", o->session, false, false },
	};
	bool library = o->loaders && !o->supervised;
	size_t n = 4;
	int err;

	if (o->agent)
		snprintf(agent, sizeof(agent), "%s", o->agent);
	else
		gpubpf_agent_find(agent, sizeof(agent));
	gpubpf_bpf_preload_find(bpf, sizeof(bpf));
	snprintf(preload, sizeof(preload), "%s%s%s", agent, library ? ":" : "", library ? bpf : "");
	err = check_readable(why, size, "agent", agent);
	if (!err && library)
		err = check_readable(why, size, "preload for loaders", bpf);
	if (err < 0)
		return err;
	gpubpf_bpf_pins(o->session, pins);
	if (o->loaders)
		vars[n++] = (struct variable){ "GPUBPF_PIN", pins, false, false };
	if (o->backend)
		vars[n++] = (struct variable){ "GPUBPF_BACKEND", o->backend, false, false };
	*env = build_environ(base, vars, n);
	return *env ? 0 : -ENOMEM;
}

int gpubpf_session__environ(struct gpubpf_session *s, char *const *base, char ***env)
{
	struct gpubpf_environ_opts o = {
		.session = gpubpf_session__path(s),
		.agent = s->opts.agent,
		.backend = s->opts.backend,
		.loaders = s->admits_loaders,
		.supervised = s->supervised,
	};
	char why[GPUBPF_ERROR_SIZE] = "";
	int err;

	if (s->state != GPUBPF_SESSION_STARTED)
		return gpubpf_session_fail(s, -EINVAL, "the session is not running");
	err = gpubpf_environ(&o, base, env, why, sizeof(why));
	return err < 0 ? gpubpf_session_fail(s, err, "%s", why[0] ? why : strerror(-err)) : err;
}
