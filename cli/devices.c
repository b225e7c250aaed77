/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries devices in child processes, because a vendor's runtime may crash, hang or print when it is opened. Each
 * backend is opened in a separate child, which sends the devices' capabilities through a pipe.
 */
#include "devices.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "core/device.h"

#define OPEN_MS 30000

static void send_devices(const char *backend, const char *named, int to)
{
	const struct gpubpf_device_ops *ops = gpubpf_device_find(backend);
	char cache[PATH_MAX];

	for (uint32_t i = 0; ops && i < CLI_DEVICES; i++) {
		struct gpubpf_device_open how = { .name = named,
						  .index = i,
						  .variable = cli_env_variable,
						  .cache = cli_env_cache_dir(cache, sizeof(cache)) };
		struct gpubpf_device_caps caps;
		struct gpubpf_device *device;
		struct gpubpf_reason why;

		if (ops->open(&how, &device, &why) < 0)
			break;
		caps = *ops->caps(device);
		caps.ordinal = i;
		if (write(to, &caps, sizeof(caps)) != sizeof(caps))
			break;
	}
	_exit(0); /* _exit() instead of exit(): the exit handlers of the vendor's runtime must not run */
}

static void receive_devices(int from, struct cli_devices *f)
{
	struct pollfd p = { .fd = from, .events = POLLIN };

	while (f->n < CLI_DEVICES && poll(&p, 1, OPEN_MS) > 0 &&
	       read(from, &f->caps[f->n], sizeof(f->caps[0])) == sizeof(f->caps[0]))
		f->n++;
}

/*
 * Return why the list of devices is empty. A runtime that fails usually prints the reason to standard error, but some
 * runtimes crash without a message if /sys is not mounted.
 */
static const char *find_no_device_reason(int status, const char *named)
{
	bool signaled = WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL;

	if (signaled && access("/sys/devices/system", F_OK) < 0)
		return "its runtime crashed; mount /sys, where runtimes look for processors and memory";
	if (signaled)
		return "its runtime crashed";
	return named ? "its runtime has no device with that name" : "its runtime has no device";
}

void cli_devices_query(const char *backend, const char *named, struct cli_devices *f)
{
	int pipes[2], status = 0;
	pid_t pid;

	f->n = 0;
	f->missing = gpubpf_device_missing(backend);
	if (f->missing[0])
		return;
	if (pipe(pipes) < 0 || (pid = fork()) < 0) {
		f->missing = "the process that queries its devices could not be started";
		return;
	}
	if (!pid) {
		close(pipes[0]);
		send_devices(backend, named, pipes[1]);
	}
	close(pipes[1]);
	receive_devices(pipes[0], f);
	close(pipes[0]);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	if (!f->n)
		f->missing = find_no_device_reason(status, named);
}
