/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uprobes. A uprobe belongs to the Linux kernel until a GPU program is attached to it. Then the name of the probed
 * function is used as the name of a GPU kernel. A loader first opens the event and later sets the program. This file
 * remembers the file and offset of the event that was opened last. It recognizes the event by its number
 * (PERF_EVENT_IOC_ID), since the caller may duplicate the event's descriptor.
 */
#include "core/wire/files/open_file.h"
#include "loader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	uint64_t event; /* number of the event that was opened last; 0: no event */
	int file;       /* descriptor of the probed file, which this code closes */
	uint64_t offset;
	bool returns;
} last = { 0, -1, 0, false };

static uint64_t number_of(int event)
{
	uint64_t number = 0;

	return kernel_call(SYS_ioctl, (const long[6]){ event, PERF_EVENT_IOC_ID, (long)&number }) < 0 ? 0 : number;
}

static uint32_t uprobe_type(void)
{
	static uint32_t known;

	return kernel_pmu("/sys/bus/event_source/devices/uprobe/type", &known);
}

bool is_uprobe(const struct perf_event_attr *attr)
{
	return attr->type >= PERF_TYPE_MAX && attr->type == uprobe_type() && attr->uprobe_path;
}

/*
 * Open the file whose path is at address `name` in the caller. Returns -1 if the file is not a readable regular file.
 */
static int open_probed_file(uint64_t name)
{
	char given[PATH_MAX], path[PATH_MAX];

	if (caller_text(given, name, sizeof(given)) < 0 || caller_path(given, path) < 0)
		return -1;
	return gpubpf_open_regular(AT_FDCWD, path, 0);
}

void note_uprobe_opened(int event, const struct perf_event_attr *attr)
{
	int file = open_probed_file(attr->uprobe_path);

	pthread_mutex_lock(&lock);
	if (last.file >= 0)
		close(last.file);
	last.event = number_of(event);
	last.file = file;
	last.offset = attr->probe_offset;
	last.returns = attr->config & 1;
	pthread_mutex_unlock(&lock);
}

static int open_session_probe(void)
{
	struct gpubpf_writer w = { 0 };

	gpubpf_put_u64(&w, last.offset);
	gpubpf_put_u32(&w, last.returns);
	return request_handle(GPUBPF_BPF_UPROBE_OPEN, &w, last.file);
}

int uprobe_adopt(int event)
{
	int err = -EINVAL, ours, theirs = event < 0 ? event : caller_borrow(event);
	uint64_t number = theirs < 0 ? 0 : number_of(theirs);

	if (theirs >= 0)
		caller_return_fd(theirs);
	pthread_mutex_lock(&lock);
	if (number && number == last.event && last.file >= 0) {
		ours = open_session_probe();
		err = ours < 0 ? ours : caller_replace(event, ours);
		if (ours >= 0)
			close(ours);
		last.event = 0;
	}
	pthread_mutex_unlock(&lock);
	return err;
}
