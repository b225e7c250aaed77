/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cl-case FILE.cl [MODULE.spv]: runs a case (tests/backends/spirv/opencl_c/case.h) from its source, or from the module.
 * Prints a digest of the kernel's output for each run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/backends/spirv/opencl_c/case.h"
#include "tests/backends/spirv/opencl_c/device.h"

static void *read_all(const char *path, size_t *size)
{
	void *data = malloc(1 << 22);
	FILE *in = fopen(path, "rb");

	*size = in && data ? fread(data, 1, 1 << 22, in) : 0;
	if (in)
		fclose(in);
	return data;
}

static unsigned long long digest(const struct outcome *o)
{
	unsigned long long hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < o->size; i++)
		hash = (hash ^ o->data[i]) * 0x100000001b3ull;
	return hash;
}

static int run_each(struct device *dev, const struct case_file *file, cl_program program, const char **why)
{
	struct case_file one = *file;
	struct outcome out;
	int err = 0;

	one.nruns = 1;
	for (uint32_t i = 0; i < file->nruns && err == 0; i++) {
		one.run[0] = file->run[i];
		err = device_run(dev, &one, program, NULL, &out, why);
		if (!err)
			printf("%s %zu bytes %016llx\n", one.run[0].kernel, out.size, digest(&out));
		free(out.data);
	}
	return err;
}

int main(int argc, char **argv)
{
	struct gpubpf_pool pool = GPUBPF_POOL_INIT;
	cl_program program = NULL;
	struct case_file file;
	struct device dev;
	const char *why = "";
	size_t size;
	void *module;
	int err;

	if (argc < 2 || case_load(".", argv[1], &pool, &file, &why) < 0 || device_open(&dev, &why)) {
		fprintf(stderr, "%s: %s\n", argc < 2 ? "cl-case" : argv[1], why);
		return 2;
	}
	module = argc > 2 ? read_all(argv[2], &size) : NULL;
	err = module ? device_build_il(&dev, module, size, &program, &why) : device_build(&dev, &file, &program, &why);
	if (err) {
		fprintf(stderr, "%s: %s (%d)\n", argv[1], why, err);
		return 77;
	}
	err = run_each(&dev, &file, program, &why);
	if (err) {
		fprintf(stderr, "%s: %s (%d)\n", argv[1], why, err);
		return 1;
	}
	clReleaseProgram(program);
	return 0;
}
