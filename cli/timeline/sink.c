/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ring.h"

static void write_all(struct timeline_sink *sink, const uint8_t *data, size_t size)
{
	while (size && !sink->error) {
		ssize_t n = write(sink->fd, data, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			sink->error = -errno;
			return;
		}
		data += n;
		size -= (size_t)n;
		sink->bytes += (uint64_t)n;
	}
}

void timeline_sink_flush(struct timeline_sink *sink)
{
	write_all(sink, sink->buffer, sink->used);
	sink->used = 0;
}

void timeline_sink_write(struct timeline_sink *sink, const void *data, size_t size)
{
	if (sink->ring) {
		ring_append(sink->ring, data, size);
		return;
	}
	if (size > sizeof(sink->buffer) - sink->used)
		timeline_sink_flush(sink);
	if (size > sizeof(sink->buffer)) {
		write_all(sink, data, size);
		return;
	}
	memcpy(sink->buffer + sink->used, data, size);
	sink->used += size;
}
