/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs from parts: headers passed to clCompileProgram(), linked objects, a library linked into another program, a
 * NULL device list, and options that matter when compiling and when linking.
 */
#include "app.h"

enum { N = 1024 };

static const char header[] = "#define WEIGHT 11\nfloat weigh(float x);\n";
static const char inner[] = "#include \"deep/inner.h\"\n";
static const char library[] = "#include \"weigh.h\"\nfloat weigh(float x) { return sin(x) * WEIGHT + x / 3.0f; }\n";
static const char user[] =
	"#include \"weigh.h\"\n"
	"#include \"inner.h\"\n"
	"__kernel void apply(__global float *data) { size_t i = get_global_id(0); data[i] = weigh(data[i]) + INNER; }\n";
static const char alone[] =
	"#include \"weigh.h\"\n"
	"__kernel void by_itself(__global float *data) { data[get_global_id(0)] += WEIGHT * ADD; }\n";

static cl_program make(const char *text)
{
	cl_int err;
	cl_program p = clCreateProgramWithSource(app_context, 1, &text, NULL, &err);

	CHECK(err);
	return p;
}

static cl_program compile(const char *text, const char *options)
{
	const char *names[] = { "weigh.h", "inner.h", "deep/inner.h" };
	cl_program p = make(text), headers[3] = { make(header), make(inner), make("#define INNER 0.25f\n") };

	CHECK(clCompileProgram(p, 0, NULL, options, 3, headers, names, NULL, NULL));
	for (int i = 0; i < 3; i++)
		CHECK(clReleaseProgram(headers[i]));
	return p;
}

static cl_program join(cl_uint n, const cl_program *parts, const char *options)
{
	cl_int err;
	cl_program p = clLinkProgram(app_context, 0, NULL, options, n, parts, NULL, NULL, &err);

	CHECK(err);
	return p;
}

static void run(cl_program p, const char *name, cl_mem data)
{
	cl_kernel k = app_kernel(p, name);

	app_arg_mem(k, 0, data);
	app_launch1(k, N, 0);
	app_digest_buffer(data, N * 4);
	CHECK(clReleaseKernel(k));
}

int main(void)
{
	cl_program parts[2], with_library[2], linked;
	float values[N];
	cl_mem data;

	app_open();
	for (int i = 0; i < N; i++)
		values[i] = app_random() % 1000 / 7.0f;
	data = app_buffer(sizeof(values), values);
	parts[0] = compile(user, "-cl-fast-relaxed-math");
	parts[1] = compile(library, "-cl-fast-relaxed-math");
	linked = join(2, parts, "");
	run(linked, "apply", data);
	CHECK(clReleaseProgram(linked));
	with_library[0] = parts[0];
	with_library[1] = join(1, &parts[1], "-create-library");
	linked = join(2, with_library, "");
	run(linked, "apply", data);
	CHECK(clReleaseProgram(linked));
	CHECK(clReleaseProgram(with_library[1]));
	for (int i = 0; i < 2; i++)
		CHECK(clReleaseProgram(parts[i]));
	parts[0] = compile(alone, "-D ADD=0.5f");
	linked = join(1, parts, "");
	CHECK(clReleaseProgram(parts[0]));
	run(linked, "by_itself", data);
	CHECK(clReleaseProgram(linked));
	CHECK(clReleaseMemObject(data));
	return app_close();
}
