/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: reads the session's answer and loads the twin image into the runtime.
 * Before: the module's request is answered.
 * After: the module's twins can be created, or module->why says why not. -EAGAIN: the caller requests another form
 * (PTX, machine code) from the session.
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
static bool request_other_form(struct gpubpf_twin_module *module)
{
	uint32_t kind = 1u << module->answer.kind % 32;

	if (!(module->answer.entries[0].flags & GPUBPF_TWIN_OTHER_FORM) || module->unloadable & kind)
		return false;
	module->unloadable |= kind;
	module->form_reason = module->why;
	module->why.text[0] = 0;
	gpubpf_twin_finish(&module->answer);
	gpubpf_request_drop(module->request);
	module->request = NULL;
	return true;
}

int gpubpf_twin_load(struct gpubpf_twin_module *module)
{
	struct gpubpf_packet *packet = gpubpf_request_answer(module->request);
	uint64_t from;
	void *data;
	size_t size;
	int err;

	if (packet->type != GPUBPF_MSG_TWIN_DONE || gpubpf_twin_parse(&packet->payload, &module->answer) < 0)
		return gpubpf_twin_set_reason(&module->why, -EPROTO, "the session's answer violates the protocol");
	if (module->answer.is_cached)
		gpubpf_image_note_cached(module->identity);
	if (!module->answer.n)
		return gpubpf_twin_set_reason(&module->why, -EOPNOTSUPP, "%s",
					      module->answer.reason[0] ? module->answer.reason :
									 "the session refused the program");
	if (!any_twin(&module->answer))
		return 0;
	err = gpubpf_device_fill(module->device, &module->why);
	if (err < 0)
		return err;
	err = packet->nfds ? read_image(packet->fds[0], &data, &size) : packet->lost ? -EMFILE : -EPROTO;
	gpubpf_msg_close(packet); /* one open descriptor per twin would exhaust the application's limit */
	if (err < 0)
		return gpubpf_twin_set_reason(&module->why, err, "the session's twin could not be read: %s",
					      strerror(-err));
	from = gpubpf_now_ns();
	err = module->program->ops->twin_load(module->device, module->program->adapter, module->answer.kind, data, size,
					      module->answer.options, &module->handle, &module->why);
	free(data);
	module->load_ns = gpubpf_now_ns() - from;
	if (err < 0 && request_other_form(module))
		return -EAGAIN;
	if (err < 0)
		return gpubpf_twin_set_reason(&module->why, err, "the runtime failed to load the twin: %s",
					      strerror(-err));
	gpubpf_prepare_wait(module->device);
	gpubpf_clock_calibrate(module->device);
	return 0;
}
