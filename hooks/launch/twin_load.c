/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: reads the session's answer and loads the twin image into the runtime.
 * Before: the session has answered the module's request.
 * After: the module's twins can be created, or module->why has the reason for the failure. If the error is -EAGAIN, the
 * caller must request another form (PTX or machine code) from the session.
 * Requires: the caller has called gpubpf_agent_job_use_device(), and holds no lock.
 */
#include "twin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Copy the twin image from the memfd. Another process could change the memfd while the runtime reads it. */
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

/*
 * Find the parts of the received file. It begins with the twin's image. If the answer has a code size, the image is a
 * text; a NUL and machine code of that size follow.
 */
static int split_image(const struct gpubpf_twin_answer *answer, const void *data, size_t size,
		       struct gpubpf_hook_twin_image *image)
{
	*image = (struct gpubpf_hook_twin_image){
		.kind = answer->kind, .data = data, .size = size, .options = answer->options
	};
	if (!answer->code_size)
		return 0;
	if (answer->code_size >= size)
		return -EPROTO;
	image->code = (const char *)data + size - answer->code_size;
	image->code_size = answer->code_size;
	image->size = size - answer->code_size - 1;
	return 0;
}

static bool any_twin(const struct gpubpf_twin_answer *answer)
{
	for (uint32_t i = 0; i < answer->n; i++)
		if (answer->entries[i].twin[0])
			return true;
	return false;
}

/*
 * Prepare the request for another form of the twin (PTX or machine code). Returns false if the session has no other
 * form.
 */
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
	struct gpubpf_hook_twin_image image = { 0 };
	void *data;
	size_t size;
	int err;

	if (packet->type != GPUBPF_MSG_TWIN_DONE || gpubpf_twin_parse(&packet->payload, &module->answer) < 0)
		return gpubpf_twin_set_reason(
			&module->why, -EPROTO,
			"the session's answer violates the protocol; use a tool and an agent of the same version");
	if (module->answer.is_cached)
		gpubpf_image_note_cached(module->identity);
	if (!module->answer.n)
		return gpubpf_twin_set_reason(&module->why, -EOPNOTSUPP, "%s",
					      module->answer.reason[0] ? module->answer.reason :
									 "the session refused the application's image");
	if (!any_twin(&module->answer))
		return 0;
	err = gpubpf_device_fill(module->device, &module->why);
	if (err < 0)
		return err;
	err = packet->nfds ? read_image(packet->fds[0], &data, &size) : packet->lost ? -EMFILE : -EPROTO;
	/* close the descriptor, since one open descriptor per twin would exhaust the application's limit */
	gpubpf_msg_close(packet);
	if (err < 0)
		return gpubpf_twin_set_reason(&module->why, err, "cannot read the twin that the session sent: %s",
					      strerror(-err));
	from = gpubpf_now_ns();
	err = split_image(&module->answer, data, size, &image);
	if (!err)
		err = module->program->ops->twin_load(module->device, module->program->adapter, &image, &module->handle,
						      &module->why);
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
