/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: sends the program's image to the session, with the links and the names of the matching kernels.
 * Before: the module is new, or the runtime failed to load one form of its twin (PTX or machine code).
 * After: the module has a pending request, or module->why says why the program cannot be probed.
 * Requires: the caller holds no lock; an agent thread holds only the kernel's lock (gpubpf_agent_job_use_kernel()).
 */
#include "twin.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * Write all headers into one memfd, and their offsets in it into the message. Returns the memfd, or -1 if the image has
 * no headers, or another negative errno value.
 */
static int write_headers(const struct gpubpf_hook_image *image, struct gpubpf_writer *w)
{
	struct gpubpf_writer all = { 0 };
	uint64_t at = 0;
	int fd;

	gpubpf_put_u32(w, image->nheaders);
	if (!image->nheaders)
		return -1;
	for (uint32_t i = 0; i < image->nheaders; i++) {
		gpubpf_put_str(w, image->headers[i].name);
		/* the header's data follows the length word that gpubpf_put_bytes() writes */
		gpubpf_put_u64(w, at + 4);
		gpubpf_put_u64(w, image->headers[i].size);
		gpubpf_put_bytes(&all, image->headers[i].data, image->headers[i].size);
		at += 4 + image->headers[i].size;
	}
	fd = all.failed ? -ENOMEM : gpubpf_memfd_image("gpubpf-headers", all.data, all.size);
	gpubpf_writer_finish(&all);
	return fd;
}

static int send_image(struct gpubpf_twin_module *module, const struct gpubpf_hook_image *image)
{
	struct gpubpf_writer w = { 0 };
	int fds[2] = { -1, -1 }, err = 0;

	gpubpf_put_u32(&w, module->device->number);
	gpubpf_put_u32(&w, image->kind);
	gpubpf_put_str(&w, image->options ? image->options : "");
	fds[1] = write_headers(image, &w);
	gpubpf_twin_write_names(module->kernel_names, &w);
	gpubpf_put_u32(&w, module->unloadable);
	gpubpf_put_str(&w, image->cwd ? image->cwd : "");
	gpubpf_put_u64(&w, image->built_ns);
	gpubpf_put_u32(&w, module->nlinks);
	for (uint32_t i = 0; i < module->nlinks; i++)
		gpubpf_put_u32(&w, module->links[i]);
	gpubpf_put_str(&w, image->from ? image->from : "");
	gpubpf_put_u64(&w, image->identity);
	gpubpf_put_u32(&w, module->registers);
	if (!image->is_cached)
		fds[0] = gpubpf_memfd_image("gpubpf-image", image->data, image->size);
	if ((!image->is_cached && fds[0] < 0) || (image->nheaders && fds[1] < 0))
		err = fds[0] < 0 ? fds[0] : fds[1];
	else
		err = gpubpf_client_request(GPUBPF_MSG_TWIN, &w, fds, !image->is_cached + (image->nheaders != 0),
					    &module->request);
	gpubpf_writer_finish(&w);
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return err < 0 ? gpubpf_twin_set_reason(&module->why, err,
						"cannot send the application's image to the "
						"session: %s",
						gpubpf_session_strerror(err)) :
			 0;
}

/*
 * The session limits the number of pending requests. Wait until another request is allowed. Returns 0, or -EAGAIN: a
 * later launch may try again.
 */
static int wait_for_room(void)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	uint64_t until;
	int err = 0;

	if (gpubpf_client_can_request())
		return 0;
	if (gpubpf_is_agent_thread())
		return -EAGAIN;
	until = gpubpf_wait_budget_begin();
	while (!err && !gpubpf_client_can_request()) {
		err = gpubpf_now_ns() < until ? 0 : -EAGAIN;
		if (!err)
			nanosleep(&nap, NULL);
	}
	gpubpf_wait_budget_end();
	return err;
}

int gpubpf_twin_send_request(struct gpubpf_twin_module *module, const char *kernel)
{
	const struct gpubpf_hook_ops *ops = module->program->ops;
	struct gpubpf_hook_image image = { .unloadable = module->unloadable };
	int err = gpubpf_device_make_ready(module->device, &module->why);

	if (!err)
		err = wait_for_room();
	if (err < 0)
		return err;
	err = ops->image(module->program->adapter, module->device, &image);
	module->identity = image.identity;
	if (err < 0 || image.reason)
		err = gpubpf_twin_set_reason(&module->why, -EOPNOTSUPP, "%s",
					     image.reason ? image.reason : strerror(-err));
	else if (image.size > GPUBPF_IMAGE_MAX)
		err = gpubpf_twin_set_reason(&module->why, -E2BIG, "the application's image is larger than %u MiB",
					     GPUBPF_IMAGE_MAX >> 20);
	else if (strlen(kernel) >= GPUBPF_WHOLE_NAME_SIZE)
		err = gpubpf_twin_set_reason(&module->why, -E2BIG, "the kernel's name is longer than %d characters",
					     GPUBPF_WHOLE_NAME_SIZE - 1);
	else
		err = send_image(module, &image);
	ops->image_put(&image);
	return err;
}
