/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: reads the session's answer and loads the twin image into the runtime.
 * Before: the module's request is answered.
 * After: the module's twins can be created, or set->why says why not. -EAGAIN: the caller requests another form (PTX,
 * machine code) from the session.
 * Requires: the caller has called gpubpf_agent_job_use_device(), and holds no lock.
 */
#include "twin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Copy the twin image from the memfd, since another process could change the memfd while the runtime reads it. */
static int read_image(int fd, void **data, size_t *size)
{
	int64_t n = gpubpf_memfd_size(fd, GPUBPF_IMAGE_MAX);
	char *bytes;

	if (n <= 0)
		return -EPROTO;
	bytes = malloc(n);
	if (!bytes)
		return -ENOMEM;
	for (int64_t got = 0; got < n;) {
		ssize_t k = pread(fd, bytes + got, n - got, got);

		if (k <= 0) {
			free(bytes);
			return -EIO;
		}
		got += k;
	}
	*data = bytes;
	*size = n;
	return 0;
}

static bool any_twin(const struct gpubpf_twin_answer *answer)
{
	for (uint32_t i = 0; i < answer->n; i++)
		if (answer->entries[i].twin[0])
			return true;
	return false;
}

/* Prepare the request for another form of the twin (PTX, machine code). False: the session has announced none. */
static bool request_other_form(struct gpubpf_twin_module *set)
{
	uint32_t kind = 1u << set->answer.kind % 32;

	if (!(set->answer.entries[0].flags & GPUBPF_TWIN_OTHER_FORM) || set->unloadable & kind)
		return false;
	set->unloadable |= kind;
	set->before = set->why;
	set->why.text[0] = 0;
	gpubpf_twin_finish(&set->answer);
	gpubpf_request_drop(set->request);
	set->request = NULL;
	return true;
}

int gpubpf_twin_load(struct gpubpf_twin_module *set)
{
	struct gpubpf_packet *packet = gpubpf_request_answer(set->request);
	uint64_t from;
	void *data;
	size_t size;
	int err;

	if (packet->type != GPUBPF_MSG_TWIN_DONE || gpubpf_twin_parse(&packet->payload, &set->answer) < 0)
		return gpubpf_twin_set_reason(&set->why, -EPROTO, "the session's answer violates the protocol");
	if (set->answer.keeps)
		gpubpf_image_note_cached(set->identity);
	if (!set->answer.n)
		return gpubpf_twin_set_reason(&set->why, -EOPNOTSUPP, "%s",
				  set->answer.reason[0] ? set->answer.reason : "the session refused the program");
	if (!any_twin(&set->answer))
		return 0;
	err = gpubpf_device_fill(set->device, &set->why);
	if (err < 0)
		return err;
	err = packet->nfds ? read_image(packet->fds[0], &data, &size) : packet->lost ? -EMFILE : -EPROTO;
	gpubpf_msg_close(packet); /* one open descriptor per twin would exhaust the application's limit */
	if (err < 0)
		return gpubpf_twin_set_reason(&set->why, err, "the session's twin could not be read: %s", strerror(-err));
	from = gpubpf_now_ns();
	err = set->program->ops->twin_load(set->device, set->program->adapter, set->answer.kind, data, size,
					 set->answer.options, &set->module, &set->why);
	free(data);
	set->load_ns = gpubpf_now_ns() - from;
	if (err < 0 && request_other_form(set))
		return -EAGAIN;
	if (err < 0)
		return gpubpf_twin_set_reason(&set->why, err, "the runtime failed to load the twin: %s", strerror(-err));
	gpubpf_prepare_wait(set->device);
	gpubpf_clock_calibrate(set->device);
	return 0;
}
