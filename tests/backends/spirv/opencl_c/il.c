/* SPDX-License-Identifier: Apache-2.0 */
#include "il.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/spirv/spirv/module/spv.h"

const char *il_clang;

static struct gpubpf_blob read_all(const char *path)
{
	struct gpubpf_blob blob = { malloc(1 << 22), 0 };
	FILE *in = fopen(path, "rb");

	blob.size = in ? fread(blob.data, 1, 1 << 22, in) : 0;
	if (in)
		fclose(in);
	return blob;
}

static void write_all(const char *path, const void *data, size_t size)
{
	FILE *out = fopen(path, "wb");

	fwrite(data, 1, size, out);
	fclose(out);
}

struct gpubpf_blob il_compile(const char *text, const char *options)
{
	char dir[] = "/tmp/gpubpf-wrap-XXXXXX", source[64], module[64], command[2048];
	struct gpubpf_blob blob = { 0 };

	if (!mkdtemp(dir))
		return blob;
	snprintf(source, sizeof(source), "%s/probe.cl", dir);
	snprintf(module, sizeof(module), "%s/probe.spv", dir);
	write_all(source, text, strlen(text));
	snprintf(command, sizeof(command), "%s --target=spirv64v1.4 -x cl -cl-std=CL2.0 -O2 -w -Xclang"
		 " -finclude-default-header %s -c %s -o %s 2>/dev/null", il_clang, options, source, module);
	if (system(command) == 0)
		blob = read_all(module);
	unlink(source);
	unlink(module);
	rmdir(dir);
	return blob;
}

bool il_valid(const struct gpubpf_blob *module)
{
	char path[] = "/tmp/gpubpf-spv-XXXXXX", command[256];
	int fd = mkstemp(path), status;

	if (fd < 0)
		return false;
	close(fd);
	write_all(path, module->data, module->size);
	snprintf(command, sizeof(command), "spirv-val --target-env spv1.4 %s 1>&2", path);
	status = system("command -v spirv-val >/dev/null") ? 0 : system(command);
	unlink(path);
	return status == 0;
}

int il_inspect(const struct gpubpf_blob *module, struct gpubpf_pool *pool, struct gpubpf_kernel_info **kernels,
	       uint32_t *nkernels, struct gpubpf_diag *diag)
{
	struct gpubpf_spv_kernel *list;
	struct gpubpf_spv m;
	int err = gpubpf_spv_read(module->data, module->size, pool, &m, diag);

	if (!err)
		err = gpubpf_spv_kernels(&m, pool, &list, nkernels);
	if (err)
		return err;
	*kernels = calloc(*nkernels + 1, sizeof(**kernels));
	for (uint32_t i = 0; i < *nkernels; i++)
		(*kernels)[i] = list[i].info;
	return 0;
}

int il_inject(const struct gpubpf_blob *module, const struct gpubpf_lower_job *job, struct gpubpf_twin_image *twin,
	      struct gpubpf_diag *diag)
{
	struct gpubpf_pool pool = GPUBPF_POOL_INIT;
	struct gpubpf_spv_wrap *wraps = calloc(job->nsites + 1, sizeof(*wraps));
	struct gpubpf_spv_kernel *list;
	struct gpubpf_spv m;
	uint32_t n = 0, nwraps = 0;
	int err = gpubpf_spv_read(module->data, module->size, &pool, &m, diag);

	if (!err)
		err = gpubpf_spv_kernels(&m, &pool, &list, &n);
	memset(twin, 0, sizeof(*twin));
	twin->twins = calloc(job->nsites + 1, sizeof(*twin->twins));
	for (uint32_t s = 0; s + 1 < job->nsites; s += 2)
		for (uint32_t k = 0; k < n; k++)
			if (!strcmp(list[k].info.name, job->sites[s].kernel)) {
				wraps[nwraps++] = (struct gpubpf_spv_wrap){ &list[k], s, s + 1, UINT32_MAX, UINT32_MAX };
				twin->twins[twin->ntwins++] = s;
			}
	if (!err)
		err = gpubpf_spv_inject(&m, job, wraps, nwraps, &twin->piece[0].blob, diag);
	twin->piece[0].kind = GPUBPF_IMAGE_SPIRV;
	twin->piece[0].options = "";
	twin->npieces = 1;
	gpubpf_pool_finish(&pool);
	free(wraps);
	return err;
}
