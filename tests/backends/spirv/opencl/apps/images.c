/* SPDX-License-Identifier: Apache-2.0 */
/* Images and samplers: reads through a sampler, and writes and reads images. */
#include "app.h"

enum { W = 96, H = 64 };

static const char source[] =
	"__kernel void blur(__read_only image2d_t in, __write_only image2d_t out, sampler_t sampler, int2 step)\n"
	"{\n"
	"	int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
	"	float4 sum = (float4)(0.0f);\n"
	"	for (int y = -2; y <= 2; y++)\n"
	"		for (int x = -2; x <= 2; x++)\n"
	"			sum += read_imagef(in, sampler, at + step * (int2)(x, y));\n"
	"	write_imagef(out, at, sum / 25.0f);\n"
	"}\n"
	"__constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;\n"
	"__kernel void flip(__read_only image2d_t in, __write_only image2d_t out)\n"
	"{\n"
	"	int x = get_global_id(0), y = get_global_id(1);\n"
	"	float4 v = read_imagef(in, nearest, (int2)(get_global_size(0) - 1 - x, y));\n"
	"	write_imagef(out, (int2)(x, y), v.zyxw);\n"
	"}\n";

static cl_mem image(const void *data)
{
	cl_image_format format = { CL_RGBA, CL_UNORM_INT8 };
	cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = W, .image_height = H };
	cl_int err;
	cl_mem m = clCreateImage(app_context, CL_MEM_READ_WRITE | (data ? CL_MEM_COPY_HOST_PTR : 0), &format, &desc,
				 (void *)data, &err);

	CHECK(err);
	return m;
}

static void digest(cl_mem m)
{
	static unsigned char pixels[W * H * 4];
	size_t from[3] = { 0 }, size[3] = { W, H, 1 };

	CHECK(clEnqueueReadImage(app_queue, m, CL_TRUE, from, size, 0, 0, pixels, 0, NULL, NULL));
	app_digest(pixels, sizeof(pixels));
}

int main(void)
{
	static unsigned char pixels[W * H * 4];
	size_t global[2] = { W, H }, local[2] = { 8, 8 };
	cl_int2 step = { { 1, 2 } };
	cl_bool images = CL_FALSE;
	cl_sampler sampler;
	cl_kernel blur, flip;
	cl_program program;
	cl_mem a, b;
	cl_int err;

	app_open();
	CHECK(clGetDeviceInfo(app_device, CL_DEVICE_IMAGE_SUPPORT, sizeof(images), &images, NULL));
	if (!images)
		app_lacks("images");
	for (size_t i = 0; i < sizeof(pixels); i++)
		pixels[i] = app_random();
	a = image(pixels);
	b = image(NULL);
	sampler = clCreateSampler(app_context, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST, &err);
	CHECK(err);
	program = app_program(source, "");
	blur = app_kernel(program, "blur");
	flip = app_kernel(program, "flip");
	app_arg_mem(blur, 0, a);
	app_arg_mem(blur, 1, b);
	CHECK(clSetKernelArg(blur, 2, sizeof(sampler), &sampler));
	CHECK(clSetKernelArg(blur, 3, sizeof(step), &step));
	app_launch(blur, 2, NULL, global, local);
	digest(b);
	app_arg_mem(flip, 0, b);
	app_arg_mem(flip, 1, a);
	app_launch(flip, 2, NULL, global, NULL);
	digest(a);
	CHECK(clReleaseKernel(blur));
	CHECK(clReleaseKernel(flip));
	CHECK(clReleaseSampler(sampler));
	CHECK(clReleaseProgram(program));
	CHECK(clReleaseMemObject(a));
	CHECK(clReleaseMemObject(b));
	return app_close();
}
