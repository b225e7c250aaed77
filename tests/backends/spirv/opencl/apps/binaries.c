/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that caches the binaries of its kernels. The first run builds from source and stores binaries. Then the
 * program restarts itself and loads the stored binaries. With a file name it stores a binary there, or loads the file.
 */
#include "app.h"

#include <sys/wait.h>
#include <unistd.h>

enum { N = 1024 };

static const char source[] =
	"__kernel void kept(__global float *data, float by) { size_t i = get_global_id(0); data[i] = sqrt(data[i] + i) * by; }\n";

static void run(cl_program p)
{
	cl_kernel k = app_kernel(p, "kept");
	cl_mem data = app_buffer(N * 4, NULL);

	app_arg_mem(k, 0, data);
	app_arg_f32(k, 1, 1.25f);
	app_launch1(k, N, 64);
	app_launch1(k, N, 0);
	app_digest_buffer(data, N * 4);
	CHECK(clReleaseKernel(k));
	CHECK(clReleaseMemObject(data));
}

static unsigned char *binary_of(cl_program p, size_t *size)
{
	unsigned char *binary;

	CHECK(clGetProgramInfo(p, CL_PROGRAM_BINARY_SIZES, sizeof(*size), size, NULL));
	binary = malloc(*size);
	CHECK(clGetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL));
	return binary;
}

static void load(const unsigned char *binary, size_t size)
{
	cl_int status, err;
	cl_program p = clCreateProgramWithBinary(app_context, 1, &app_device, &size, &binary, &status, &err);

	CHECK(err);
	CHECK(clBuildProgram(p, 1, &app_device, "", NULL, NULL));
	run(p);
	CHECK(clReleaseProgram(p));
}

static void store(const char *path)
{
	cl_program p = app_program(source, "-cl-mad-enable");
	size_t size;
	unsigned char *binary = binary_of(p, &size);
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(binary, size, 1, f) != 1 || fclose(f))
		app_fail(__FILE__, __LINE__, path, 0);
	run(p);
	CHECK(clReleaseProgram(p));
	load(binary, size);
	free(binary);
}

static void from_file(const char *path)
{
	static unsigned char binary[1 << 24];
	FILE *f = fopen(path, "rb");
	size_t size;

	if (!f)
		app_fail(__FILE__, __LINE__, path, 0);
	size = fread(binary, 1, sizeof(binary), f);
	fclose(f);
	load(binary, size);
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/gpubpf-kept-XXXXXX";
	int status = 0;
	pid_t child;

	if (argc > 1) {
		app_open();
		if (access(argv[1], F_OK))
			store(argv[1]);
		else
			from_file(argv[1]);
		return app_close();
	}
	close(mkstemp(path));
	app_open();
	store(path);
	app_close();
	fflush(stdout);
	child = fork();
	if (!child) {
		execl("/proc/self/exe", argv[0], path, NULL);
		_exit(126);
	}
	waitpid(child, &status, 0);
	unlink(path);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
