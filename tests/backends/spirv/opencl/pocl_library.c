/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests a copy of PoCL's library that has only the functions that objects call (backends/spirv/build/library.h).
 * Programs must give the same results as with the whole library. PoCL reads the reduced library in a fraction of the
 * time.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <time.h>
#include <unistd.h>

#include "backends/spirv/build/library.h"
#include "tests/tap.h"

enum { ITEMS = 64, WORDS = 64 };

/* programs that call functions of different groups of OpenCL C */
static const char *const programs[] = {
	"kernel void k(global float *o, global int *n) { size_t i = get_global_id(0); o[i] = sin(o[i]) + erf(o[i]) + pow(o[i], 3); }",
	"kernel void k(global float *o, global int *n) { size_t i = get_local_id(0); float4 v = vload4(i / 4, o);\n"
	" barrier(CLK_GLOBAL_MEM_FENCE); o[i] = dot(v, cross(v.yzxw, v)) + fast_length(v.xy) + native_exp(v.z); }",
	"kernel void k(global float *o, global int *n) { size_t i = get_global_id(0); n[i] = convert_int_sat_rte(o[i] * 3e9f) ^ mul_hi(n[i], 7);\n"
	" atomic_add(n, 1); atomic_max(n + 1, (int)i); n[i] += popcount(n[i]) + mad24(n[i], 3, 4) + (int)hadd((uint)i, 5u); }",
	"kernel void k(global float *o, global int *n) { size_t i = get_global_id(0); float f; int e;\n"
	" o[i] = fract(o[i] * 9, &f) + frexp(o[i] + 3, &e) + (i ? 0.5f : sincos(o[i], &f)); o[i] += f + e;\n"
	" if (!i) printf(\"# %d %s %5.2f %v4hld\\n\", n[0], \"text\", o[0], (long4)(1)); }",
	"kernel void k(global float *o, global int *n) { size_t i = get_global_id(0); event_t e = 0; local float t[16];\n"
	" e = async_work_group_copy(t, o, 16, e); wait_group_events(1, &e); o[i] = t[i & 15] + (float)remainder((double)i, 1.25);\n"
	" vstore_half(o[i], i, (global half *)n); o[i] += vload_half(i, (global half *)n); }",
};

struct device {
	cl_platform_id platform;
	cl_device_id id;
};

struct result {
	float numbers[WORDS];
	int words[WORDS];
};

static double used_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Compiles the source. PoCL caches each program that it links; the added function makes this program new. */
static cl_program compile(const struct device *d, cl_context context, const char *source)
{
	static unsigned int made;
	char text[4096];
	const char *t = text;
	cl_program program;

	snprintf(text, sizeof(text), "%s\nint unused_%d_%ld_%u(int v) { return v; }\n", source, (int)getpid(),
		 (long)time(NULL), made++);
	program = clCreateProgramWithSource(context, 1, &t, NULL, NULL);
	return clCompileProgram(program, 1, &d->id, "", 0, NULL, NULL, NULL, NULL) == CL_SUCCESS ? program : NULL;
}

/* Returns the program's binary, which the caller frees. */
static struct cl_object read_object(cl_program program)
{
	unsigned char *data;
	size_t size = 0;

	clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL);
	data = calloc(1, size + 1);
	if (data && size)
		clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(data), &data, NULL);
	return (struct cl_object){ data, data ? size : 0 };
}

static bool run_kernel(const struct device *d, cl_context context, cl_program program, struct result *r)
{
	cl_int err;
	size_t items = ITEMS;
	cl_command_queue queue = clCreateCommandQueue(context, d->id, 0, &err);
	cl_mem numbers = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof(r->numbers), r->numbers, &err);
	cl_mem words = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof(r->words), r->words, &err);
	cl_kernel kernel = clCreateKernel(program, "k", &err);

	clSetKernelArg(kernel, 0, sizeof(numbers), &numbers);
	clSetKernelArg(kernel, 1, sizeof(words), &words);
	return clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &items, 0, NULL, NULL) == CL_SUCCESS &&
	       clEnqueueReadBuffer(queue, numbers, CL_TRUE, 0, sizeof(r->numbers), r->numbers, 0, NULL, NULL) ==
		       CL_SUCCESS &&
	       clEnqueueReadBuffer(queue, words, CL_TRUE, 0, sizeof(r->words), r->words, 0, NULL, NULL) == CL_SUCCESS;
}

static struct result begin(void)
{
	struct result r;

	for (int i = 0; i < WORDS; i++) {
		r.numbers[i] = (float)i * 0.37f - 3;
		r.words[i] = i * 7919;
	}
	return r;
}

/*
 * Builds a program in a new context and frees both. If reduced is true, PoCL links a library with only the functions
 * that the object `called` calls. NULL stands for the program's own object. Stores the seconds of the link in *seconds.
 * Returns the binary, which has no data if the link fails.
 */
static struct cl_object build(const struct device *d, const char *source, const struct cl_object *called, bool reduced,
			      double *seconds)
{
	cl_context context = clCreateContext(NULL, 1, &d->id, NULL, NULL, NULL);
	cl_program part = compile(d, context, source), program = NULL;
	struct cl_object own = part ? read_object(part) : (struct cl_object){ 0 }, made = { 0 };

	cl_library_set_objects(called ? called : &own, reduced);
	*seconds = used_seconds();
	if (part)
		program = clLinkProgram(context, 1, &d->id, "", 1, &part, NULL, NULL, NULL);
	*seconds = used_seconds() - *seconds;
	cl_library_set_objects(NULL, 0);
	if (program)
		made = read_object(program);
	if (program)
		clReleaseProgram(program);
	if (part)
		clReleaseProgram(part);
	clReleaseContext(context);
	free((void *)own.data);
	return made;
}

/*
 * The two builds of one program. All builds precede all launches, because PoCL frees contexts at any time after a
 * launch.
 */
struct built {
	struct cl_object whole, part;
	double whole_seconds, part_seconds;
};

static void build_both(const struct device *d, int i, struct built *b)
{
	b->whole = build(d, programs[i], NULL, false, &b->whole_seconds);
	ok(b->whole.size && !cl_library_take_reduced(), "program %d links with the whole library", i);
	b->part = build(d, programs[i], NULL, true, &b->part_seconds);
	ok(b->part.size && cl_library_take_reduced(), "program %d links with the functions that it calls", i);
}

static bool run(const struct device *d, const struct cl_object *binary, struct result *r)
{
	cl_context context = clCreateContext(NULL, 1, &d->id, NULL, NULL, NULL);
	const unsigned char *data = binary->data;
	cl_program program = clCreateProgramWithBinary(context, 1, &d->id, &binary->size, &data, NULL, NULL);

	*r = begin();
	return program && clBuildProgram(program, 1, &d->id, "", NULL, NULL) == CL_SUCCESS &&
	       run_kernel(d, context, program, r);
}

static void compare(const struct device *d, int i, const struct built *b)
{
	struct result native, made;

	ok(run(d, &b->whole, &native) && run(d, &b->part, &made) && !memcmp(&native, &made, sizeof(made)),
	   "program %d gives the same results", i);
	free((void *)b->whole.data);
	free((void *)b->part.data);
}

static bool open_device(struct device *d)
{
	cl_platform_id platforms[8];
	char name[64] = "";
	cl_uint n = 0;

	clGetPlatformIDs(8, platforms, &n);
	for (cl_uint i = 0; i < n && i < 8; i++) {
		d->platform = platforms[i];
		clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(name), name, NULL);
		if (strcmp(name, "Portable Computing Language") == 0)
			return clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &d->id, NULL) == CL_SUCCESS;
	}
	return false;
}

static void check_limits(const struct device *d)
{
	static const char garbage[64] = "no bitcode";
	const struct cl_object none = { garbage, sizeof(garbage) };
	double seconds;
	struct cl_object other = build(d, "kernel void k(global float *o, global int *n) { n[get_global_id(0)] = 1; }",
				       NULL, false, &seconds),
			 made;

	made = build(d, programs[0], &none, true, &seconds);
	ok(made.size && !cl_library_take_reduced(), "objects that cannot be read: the whole library");
	free((void *)made.data);
	made = build(d, programs[0], &other, true, &seconds);
	ok(!made.size && cl_library_take_reduced(), "a function that no object calls is not in the library");
	free((void *)other.data);
	ok(cl_library_open("/usr/share/pocl/other.bc", (const void *)check_limits) < 0, "another file is no library");
}

int main(void)
{
	enum { PROGRAMS = sizeof(programs) / sizeof(programs[0]) };
	struct built built[PROGRAMS];
	double parts = 0, wholes = 0;
	struct device d;

	if (!open_device(&d)) {
		skip("PoCL's library", "there is no PoCL");
		return done();
	}
	for (int i = 0; i < PROGRAMS; i++) {
		build_both(&d, i, &built[i]);
		parts += built[i].part_seconds;
		wholes += built[i].whole_seconds;
	}
	ok(parts * 2 < wholes, "links take %.2f s, with whole libraries %.2f s", parts, wholes);
	check_limits(&d);
	for (int i = 0; i < PROGRAMS; i++)
		compare(&d, i, &built[i]);
	return done();
}
