/* SPDX-License-Identifier: Apache-2.0 */
#include "assemble.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"

#define INPUT_PTX 2 /* NVJITLINK_INPUT_PTX of nvJitLink.h */

/* functions of nvJitLink; each returns 0 for success (nvJitLink's documentation, "API") */
static struct {
	int (*create)(void **handle, uint32_t noptions, const char **options);
	int (*destroy)(void **handle);
	int (*add)(void *handle, int kind, const void *data, size_t size, const char *name);
	int (*complete)(void *handle);
	int (*cubin_size)(void *handle, size_t *size);
	int (*cubin)(void *handle, void *cubin);
	int (*log_size)(void *handle, size_t *size);
	int (*log)(void *handle, char *log);
} link;

static bool load_functions(void *library)
{
	static const struct {
		const char *name;
		void *at;
	} functions[] = {
		{ "nvJitLinkCreate", &link.create },
		{ "nvJitLinkDestroy", &link.destroy },
		{ "nvJitLinkAddData", &link.add },
		{ "nvJitLinkComplete", &link.complete },
		{ "nvJitLinkGetLinkedCubinSize", &link.cubin_size },
		{ "nvJitLinkGetLinkedCubin", &link.cubin },
		{ "nvJitLinkGetErrorLogSize", &link.log_size },
		{ "nvJitLinkGetErrorLog", &link.log },
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *function = dlsym(library, functions[i].name);

		if (!function)
			return false;
		memcpy(functions[i].at, &function, sizeof(function));
	}
	return true;
}

void cuda_assemble_open(void)
{
	static const char *const names[] = {
		"libnvJitLink.so.13",
		"libnvJitLink.so.12",
		"/usr/local/cuda/lib64/libnvJitLink.so.13",
		"/usr/local/cuda/lib64/libnvJitLink.so.12",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);

		if (library && load_functions(library))
			return;
		link.create = NULL;
	}
}

static void read_log(void *handle, char *log, size_t log_size)
{
	size_t n = 0;
	char *text;

	if (link.log_size(handle, &n) || !n)
		return;
	text = calloc(1, n + 1);
	if (text && !link.log(handle, text))
		snprintf(log, log_size, "%s", text);
	free(text);
}

static int fetch_cubin(void *handle, struct gpubpf_twin_image *out)
{
	struct gpubpf_blob blob = { 0 };

	if (link.cubin_size(handle, &blob.size))
		return -EINVAL;
	blob.data = malloc(blob.size + 1);
	if (!blob.data)
		return -ENOMEM;
	if (link.cubin(handle, blob.data)) {
		free(blob.data);
		return -EINVAL;
	}
	out->piece[0] = (struct gpubpf_twin_piece){ GPUBPF_IMAGE_CUBIN, blob, NULL };
	out->npieces = 1;
	return 0;
}

int cuda_assemble(const struct gpubpf_device_caps *caps, const struct gpubpf_twin_image *pieces,
		  struct gpubpf_twin_image *out, char *log, size_t log_size, struct gpubpf_diag *diag)
{
	char arch[48];
	/*
	 * The option keeps literals in the instructions, because the constant bank that would hold them belongs to the
	 * application's GPU kernel. Older versions of nvJitLink reject the option, so the call below is repeated
	 * without it.
	 */
	const char *options[] = { arch, "-Xptxas=--disable-optimizer-constants" };
	void *handle = NULL;
	char *text;
	int err;

	if (!link.create)
		return gpubpf_diag_set(diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC,
				       "no assembler for NVIDIA's machine code is installed; install libnvJitLink.so of "
				       "CUDA 12 or later, or ptxas");
	if (pieces->npieces != 1 || pieces->piece[0].kind != GPUBPF_IMAGE_PTX)
		return gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC,
				       "the request must contain exactly one PTX text (a bug of gpubpf; please report it)");
	text = strndup(pieces->piece[0].blob.data, pieces->piece[0].blob.size);
	if (!text)
		return -ENOMEM;
	snprintf(arch, sizeof(arch), "-arch=%s", caps->arch);
	err = link.create(&handle, 2, options);
	if (err)
		err = link.create(&handle, 1, options);
	if (!err)
		/* nvJitLink reads PTX up to a NUL */
		err = link.add(handle, INPUT_PTX, text, strlen(text) + 1, "probes");
	if (!err)
		err = link.complete(handle);
	if (err && handle)
		read_log(handle, log, log_size);
	err = err ? gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC,
				    "the assembler refused the probes (nvJitLink: %d)", err) :
		    fetch_cubin(handle, out);
	if (handle)
		link.destroy(&handle);
	free(text);
	return err;
}
