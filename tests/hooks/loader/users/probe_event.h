/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates perf_event_open(2) events for a program: a uprobe of the Linux kernel on this process's host_step(), or a
 * kprobe.
 */
#ifndef GPUBPF_TESTS_BPF_PROBE_EVENT_H
#define GPUBPF_TESTS_BPF_PROBE_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void host_step(void);
__attribute__((noinline)) void host_step(void)
{
	__asm__ volatile("");
}

static uint64_t place(void)
{
	unsigned long from, to, offset, at = (unsigned long)host_step;
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) == 3 && from <= at && at < to)
			return at - from + offset;
	return 0;
}

static uint32_t type_of(const char *pmu)
{
	char path[96];
	unsigned int type = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%u", &type) != 1)
		printf("no %s\n", pmu);
	return type;
}

/*
 * Open a kprobe event for the function. If function is NULL, open a uprobe event for host_step() of this process only,
 * since another process may run the same test.
 */
static int open_event(const char *function, bool off)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .disabled = off };

	attr.type = type_of(function ? "kprobe" : "uprobe");
	attr.config1 = (uintptr_t)(function ? function : "/proc/self/exe");
	attr.config2 = function ? 0 : place();
	return (int)syscall(SYS_perf_event_open, &attr, function ? -1 : 0, function ? 0 : -1, -1, PERF_FLAG_FD_CLOEXEC);
}

#endif
