/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines the capabilities of an OpenCL device. Drivers do not report some of them reliably: 64-bit atomics, the
 * clock, and whether the device really shares host memory. For these, the agent runs a small test program when it opens
 * the device. The test program is built without a separate link: runtimes cache such programs, and PoCL needs 0.7 s to
 * link.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#include "opencl.h"
#include "backends/spirv/wire/clock.h"
#include "backends/spirv/wire/driver.h"
#include "device.h"

#define GROUP_ITEMS 4u
#define TEST_ITEMS 16u

/*
 * Indexes of 64-bit words in the test's buffer. ADDS: a counter that each work-item increments atomically. CLOCK: the
 * clock's value. SEEN: the value of HOST that the kernel read. HOST: a value that the host writes.
 */
enum { WORD_ADDS, WORD_CLOCK, WORD_SEEN, WORD_HOST, WORDS };

/* four kernels: a test kernel, its wrapper, one that stores a buffer's address, and one that reads the clock */
static const char test_source[] =
	"int gpubpf_test_probe(__private const ulong *env);\n"
	"ulong gpubpf_clock_read(void);\n"
	"__kernel void gpubpf_test(__global ulong *w) {\n"
	"	if (get_global_id(0) == 0) w[2] = w[3];\n"
	"}\n"
	"__kernel void gpubpf_twin_test(__global ulong *w) {\n"
	"	ulong env[2]; env[0] = (ulong)w; env[1] = 1;\n"
	"	gpubpf_test_probe(env); gpubpf_test(w);\n"
	"}\n"
	"__kernel void gpubpf_test_where(__global uchar *p, __global ulong *w) { w[0] = (ulong)p; }\n"
	"__kernel void gpubpf_test_clock(__global ulong *w) { w[1] = gpubpf_clock_read(); }\n";

/* gpubpf_test_probe(), which the wrapper calls in place of a probe */
static const char probe_source[] = "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
				   "int gpubpf_test_probe(__private const ulong *env);\n"
				   "int gpubpf_test_probe(__private const ulong *env) {\n"
				   "#ifdef WITH_ATOM\n"
				   "	atom_add((volatile __global ulong *)env[0], env[1]);\n"
				   "#endif\n"
				   "	return 0;\n"
				   "}\n";

static void get_info(struct gpubpf_device *d, cl_device_info what, void *to, size_t size)
{
	memset(to, 0, size);
	d->api.clGetDeviceInfo(d->id, what, size, to, NULL);
}

static bool has_extension(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = strstr(list, name); at; at = strstr(at + 1, name))
		if ((at == list || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
			return true;
	return false;
}

/* Parses a list such as "SPIR-V_1.4 SPIR-V_1.3"; returns the highest version in the encoding of SPIR-V's header. */
static uint32_t spirv_version(const char *il)
{
	uint32_t best = 0;
	unsigned major, minor;

	for (const char *at = strstr(il, "SPIR-V_"); at; at = strstr(at + 1, "SPIR-V_"))
		if (sscanf(at, "SPIR-V_%u.%u", &major, &minor) == 2 && (major << 16 | minor << 8) > best)
			best = major << 16 | minor << 8;
	return best;
}

static void query_caps(struct gpubpf_device *d)
{
	struct gpubpf_device_caps *caps = &d->caps;
	char text[256], vendor[GPUBPF_CL_VENDOR_SIZE], version[GPUBPF_CL_VERSION_SIZE];
	cl_uint units, bits;
	cl_ulong memory, alloc;
	size_t group;
	unsigned major, minor;

	snprintf(caps->backend, sizeof(caps->backend), "opencl");
	get_info(d, CL_DEVICE_NAME, caps->name, sizeof(caps->name) - 1);
	get_info(d, CL_DEVICE_VENDOR, vendor, sizeof(vendor) - 1);
	get_info(d, CL_DRIVER_VERSION, version, sizeof(version) - 1);
	gpubpf_cl_driver_format(caps->driver, vendor, version);
	get_info(d, CL_DEVICE_MAX_COMPUTE_UNITS, &units, sizeof(units));
	get_info(d, CL_DEVICE_ADDRESS_BITS, &bits, sizeof(bits));
	get_info(d, CL_DEVICE_GLOBAL_MEM_SIZE, &memory, sizeof(memory));
	get_info(d, CL_DEVICE_MAX_MEM_ALLOC_SIZE, &alloc, sizeof(alloc));
	get_info(d, CL_DEVICE_MAX_WORK_GROUP_SIZE, &group, sizeof(group));
	get_info(d, CL_DEVICE_OPENCL_C_VERSION, text, sizeof(text) - 1);
	if (sscanf(text, "OpenCL C %u.%u", &major, &minor) == 2)
		caps->opencl_c_version = major * 100 + minor * 10;
	get_info(d, CL_DEVICE_IL_VERSION, text, sizeof(text) - 1);
	caps->spirv_version = d->api.clCreateProgramWithIL ? spirv_version(text) : 0;
	caps->compute_units = units ? units : 1;
	caps->address_bits = bits;
	caps->memory = memory;
	caps->max_alloc = alloc;
	caps->max_threads_per_block = group;
	caps->warp_size = 1;
	caps->bits = GPUBPF_CAP_ACCEPTS_OPENCL_C | GPUBPF_CAP_OFFSET | GPUBPF_CAP_EXIT_THREAD;
	if (caps->spirv_version)
		caps->bits |= GPUBPF_CAP_ACCEPTS_SPIRV;
}

/* Build the test program. Returns NULL if the device's compiler refuses it. */
static cl_program build(struct gpubpf_device *d, const struct ocl_source *source)
{
	struct gpubpf_reason why;
	const char *texts[3];
	cl_program program;
	cl_int err;

	memcpy(texts, source->texts, sizeof(texts));
	program = d->api.clCreateProgramWithSource(d->context, source->ntexts, texts, NULL, &err);
	return err ? NULL : ocl_build(d, program, source->options, &why);
}

/* Launch one kernel of the test program on the buffer and wait until it ends. */
static int launch(struct gpubpf_device *d, cl_kernel kernel, cl_mem words, size_t items)
{
	size_t group = items < GROUP_ITEMS ? items : GROUP_ITEMS;

	if (d->api.clSetKernelArg(kernel, 0, sizeof(words), &words) ||
	    d->api.clEnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL) ||
	    d->api.clFinish(d->queue))
		return -EIO;
	return 0;
}

/*
 * Run the wrapper twice on a buffer that uses the host memory `shared`. The second half of read[] receives a copy of
 * this host memory after the launches. Then the runtime reads the buffer into the first half of read[].
 */
static int run_test(struct gpubpf_device *d, cl_program program, uint64_t *shared, uint64_t *read)
{
	cl_kernel kernel;
	cl_int err;
	cl_mem words = d->api.clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
					     WORDS * sizeof(*shared), shared, &err);
	int ret = -EIO;

	if (err)
		return -EIO;
	kernel = d->api.clCreateKernel(program, "gpubpf_twin_test", &err);
	if (!err) {
		shared[WORD_HOST] = 41;
		ret = launch(d, kernel, words, TEST_ITEMS);
		/* a new value, to test whether the device sees the host's writes between launches */
		shared[WORD_HOST] = 42;
		if (!ret)
			ret = launch(d, kernel, words, TEST_ITEMS);
		memcpy(read + WORDS, shared, WORDS * sizeof(*shared));
		if (!ret &&
		    d->api.clEnqueueReadBuffer(d->queue, words, CL_TRUE, 0, WORDS * sizeof(*read), read, 0, NULL, NULL))
			ret = -EIO;
		d->api.clReleaseKernel(kernel);
	}
	d->api.clReleaseMemObject(words);
	return ret;
}

/* Set the caps that the test proves, from the read[] of run_test(). */
static void evaluate_test(struct gpubpf_device *d, const uint64_t *read, bool host_side)
{
	const uint64_t *seen = read + WORDS;

	if (read[WORD_ADDS] == 2 * TEST_ITEMS)
		d->caps.bits |= GPUBPF_CAP_ATOMIC64;
	if (host_side && read[WORD_SEEN] == 42 && seen[WORD_SEEN] == 42 && seen[WORD_ADDS] == read[WORD_ADDS])
		d->caps.bits |= GPUBPF_CAP_SHARED_ARENA;
}

/*
 * Load the test program from the cache, or build it, and run it. If a cached binary does not run, build the program
 * again.
 */
static int build_and_run(struct gpubpf_device *d, bool atom, const char *clock, uint64_t *shared, uint64_t *read)
{
	const char *const texts[] = { test_source, probe_source, clock };
	char options[96];
	const struct ocl_source source = { texts, 3, options };
	int err;

	snprintf(options, sizeof(options), "%s %s", atom ? "-DWITH_ATOM" : "", gpubpf_cl_clock_options(d->caps.clock));
	d->test = ocl_cache_load(d, &source);
	if (d->test && !run_test(d, d->test, shared, read))
		return 0;
	if (d->test) {
		d->api.clReleaseProgram(d->test);
		ocl_cache_remove(d, &source);
	}
	memset(shared, 0, WORDS * sizeof(*shared));
	d->test = build(d, &source);
	err = d->test ? run_test(d, d->test, shared, read) : -ENOEXEC;
	if (!err)
		ocl_cache_store(d, &source, d->test);
	return err;
}

static void test_features(struct gpubpf_device *d, bool atom, bool host_side)
{
	const char *none = gpubpf_cl_clock_source(GPUBPF_CLOCK_NONE);
	uint64_t read[2 * WORDS] = { 0 };
	uint64_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int err;

	if (shared == MAP_FAILED)
		return;
	err = build_and_run(d, atom, d->clock_source, shared, read);
	if (!d->test && d->caps.clock != GPUBPF_CLOCK_NONE) {
		d->caps.clock = GPUBPF_CLOCK_NONE;
		d->caps.bits &= ~(uint64_t)(GPUBPF_CAP_NVPTX_ASM | GPUBPF_CAP_SM_ID);
		d->clock_source = none;
		err = build_and_run(d, atom, none, shared, read);
	}
	if (!err)
		evaluate_test(d, read, host_side);
	munmap(shared, 4096);
}

/* Set caps.clock to none if the clock does not advance. */
static void test_clock(struct gpubpf_device *d)
{
	uint64_t first = 0, second = 0, before, after;
	cl_int err;

	if (d->caps.clock == GPUBPF_CLOCK_NONE || !d->test)
		return;
	d->clock_word = d->api.clCreateBuffer(d->context, CL_MEM_READ_WRITE, WORDS * sizeof(uint64_t), NULL, &err);
	d->clock_kernel = d->clock_word ? d->api.clCreateKernel(d->test, "gpubpf_test_clock", &err) : NULL;
	if (!d->clock_kernel || gpubpf_device_opencl.clock(d, &first, &before, &after) ||
	    gpubpf_device_opencl.clock(d, &second, &before, &after) || !first || second <= first)
		d->caps.clock = GPUBPF_CLOCK_NONE;
}

/* Choose the clock to try first, and set the caps that follow from the kind of processor. */
static void choose_clock(struct gpubpf_device *d, const char *extensions, bool cpu)
{
#ifdef __x86_64__
	if (cpu)
		d->caps.bits |= GPUBPF_CAP_X86;
#endif
	if (has_extension(extensions, "cl_khr_kernel_clock")) {
		d->caps.clock = GPUBPF_CLOCK_KHR;
	} else if (has_extension(extensions, "cl_nv_compiler_options")) {
		d->caps.clock = GPUBPF_CLOCK_GLOBALTIMER;
		d->caps.bits |= GPUBPF_CAP_NVPTX_ASM | GPUBPF_CAP_SM_ID;
#ifdef __x86_64__
	} else if (cpu) {
		d->caps.clock = GPUBPF_CLOCK_TSC;
#endif
	}
}

/* OR the sub-group sizes that a kernel may require into caps.sub_groups. Ignore values that are not powers of two. */
static void query_sub_groups(struct gpubpf_device *d, const char *extensions)
{
	size_t sizes[16] = { 0 };

	if (!has_extension(extensions, "cl_intel_required_subgroup_size"))
		return;
	get_info(d, CL_DEVICE_SUB_GROUP_SIZES_INTEL, sizes, sizeof(sizes));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (!(sizes[i] & (sizes[i] - 1)))
			d->caps.sub_groups |= sizes[i];
}

void ocl_caps_fill(struct gpubpf_device *d)
{
	char extensions[8192];
	cl_device_type type;
	cl_bool unified, linker;
	bool cpu, atom;

	query_caps(d);
	get_info(d, CL_DEVICE_TYPE, &type, sizeof(type));
	get_info(d, CL_DEVICE_HOST_UNIFIED_MEMORY, &unified, sizeof(unified));
	get_info(d, CL_DEVICE_EXTENSIONS, extensions, sizeof(extensions) - 1);
	get_info(d, CL_DEVICE_LINKER_AVAILABLE, &linker, sizeof(linker));
	if (linker)
		d->caps.bits |= GPUBPF_CAP_LINK;
	cpu = type & CL_DEVICE_TYPE_CPU;
	atom = has_extension(extensions, "cl_khr_int64_base_atomics");
	query_sub_groups(d, extensions);
	choose_clock(d, extensions, cpu);
	d->clock_source = gpubpf_cl_clock_source(d->caps.clock);
	test_features(d, atom, cpu || unified);
	if (d->test && d->caps.bits & (GPUBPF_CAP_SHARED_ARENA | GPUBPF_CAP_NVPTX_ASM))
		/* the addresses of host memory and of NVIDIA's device memory never change */
		d->caps.bits |= GPUBPF_CAP_ALLOCATIONS;
	ocl_memory_caps(d);
	test_clock(d);
	d->clock_source = gpubpf_cl_clock_source(d->caps.clock);
}
