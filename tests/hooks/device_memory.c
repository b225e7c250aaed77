/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_memory BACKEND PLACEMENT=EXPECTED...: tests the memory of a device for maps that are placed outside the arena.
 * EXPECTED is one of:
 *
 * `live`: the device uses the session's memory.
 * `own`: the runtime allocates the memory.
 * `CAPABILITY`: the device lacks this capability, which the placement needs.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/device.h"
#include "tests/tap.h"

#define SIZE 8192

/* Check that host and device see each other's writes. Kernels of the fake runtimes use host addresses. */
static void use(const struct gpubpf_device_memory *m, const char *name)
{
	uint64_t *kernels = (void *)(uintptr_t)m->address, *hosts = m->host;

	hosts[3] = 5;
	ok(kernels && kernels[3] == 5, "%s: a kernel finds what the host writes", name);
	kernels[SIZE / 8 - 1] = 6;
	ok(hosts[SIZE / 8 - 1] == 6, "%s: and the host what a kernel does", name);
}

static void try(const struct gpubpf_device_ops *ops, struct gpubpf_device *d, enum gpubpf_placement where, const char *want)
{
	int fd = memfd_create("session", MFD_CLOEXEC);
	char *host = !ftruncate(fd, SIZE) ? mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
	const char *name = gpubpf_placement_name(where), *lacks = gpubpf_placement_lacks(where, ops->caps(d)->bits);
	bool live = gpubpf_placement_live(where, ops->caps(d)->bits);
	struct gpubpf_device_memory m = { 0 };
	struct gpubpf_reason why = { "" };
	int err;

	ok(!strcmp(want, lacks ? lacks : live ? "live" : "own"), "%s: %s, want %s", name, lacks ? lacks : live ? "live" : "own", want);
	if (lacks)
		return;
	err = ops->memory_get(d, where, host, SIZE, &m, &why);
	ok(!err && m.size == SIZE && m.where == where, "%s: there is memory (%s)", name, why.text);
	if (err < 0)
		return;
	ok((m.host == host) == live, "%s: which is %sthe session's", name, live ? "" : "not ");
	use(&m, name);
	ops->memory_put(d, &m);
	munmap(host, SIZE);
	close(fd);
}

int main(int argc, char **argv)
{
	const struct gpubpf_device_ops *ops = argc > 1 ? gpubpf_device_find(argv[1]) : NULL;
	struct gpubpf_device_open how = { 0 };
	struct gpubpf_device *d = NULL;
	struct gpubpf_reason why = { "" };
	char word[64];

	ok(ops && !ops->open(&how, &d, &why), "the device opens (%s)", why.text);
	for (int i = 2; d && i < argc; i++) {
		char *equals = strcpy(word, argv[i]) + strcspn(argv[i], "=");

		*equals = 0;
		try(ops, d, gpubpf_placement_find(word), equals + 1);
	}
	if (d)
		ops->close(d);
	return done();
}
