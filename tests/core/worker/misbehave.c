/* SPDX-License-Identifier: Apache-2.0 */
/* A worker with faults, for tests of the client. The member print_ring of the job selects the fault. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/model/diag.h"
#include "core/worker/sandbox/sandbox.h"
#include "core/worker/serve.h"
#include "misbehave.h"

static int emit(const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts, struct gpubpf_blob *out,
		struct gpubpf_diag *diag)
{
	switch (job->print_ring) {
	case MISBEHAVE_CRASH:
		*(volatile int *)0 = 1; /* a fault, since the sandboxed fork may not signal itself */
		break;
	case MISBEHAVE_HANG:
		for (;;)
			usleep(100000);
	case MISBEHAVE_SLOW:
		usleep(500000);
		break;
	case MISBEHAVE_REFUSE:
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, 7, "kernel %s is not to my taste", "k");
	case MISBEHAVE_GARBAGE:
		return write(3, "hello", 5) < 0 ? -errno : -EINVAL;
	case MISBEHAVE_OPEN:
		errno = 0;
		out->size = fopen("/etc/passwd", "r") ? 1 : errno;
		out->data = calloc(1, out->size);
		return 0;
	}
	out->data = malloc(64);
	out->size = snprintf(out->data, 64, "%s %u %d", job->unit->progs[0].name, job->unit->progs[0].ninsns,
			     (int)getpid());
	return 0;
}

static int validate(const struct gpubpf_twin_piece *piece, const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag)
{
	if (piece->blob.size != strlen(MISBEHAVE_INVALID) || memcmp(piece->blob.data, MISBEHAVE_INVALID, piece->blob.size))
		return 0;
	return gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "a piece of %zu bytes is not valid", piece->blob.size);
}

static int inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
		  const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	static const char reason[] = "it is too large";

	for (; out->npieces < 2; out->npieces++) {
		struct gpubpf_twin_piece *piece = &out->piece[out->npieces];

		piece->kind = image->kind;
		piece->options = out->npieces ? "-O2" : NULL;
		piece->blob.data = malloc(image->size);
		piece->blob.size = image->size;
		memcpy(piece->blob.data, image->data, image->size);
	}
	out->refused = calloc(1, sizeof(*out->refused));
	out->nrefused = 1;
	memcpy(out->refused[0].reason, reason, sizeof(reason));
	return 0;
}

static int inspect(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		   struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag)
{
	struct gpubpf_kernel_info *k = calloc(1, sizeof(*k) + 2 * (sizeof(*k->places) + sizeof(struct gpubpf_param)));

	k->places = (struct gpubpf_place *)(k + 1);
	k->places[0] = gpubpf_place_of(GPUBPF_SITE_ENTRY, 0, 0);
	k->places[1] = gpubpf_place_of(GPUBPF_SITE_EXIT, 3, 40);
	k->nplaces = 2;
	k->params = (struct gpubpf_param *)(k->places + 2);
	k->nparams = 2;
	snprintf(k->name, sizeof(k->name), "%.*s", (int)image->size, (const char *)image->data);
	snprintf(k->params[1].name, sizeof(k->params[1].name), "%.63s", caps->name);
	*kernels = k;
	*nkernels = 1;
	return 0;
}

static int sandbox(struct gpubpf_diag *diag)
{
	return gpubpf_sandbox_enter(GPUBPF_SANDBOX_FORK, diag);
}

static const struct gpubpf_target_info *find(const char *name)
{
	static const struct gpubpf_target ops = { .emit = emit, .inject = inject, .inspect = inspect, .validate = validate };
	static const struct gpubpf_target_info targets[] = {
		{ .name = "t", .ops = &ops, .output = GPUBPF_IMAGE_SPIRV, .images = UINT32_MAX, .places = GPUBPF_SITE_BIT(ENTRY) },
		{ .name = "short",
		  .ops = &ops,
		  .images = UINT32_MAX,
		  .places = GPUBPF_SITE_BIT(ENTRY) | GPUBPF_SITE_BIT(BLOCK_BEGIN) },
		{ .name = "once", .ops = &ops, .output = GPUBPF_IMAGE_SPIRV, .once = true },
	};

	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		if (!strcmp(targets[i].name, name))
			return &targets[i];
	return NULL;
}

int main(void)
{
	static const struct gpubpf_serve_ops ops = { .target = find, .sandbox = sandbox };

	return gpubpf_worker_serve(3, &ops);
}
