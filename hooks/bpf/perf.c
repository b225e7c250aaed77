/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of a GPU as kprobes: perf_event_open(2) and what ioctl(2) does to what it gives. */
#include "loader.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>

#include "core/wire/kprobe.h"

#define FUNCTION_MAX 255

/* The Linux kernel's number for its kprobes, PMU_TYPE where it has none. */
static uint32_t kprobe_type(void)
{
	static uint32_t known;
	FILE *f = known ? NULL : fopen("/sys/bus/event_source/devices/kprobe/type", "re");
	unsigned int type;

	if (f && fscanf(f, "%u", &type) == 1)
		known = type;
	if (f)
		fclose(f);
	return known;
}

static int open_ours(const char *function, bool returns)
{
	struct gpubpf_writer w = {0};

	if (strlen(function) > FUNCTION_MAX)
		return -EINVAL;
	gpubpf_put_str(&w, function);
	gpubpf_put_u32(&w, returns);
	return ask_handle(GPUBPF_BPF_PERF_OPEN, &w, -1);
}

/* The kernel knows no such function, or may not be asked. */
static bool is_refusal(long ret)
{
	return ret == -ENOENT || ret == -EINVAL || ret == -EPERM || ret == -EACCES || ret == -EADDRNOTAVAIL;
}

static atomic_bool array_is_ours;

void perf_array_named(bool ours)
{
	atomic_store(&array_is_ours, ours);
}

/* A buffer for records, before anybody says whose: of the array that was spoken of last. */
static bool is_buffer(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_BPF_OUTPUT &&
	       attr->sample_type == PERF_SAMPLE_RAW && atomic_load(&array_is_ours);
}

long perf_event_open_call(const long arg[6])
{
	const struct perf_event_attr *attr = (const void *)arg[0];
	const char *function;
	long ret;

	if (attr && is_buffer(attr))
		return ask_handle(GPUBPF_BPF_BUFFER_OPEN, &(struct gpubpf_writer){0}, -1);
	if (!attr || attr->type < PERF_TYPE_MAX || attr->type != kprobe_type())
		return kernel_call(SYS_perf_event_open, arg);
	function = (const char *)(uintptr_t)attr->kprobe_func;
	if (function && gpubpf_kprobe_is_gpu(function))
		return open_ours(function, attr->config & 1);
	ret = attr->type == PMU_TYPE ? -ENOENT : kernel_call(SYS_perf_event_open, arg);
	return function && is_refusal(ret) && has_programs() ? open_ours(function, attr->config & 1) : ret;
}

static int set_program(uint32_t perf, int fd)
{
	struct handle prog = handle_of(fd, GPUBPF_BPF_PROG);
	struct gpubpf_writer w = {0};
	struct answer a;
	int err;

	if (!prog.id)
		return -EINVAL;
	gpubpf_put_u32(&w, perf);
	gpubpf_put_u32(&w, prog.id);
	err = ask(GPUBPF_BPF_PERF_SET, &w, &a);
	answer_close(&a);
	return err;
}

bool perf_ioctl(int fd, unsigned long request, long arg, int *result)
{
	uint32_t perf;

	if (request != PERF_EVENT_IOC_SET_BPF && request != PERF_EVENT_IOC_ENABLE && request != PERF_EVENT_IOC_DISABLE)
		return false;
	perf = handle_of(fd, GPUBPF_BPF_PERF).id;
	if (!perf && !handle_of(fd, GPUBPF_BPF_BUFFER).id)
		return false;
	*result = request != PERF_EVENT_IOC_SET_BPF ? 0 : perf ? set_program(perf, (int)arg) : -EINVAL;
	return true;
}
