/* SPDX-License-Identifier: Apache-2.0 */
#include "application.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/session/session.h"
#include "core/target.h"
#include "core/worker/installed.h"

#define MAX_RUN_MS 300000           /* time in milliseconds after which the application is killed */
#define POLL_MS 20

extern char **environ;

/* -- forms -- */

static const struct application_form forms[] = {
	{ GPUBPF_IMAGE_OPENCL_C, "cl", .names = true, .masks = true, .lines = true, .constants = true, .arguments = true },
	{ GPUBPF_IMAGE_SPIRV, "spv", .masks = true, .constants = true, .arguments = true },
	{ GPUBPF_IMAGE_PTX, "ptx", .masks = true, .arguments = true },
	{ GPUBPF_IMAGE_AMDGPU, "co", .machine = true, .masks = true, .lines = true, .arguments = true },
	{ GPUBPF_IMAGE_CUBIN, "cubin", .machine = true },
};

/*
 * Store the path of the application's kernels in this form of code. Returns false if the device or the run's route does
 * not accept the form, or if the suite has no file for the device's architecture.
 */
static bool find_form(const struct suite_run *run, const struct gpubpf_device_caps *caps,
		      const struct application_form *form, char path[APPLICATION_PATH])
{
	const struct gpubpf_target_info *route = run->route;

	if (!gpubpf_caps_accept_image(caps, form->kind) ||
	    (route && (!(route->images >> form->kind & 1) || route->machine != form->machine)))
		return false;
	snprintf(path, APPLICATION_PATH, "%s/workload%s%s.%s", run->suite.folder, form->machine ? "." : "",
		 form->machine ? caps->arch : "", form->ending);
	return !form->machine || access(path, R_OK) == 0;
}

const struct application_form *application_next(const struct suite_run *run, const struct gpubpf_device_caps *caps,
						bool taken, const struct application_form *last,
						char path[APPLICATION_PATH])
{
	const struct application_form *form = last ? last + 1 : forms;

	for (; form < forms + sizeof(forms) / sizeof(forms[0]); form++)
		if (!(form->machine && taken) && find_form(run, caps, form, path))
			return form;
	return NULL;
}

void application_none(const struct suite_run *run, const struct gpubpf_device_caps *caps, char *buf, size_t size)
{
	snprintf(buf, size, "the suite has no kernels in a form of code that this device accepts%s%s%s%.40s",
		 run->route ? " by the route " : "", run->route ? run->route->name : "", caps->arch[0] ? ": " : "",
		 caps->arch);
}

/* -- one run -- */

static int spawn(struct gpubpf_session *s, const struct application *app, pid_t *pid)
{
	char path[4096], index[16], number[16], grid[64], block[64], sub_group[16];
	const char *argv[] = { path,
			       app->device->caps.backend,
			       app->run->device ? app->run->device : "-",
			       index,
			       number,
			       app->image,
			       app->kernel,
			       grid,
			       block,
			       sub_group,
			       app->run->cache,
			       NULL };
	const struct grid_launch *l = &app->launch;
	char **env;
	int err = gpubpf_worker_find("gpubpf-workload", path, sizeof(path));

	if (!err)
		err = gpubpf_session__environ(s, environ, &env);
	if (err < 0)
		return err;
	snprintf(sub_group, sizeof(sub_group), "%u", app->sub_group);
	snprintf(index, sizeof(index), "%u", app->device->index);
	snprintf(number, sizeof(number), "%d", app->kind);
	snprintf(grid, sizeof(grid), "%u,%u,%u", l->grid[0], l->grid[1], l->grid[2]);
	snprintf(block, sizeof(block), "%u,%u,%u", l->block[0], l->block[1], l->block[2]);
	err = posix_spawn(pid, path, NULL, NULL, (char *const *)argv, env);
	free(env);
	return -err;
}

/* Poll the session until the application has ended. Returns the application's status from waitpid(2), or -errno. */
static int serve_session(struct gpubpf_session *s, pid_t pid)
{
	int status, left_ms = MAX_RUN_MS;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		int err = gpubpf_session__poll(s, POLL_MS);

		left_ms -= err ? 0 : POLL_MS;
		if (err >= 0 && left_ms > 0)
			continue;
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		return err < 0 ? err : -ETIMEDOUT;
	}
	return status;
}

/* Return why the kernel was not probed, or NULL if it was probed. */
static const char *unprobed_reason(struct gpubpf_session *s, const char *kernel, char *buf, size_t size)
{
	struct gpubpf_kernel_stats stats = { .sz = sizeof(stats) };
	size_t i = 0;
	int err;

	while ((err = gpubpf_session__kernel(s, i, &stats)) == 0 && strcmp(stats.name, kernel))
		i++;
	if (err < 0)
		return "the application did not launch the kernel";
	if (stats.outcome == GPUBPF_OUTCOME_PROBED)
		return NULL;
	snprintf(buf, size, "the kernel was not probed: %s", stats.reason[0] ? stats.reason : "no program names it");
	return buf;
}

const char *application_run(struct gpubpf_session *s, const struct application *app, char *buf, size_t size)
{
	pid_t pid;
	int err = gpubpf_session__start(s);

	if (!err)
		err = spawn(s, app, &pid);
	if (err < 0)
		return gpubpf_session__error(s)[0] ? gpubpf_session__error(s) : strerror(-err);
	err = serve_session(s, pid);
	gpubpf_session__stop(s);
	return err < 0          ? strerror(-err) :
	       WIFSIGNALED(err) ? "the application crashed" :
	       WEXITSTATUS(err) ? "the application failed" :
				  unprobed_reason(s, app->kernel, buf, size);
}
