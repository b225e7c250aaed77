/* SPDX-License-Identifier: Apache-2.0 */
/* The container's id or name in texts of /proc/PID/cgroup. */
#include <string.h>

#include "cli/processes/processes.h"
#include "tests/tap.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SHOWN "0123456789ab"

static const struct {
	const char *what, *cgroups, *id;
} cases[] = {
	{ "no container", "0::/user.slice/user-1000.slice/session-2.scope\n", "" },
	{ "Docker with systemd", "0::/system.slice/docker-" ID ".scope\n", SHOWN },
	{ "Docker with cgroups of version 1", "12:pids:/docker/" ID "\n11:cpuset:/docker/" ID "\n0::/\n", SHOWN },
	{ "Kubernetes with containerd",
	  "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod0c1.slice/cri-containerd-" ID ".scope\n",
	  SHOWN },
	{ "CRI-O", "0::/kubepods.slice/crio-" ID ".scope/container\n", SHOWN },
	{ "Podman", "0::/user.slice/user@1000.service/user.slice/libpod-" ID ".scope\n", SHOWN },
	{ "LXC", "0::/lxc.payload.web/init.scope\n", "web" },
	{ "systemd-nspawn", "0::/machine.slice/machine-build.scope/payload\n", "build" },
	{ "a number of 63 digits", "0::/docker-123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope\n",
	  "" },
	{ "a number of 65 digits", "0::/docker-0" ID ".scope\n", "" },
	{ "an escape sequence", "0::/lxc.payload.\x1b[31m\n", "?[31m" },
	{ "no text", "", "" },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char id[64] = "x";

		cli_container_of(cases[i].cgroups, id, sizeof(id));
		ok(!strcmp(id, cases[i].id), "%s: '%s'", cases[i].what, id);
	}
	return done();
}
