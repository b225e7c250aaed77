/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel parameters of many types: structs, unions, vectors and enums by value, nested and padded, and many parameters.
 */
#include "app.h"

static const char source[] =
	"typedef struct { char tag; int count; float4 weights; struct { short a, b[3]; } inner; } item_t;\n"
	"typedef union { uint bits; float value; } word_t;\n"
	"typedef enum { FIRST, SECOND = 7 } which_t;\n"
	"struct pair { ulong low; uchar high; };\n"
	"__kernel void shapes(__global uint *out, item_t item, word_t word, which_t which, struct pair pair,\n"
	"                     uchar3 small, double8_or_float8 wide, char c, ushort s, long l)\n"
	"{\n"
	"	size_t i = get_global_id(0);\n"
	"	uint x = item.tag + item.count * i + (uint)item.weights.z + item.inner.a + item.inner.b[2];\n"
	"	x ^= word.bits + which * 31 + (uint)pair.low * 17 + pair.high;\n"
	"	x += small.x + small.y * 3 + small.z * 5 + (uint)wide.s5 + c + s + (uint)l;\n"
	"	out[i] = x;\n"
	"}\n"
	"__kernel void many(__global uint *out, int a0, int a1, int a2, int a3, int a4, int a5, int a6, int a7, int a8,\n"
	"                   int a9, int b0, int b1, int b2, int b3, int b4, int b5, int b6, int b7, int b8, int b9,\n"
	"                   int c0, int c1, int c2, int c3, int c4, int c5, int c6, int c7, int c8, int c9, int d0,\n"
	"                   int d1, int d2, int d3)\n"
	"{\n"
	"	out[get_global_id(0)] += a0 + a1 * 2 + a2 * 3 + a3 + a4 + a5 + a6 * 5 + a7 + a8 + a9 + b0 + b1 + b2 +\n"
	"		b3 + b4 + b5 * 7 + b6 + b7 + b8 + b9 + c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7 + c8 + c9 + d0 +\n"
	"		d1 + d2 * 11 + d3 * (int)get_global_id(0);\n"
	"}\n";

struct item {
	cl_char tag;
	cl_int count;
	cl_float4 weights;
	struct { cl_short a, b[3]; } inner;
};

struct pair {
	cl_ulong low;
	cl_uchar high;
};

int main(void)
{
	struct item item = { 3, -5, { { 1, 2, 300, 4 } }, { 7, { 1, 2, 99 } } };
	cl_float8 wide = { { 0, 1, 2, 3, 4, 555, 6, 7 } };
	struct pair pair = { 1234567, 200 };
	cl_uchar4 small = { { 1, 2, 3, 0 } };
	cl_uint word = 0x3f800000;
	cl_int which = 7;
	cl_char c = -2;
	cl_ushort s = 60000;
	cl_long l = -77;
	cl_program program;
	cl_kernel shapes, many;
	cl_mem out;

	app_open();
	program = app_program(source, "-Ddouble8_or_float8=float8");
	shapes = app_kernel(program, "shapes");
	many = app_kernel(program, "many");
	out = app_buffer(1024 * 4, NULL);
	app_arg_mem(shapes, 0, out);
	CHECK(clSetKernelArg(shapes, 1, sizeof(item), &item));
	CHECK(clSetKernelArg(shapes, 2, sizeof(word), &word));
	CHECK(clSetKernelArg(shapes, 3, sizeof(which), &which));
	CHECK(clSetKernelArg(shapes, 4, sizeof(pair), &pair));
	CHECK(clSetKernelArg(shapes, 5, sizeof(small), &small));
	CHECK(clSetKernelArg(shapes, 6, sizeof(wide), &wide));
	CHECK(clSetKernelArg(shapes, 7, sizeof(c), &c));
	CHECK(clSetKernelArg(shapes, 8, sizeof(s), &s));
	CHECK(clSetKernelArg(shapes, 9, sizeof(l), &l));
	app_launch1(shapes, 1024, 16);
	item.count = 12;
	CHECK(clSetKernelArg(shapes, 1, sizeof(item), &item));
	app_launch1(shapes, 512, 0);
	app_arg_mem(many, 0, out);
	for (cl_uint i = 1; i < 35; i++)
		app_arg_u32(many, i, app_random() % 1000);
	app_launch1(many, 1024, 0);
	app_digest_buffer(out, 1024 * 4);
	CHECK(clReleaseKernel(shapes));
	CHECK(clReleaseKernel(many));
	CHECK(clReleaseProgram(program));
	CHECK(clReleaseMemObject(out));
	return app_close();
}
