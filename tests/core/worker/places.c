/* SPDX-License-Identifier: Apache-2.0 */
/*
 * places TARGET ARCH IMAGE-KIND FILE: prints the places that the target finds in an image, one per line, as "KERNEL
 * PLACE ID LINE FREE". FREE is the number of registers per thread that the kernel does not use at the place.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/model/places.h"
#include "core/worker/job.h"

static void *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	char *data = NULL;

	if (!file)
		return NULL;
	if (!fseek(file, 0, SEEK_END) && (data = malloc(ftell(file) + 1))) {
		*size = ftell(file);
		rewind(file);
		*size = fread(data, 1, *size, file);
	}
	fclose(file);
	return data;
}

int main(int argc, char **argv)
{
	struct gpubpf_image image = { .places = UINT32_MAX, .options = "", .cwd = "" };
	struct gpubpf_device_caps caps = { .name = "any" };
	struct gpubpf_worker_opts opts = { 0 };
	struct gpubpf_kernel_info *kernels;
	struct gpubpf_worker *worker;
	struct gpubpf_diag diag;
	uint32_t n;

	if (argc != 5)
		return 2;
	snprintf(caps.arch, sizeof(caps.arch), "%s", argv[2]);
	image.kind = !strcmp(argv[3], "cubin") ? GPUBPF_IMAGE_CUBIN : GPUBPF_IMAGE_AMDGPU;
	image.data = read_file(argv[4], &image.size);
	gpubpf_diag_init(&diag);
	if (!image.data || gpubpf_worker_create(&opts, &worker) < 0)
		return 2;
	if (gpubpf_worker_inspect(worker, argv[1], &image, &caps, &kernels, &n, &diag) < 0) {
		fprintf(stderr, "%s\n", diag.what);
		return 1;
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < kernels[i].nplaces; k++)
			printf("%s %s %u %u %u\n", kernels[i].name, gpubpf_place_kind(kernels[i].places[k].kind)->name,
			       kernels[i].places[k].id, kernels[i].places[k].line, kernels[i].places[k].free);
	gpubpf_worker_destroy(worker);
	return 0;
}
