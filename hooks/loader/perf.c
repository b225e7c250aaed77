/* SPDX-License-Identifier: Apache-2.0 */
/* Handles perf_event_open(2), and ioctl(2) on its descriptors: kprobes that stand for GPU kernels, and perf buffers. */
#include "loader.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

#include "core/wire/kprobe.h"
#include "core/wire/name.h"

#define KPROBE_PMU "/sys/bus/event_source/devices/kprobe/type"
/*
 * Bytes for the longest kernel name with the prefix of a kprobe, plus one. So the session sees that a longer name is
 * too long, and refuses it.
 */
#define FUNCTION_MAX (GPUBPF_WHOLE_NAME_SIZE + sizeof(GPUBPF_KPROBE_GPU) - 1)

uint32_t kernel_pmu(const char *type, uint32_t *known)
{
	FILE *f = *known ? NULL : fopen(type, "re");
	unsigned int number;

	if (f && fscanf(f, "%u", &number) == 1)
		*known = number;
	if (f)
		fclose(f);
	return *known;
}

/* Returns the Linux kernel's PMU type of kprobes, or PMU_TYPE if the kernel has no kprobes. */
static uint32_t kprobe_type(void)
{
	static uint32_t known;

	if (!kernel_pmu(KPROBE_PMU, &known) && access(KPROBE_PMU, F_OK))
		known = PMU_TYPE;
	return known;
}

static int open_session_probe(const char *function, const struct perf_event_attr *attr)
{
	struct gpubpf_writer w = { 0 };

	gpubpf_put_str(&w, function);
	gpubpf_put_u32(&w, attr->config & 1);
	gpubpf_put_u64(&w, attr->probe_offset);
	return request_handle(GPUBPF_BPF_PERF_OPEN, &w, -1);
}

/* Returns true if the result means that the Linux kernel does not know the function, or does not permit the call. */
static bool is_refusal(long ret)
{
	return ret == -ENOENT || ret == -EINVAL || ret == -EPERM || ret == -EACCES || ret == -EADDRNOTAVAIL;
}

/*
 * Returns true if the event is a perf buffer (PERF_COUNT_SW_BPF_OUTPUT). The call does not name the buffer's array. The
 * buffer belongs to the array that the caller queried last.
 */
static bool is_buffer(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_BPF_OUTPUT &&
	       attr->sample_type == PERF_SAMPLE_RAW;
}

/* Read the caller's attribute. The attribute contains its own size; 0 means the size of the first version. */
static int read_attr(uint64_t from, struct perf_event_attr *attr)
{
	uint32_t size;

	memset(attr, 0, sizeof(*attr));
	if (caller_read(&size, from + offsetof(struct perf_event_attr, size), sizeof(size)) < 0)
		return -EFAULT;
	if (!size)
		size = PERF_ATTR_SIZE_VER0;
	return caller_read(attr, from, size < sizeof(*attr) ? size : sizeof(*attr));
}

static long pass_call(const long arg[6])
{
	return pass_perf(arg, NULL, NULL);
}

/*
 * Open a kprobe. If the caller has loaded a GPU program and the Linux kernel refuses the function, the function's name
 * is used as the name of a GPU kernel.
 */
static long open_kprobe(const long arg[6], const struct perf_event_attr *attr)
{
	char function[FUNCTION_MAX + 1];
	int err = caller_text(function, attr->kprobe_func, sizeof(function));
	long ret;

	if (err == -ENAMETOOLONG) {
		function[FUNCTION_MAX] = 0;
		err = 0;
	}
	if (!err && gpubpf_kprobe_is_gpu(function))
		return open_session_probe(function, attr);
	if (attr->type == PMU_TYPE)
		ret = -ENOENT;
	else
		ret = err || !atomic_load(&caller_state()->loaded) ? pass_call(arg) : pass_perf(arg, attr, function);
	return !err && is_refusal(ret) && atomic_load(&caller_state()->loaded) ? open_session_probe(function, attr) : ret;
}

static long open_buffer(const long arg[6], bool off)
{
	struct gpubpf_writer w = { 0 };

	if (atomic_load(&caller_state()->next_array_is_session)) {
		gpubpf_put_u32(&w, off);
		return request_handle(GPUBPF_BPF_BUFFER_OPEN, &w, -1);
	}
	atomic_store(&caller_state()->kernel_buffers, true);
	return pass_call(arg);
}

static long open_uprobe(const long arg[6], const struct perf_event_attr *attr)
{
	long ret = pass_uprobe(arg, attr);

	if (ret >= 0)
		note_uprobe_opened((int)ret, attr);
	return ret;
}

long perf_event_open_call(const long arg[6])
{
	struct perf_event_attr attr;

	if (!arg[0] || read_attr((uint64_t)arg[0], &attr) < 0)
		return pass_call(arg);
	if (is_buffer(&attr))
		return open_buffer(arg, attr.disabled);
	if (is_uprobe(&attr))
		return open_uprobe(arg, &attr);
	if (attr.type < PERF_TYPE_MAX || attr.type != kprobe_type())
		return pass_call(arg);
	return open_kprobe(arg, &attr);
}

static int set_program(uint32_t perf, int fd)
{
	struct handle prog = handle_of(fd, GPUBPF_BPF_PROG);
	struct gpubpf_writer w = { 0 };
	struct answer a;
	int err;

	if (!prog.id)
		return is_open(fd) ? -EINVAL : -EBADF;
	gpubpf_put_u32(&w, perf);
	gpubpf_put_u32(&w, prog.id);
	err = ask(GPUBPF_BPF_PERF_SET, &w, &a);
	answer_close(&a);
	return err;
}

#define ASKED 1

static const struct request {
	unsigned long request;
	int probe, buffer;
} requests[] = {
#define GPUBPF_PERF_REQUEST(name, probe, buffer) { PERF_EVENT_IOC_##name, probe, buffer },
#include "requests.def"
};

static const struct request *request_of(unsigned long request)
{
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		if (requests[i].request == (uint32_t)request)
			return &requests[i];
	return NULL;
}

bool is_perf_request(unsigned long request)
{
	return request_of(request) != NULL;
}

/*
 * Enable, disable, pause or resume a buffer. As for programs of the Linux kernel, earlier records have reached the
 * buffers when the call returns.
 */
static int switch_output(uint32_t id, enum gpubpf_bpf_output to)
{
	struct gpubpf_writer w = { 0 };
	struct answer a;
	int err;

	gpubpf_put_u32(&w, id);
	gpubpf_put_u32(&w, to);
	err = ask(GPUBPF_BPF_OUTPUT, &w, &a);
	answer_close(&a);
	return err;
}

static int do_request(uint32_t id, unsigned long request, long arg)
{
	uint64_t number = id;

	switch ((uint32_t)request) {
	case PERF_EVENT_IOC_SET_BPF:
		return set_program(id, (int)arg);
	case PERF_EVENT_IOC_ID:
		return caller_write((uint64_t)arg, &number, sizeof(number));
	case PERF_EVENT_IOC_PAUSE_OUTPUT:
		return switch_output(id, arg ? GPUBPF_BPF_PAUSED : GPUBPF_BPF_RESUMED);
	case PERF_EVENT_IOC_ENABLE:
		return switch_output(id, GPUBPF_BPF_ENABLED);
	default:
		return switch_output(id, GPUBPF_BPF_DISABLED);
	}
}

/* Call before a kernel buffer is disabled: flush the GPU's records to it, since it accepts no records afterwards. */
static void flush_kernel_buffers(unsigned long request)
{
	if ((uint32_t)request == PERF_EVENT_IOC_DISABLE && atomic_load(&caller_state()->kernel_buffers) &&
	    atomic_load(&caller_state()->loaded))
		switch_output(0, GPUBPF_BPF_DISABLED);
}

bool perf_ioctl(int fd, unsigned long request, long arg, int *result)
{
	const struct request *r = request_of(request);
	uint32_t probe, id;

	if (!r)
		return false;
	if (r->request == PERF_EVENT_IOC_SET_BPF && handle_of((int)arg, GPUBPF_BPF_PROG).id &&
	    !handle_of(fd, GPUBPF_BPF_PERF).id) {
		*result = uprobe_adopt(fd);
		if (*result < 0)
			return true;
	}
	probe = handle_of(fd, GPUBPF_BPF_PERF).id;
	id = probe ? probe : handle_of(fd, GPUBPF_BPF_BUFFER).id;
	if (!id) {
		flush_kernel_buffers(request);
		return false;
	}
	*result = probe ? r->probe : r->buffer;
	if (r->request == PERF_EVENT_IOC_SET_BPF && !probe && !is_open((int)arg))
		*result = -EBADF;
	if (*result == ASKED)
		*result = do_request(id, request, arg);
	return true;
}
