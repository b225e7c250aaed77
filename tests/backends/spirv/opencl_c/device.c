/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRY(call)                       \
	do {                            \
		err = (call);           \
		*what = #call;          \
		if (err != CL_SUCCESS)  \
			return err;     \
	} while (0)

static void fill_caps(struct device *dev)
{
	struct gpubpf_device_caps *caps = &dev->caps;
	char vendor[128] = "", version[128] = "", name[256] = "", all[8192] = "";
	cl_uint units = 1;

	clGetDeviceInfo(dev->id, CL_DEVICE_NAME, sizeof(name), name, NULL);
	clGetDeviceInfo(dev->id, CL_DEVICE_VENDOR, sizeof(vendor), vendor, NULL);
	clGetDeviceInfo(dev->id, CL_DRIVER_VERSION, sizeof(version), version, NULL);
	clGetDeviceInfo(dev->id, CL_DEVICE_EXTENSIONS, sizeof(all), all, NULL);
	clGetDeviceInfo(dev->id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
	strcpy(caps->backend, "opencl");
	snprintf(caps->name, sizeof(caps->name), "%.95s", name);
	snprintf(caps->driver, sizeof(caps->driver), "%.40s, %.40s", vendor, version);
	snprintf(caps->extensions, sizeof(caps->extensions), "%.4095s", all);
	caps->bits = GPUBPF_CAP_ACCEPTS_OPENCL_C | GPUBPF_CAP_LINK;
	caps->compute_units = units;
	caps->opencl_c_version = 120;
	caps->address_bits = 64;
	caps->ordinal = 3;
}

int device_open(struct device *dev, const char **what)
{
	cl_platform_id platform;
	cl_int err;

	memset(dev, 0, sizeof(*dev));
	TRY(clGetPlatformIDs(1, &platform, NULL));
	TRY(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &dev->id, NULL));
	dev->context = clCreateContext(NULL, 1, &dev->id, NULL, NULL, &err);
	TRY(err);
	dev->queue = clCreateCommandQueue(dev->context, dev->id, 0, &err);
	TRY(err);
	fill_caps(dev);
	return 0;
}

int device_build(struct device *dev, const struct case_file *c, cl_program *program, const char **what)
{
	const char *text = c->text, *header = c->header_text;
	cl_program source = clCreateProgramWithSource(dev->context, 1, &text, &c->size, NULL);
	cl_program include;
	cl_int err;

	if (!c->header) {
		*program = source;
		err = clBuildProgram(source, 1, &dev->id, c->options, NULL, NULL);
	} else {
		include = clCreateProgramWithSource(dev->context, 1, &header, NULL, NULL);
		err = clCompileProgram(source, 1, &dev->id, c->options, 1, &include, (const char **)&c->header, NULL,
				       NULL);
		if (err == CL_SUCCESS)
			*program = clLinkProgram(dev->context, 1, &dev->id, NULL, 1, &source, NULL, NULL, &err);
	}
	*what = "building the original";
	return err;
}

int device_build_il(struct device *dev, const void *module, size_t size, cl_program *program, const char **what)
{
	cl_int err;

	*program = clCreateProgramWithIL(dev->context, module, size, &err);
	TRY(err);
	TRY(clBuildProgram(*program, 1, &dev->id, NULL, NULL, NULL));
	return 0;
}

int device_load(struct device *dev, const void *binary, size_t size, cl_program *program, const char **what)
{
	const unsigned char *bytes = binary;
	cl_int err, status;

	*program = clCreateProgramWithBinary(dev->context, 1, &dev->id, &size, &bytes, &status, &err);
	TRY(err);
	TRY(clBuildProgram(*program, 1, &dev->id, NULL, NULL, NULL));
	return 0;
}

/* one argument of a kernel that is being run */
struct value {
	cl_mem memory;
	cl_sampler sampler;
	size_t size, width;
};

static size_t parse_hex(const char *hex, unsigned char *out, size_t room)
{
	size_t n = 0;
	unsigned byte;

	for (; n < room && sscanf(hex, "%2x", &byte) == 1; hex += 2)
		out[n++] = byte;
	return n;
}

/* Fills data with known bytes, which are small numbers both as floats and as integers. */
static void fill(unsigned char *data, size_t size, uint32_t seed)
{
	for (size_t i = 0; i + 4 <= size; i += 4) {
		float f = (float)((i / 4 * 7 + seed * 13) % 1000) / 8 + 1;

		memcpy(data + i, &f, 4);
	}
}

static cl_int make_buffer(struct device *dev, struct value *v, uint32_t seed)
{
	unsigned char *data = calloc(1, v->size);
	cl_int err;

	fill(data, v->size, seed);
	v->memory = clCreateBuffer(dev->context, CL_MEM_COPY_HOST_PTR, v->size, data, &err);
	free(data);
	return err;
}

static cl_int make_image(struct device *dev, struct value *v, uint32_t seed)
{
	const cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 };
	cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = v->width, .image_height = v->width };
	unsigned char *data = calloc(4, v->width * v->width);
	cl_int err;

	v->size = 4 * v->width * v->width;
	for (size_t i = 0; i < v->size; i++)
		data[i] = i * 7 + seed;
	v->memory = clCreateImage(dev->context, CL_MEM_COPY_HOST_PTR, &format, &desc, data, &err);
	free(data);
	return err;
}

static cl_int set_arg(struct device *dev, cl_kernel kernel, cl_uint i, const char *word, struct value *v)
{
	const char *text = strchr(word, ':') ? strchr(word, ':') + 1 : "";
	unsigned char bytes[1024];
	cl_int err = CL_SUCCESS;

	if (strncmp(word, "buf:", 4) == 0) {
		v->size = strtoul(text, NULL, 0);
		err = make_buffer(dev, v, i);
		return err ? err : clSetKernelArg(kernel, i, sizeof(v->memory), &v->memory);
	}
	if (strncmp(word, "img:", 4) == 0) {
		v->width = strtoul(text, NULL, 0);
		err = make_image(dev, v, i);
		return err ? err : clSetKernelArg(kernel, i, sizeof(v->memory), &v->memory);
	}
	if (strcmp(word, "sampler") == 0) {
		v->sampler = clCreateSampler(dev->context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &err);
		return err ? err : clSetKernelArg(kernel, i, sizeof(v->sampler), &v->sampler);
	}
	if (strncmp(word, "local:", 6) == 0)
		return clSetKernelArg(kernel, i, strtoul(text, NULL, 0), NULL);
	if (strncmp(word, "i32:", 4) == 0)
		return clSetKernelArg(kernel, i, 4, &(cl_int){ strtol(text, NULL, 0) });
	if (strncmp(word, "i64:", 4) == 0)
		return clSetKernelArg(kernel, i, 8, &(cl_long){ strtoll(text, NULL, 0) });
	if (strncmp(word, "f32:", 4) == 0)
		return clSetKernelArg(kernel, i, 4, &(cl_float){ strtof(text, NULL) });
	if (strncmp(word, "f64:", 4) == 0)
		return clSetKernelArg(kernel, i, 8, &(cl_double){ strtod(text, NULL) });
	return clSetKernelArg(kernel, i, parse_hex(word, bytes, sizeof(bytes)), bytes);
}

/* Appends the content of the argument's memory to the outcome. */
static cl_int read_back(struct device *dev, const struct value *v, struct outcome *out)
{
	const size_t zero[3] = { 0 }, region[3] = { v->width, v->width, 1 };
	unsigned char *at;

	if (!v->memory)
		return CL_SUCCESS;
	out->data = realloc(out->data, out->size + v->size);
	at = out->data + out->size;
	out->size += v->size;
	if (v->width)
		return clEnqueueReadImage(dev->queue, v->memory, CL_TRUE, zero, region, 0, 0, at, 0, NULL, NULL);
	return clEnqueueReadBuffer(dev->queue, v->memory, CL_TRUE, 0, v->size, at, 0, NULL, NULL);
}

static cl_int set_twin_args(cl_kernel kernel, cl_uint n, cl_mem arena, cl_ulong launch)
{
	const cl_ulong pid = 0x1122334455667788;
	cl_int err = clSetKernelArg(kernel, n, sizeof(arena), &arena);

	err = err ? err : clSetKernelArg(kernel, n + 1, sizeof(launch), &launch);
	return err ? err : clSetKernelArg(kernel, n + 2, sizeof(pid), &pid);
}

static int run_one(struct device *dev, const struct case_run *run, cl_program program, cl_mem arena,
		   cl_ulong launch, struct outcome *out, const char **what)
{
	struct value values[MAX_ARGS] = { 0 };
	char name[256];
	cl_kernel kernel;
	cl_int err;

	snprintf(name, sizeof(name), "%s%s", arena ? "gpubpf_twin_" : "", run->kernel);
	kernel = clCreateKernel(program, name, &err);
	TRY(err);
	for (uint32_t i = 0; i < run->nargs; i++)
		TRY(set_arg(dev, kernel, i, run->arg[i], &values[i]));
	if (arena)
		TRY(set_twin_args(kernel, run->nargs, arena, launch));
	TRY(clEnqueueNDRangeKernel(dev->queue, kernel, run->dim, NULL, run->global,
				   run->has_local ? run->local : NULL, 0, NULL, NULL));
	TRY(clFinish(dev->queue));
	for (uint32_t i = 0; i < run->nargs; i++) {
		TRY(read_back(dev, &values[i], out));
		if (values[i].memory)
			clReleaseMemObject(values[i].memory);
		if (values[i].sampler)
			clReleaseSampler(values[i].sampler);
	}
	clReleaseKernel(kernel);
	return 0;
}

int device_run(struct device *dev, const struct case_file *c, cl_program program, cl_mem arena,
	       struct outcome *out, const char **what)
{
	int err = 0;

	memset(out, 0, sizeof(*out));
	for (uint32_t i = 0; i < c->nruns && err == 0; i++)
		err = run_one(dev, &c->run[i], program, arena, i, out, what);
	return err;
}
