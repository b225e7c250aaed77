/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exports arenas in device memory that can outlive this process. The tool receives the export and copies the arena if
 * the agent cannot. When the agent has made its final copy, it reports that, so the tool makes none.
 */
#include "devices.h"

#include <unistd.h>

#include "core/wire/checks.h"

static void send_keep(struct gpubpf_hook_device *d, enum gpubpf_keep what, int fd)
{
	struct gpubpf_writer w = { 0 };

	gpubpf_put_u32(&w, d->number);
	gpubpf_put_u32(&w, what);
	gpubpf_client_notify_fd(GPUBPF_MSG_KEEP, &w, fd);
	gpubpf_writer_finish(&w);
}

/* Export the device's memory to the tool if it can outlive this process. */
void gpubpf_device_export_arena(struct gpubpf_hook_device *d)
{
	const struct gpubpf_device_ops *ops = d->ops->device;
	int fd;

	if (!ops->arena_export || ops->arena_export(d->device, &fd) < 0)
		return;
	send_keep(d, GPUBPF_KEEP, fd);
	close(fd);
	d->is_exported = true;
}

void gpubpf_device_report_final_copy(struct gpubpf_hook_device *d, bool copied)
{
	gpubpf_assert_held(&d->lock);
	if (d->is_exported)
		send_keep(d, copied ? GPUBPF_KEEP_DONE : GPUBPF_KEEP_BROKEN, -1);
	d->is_exported = false;
}
