/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists all backends and targets; no other file names them. The worker links the code of the targets, and the agent
 * links the code of the devices. In a binary without a target or device, the weak symbol of that target or device is
 * NULL. A look-up by name still finds its entry, so that the caller can report why it cannot be used.
 */
#include <assert.h>
#include <dlfcn.h>
#include <string.h>

#include "core/device.h"
#include "core/target.h"

#define WEAK __attribute__((weak))

extern const struct gpubpf_target gpubpf_target_ptx WEAK, gpubpf_target_spirv WEAK, gpubpf_target_amdgpu WEAK,
	gpubpf_target_clc WEAK, gpubpf_target_wrap WEAK, gpubpf_target_llvm WEAK, gpubpf_target_sass WEAK;
extern const struct gpubpf_device_ops gpubpf_device_opencl WEAK, gpubpf_device_cuda WEAK, gpubpf_device_hip WEAK,
	gpubpf_device_level_zero WEAK;

/*
 * Name patterns of NVIDIA's libraries that gpubpf must not instrument. NVIDIA's licence of the CUDA toolkit forbids
 * modification of their machine code and PTX.
 */
static const char *const nvidia_closed[] = {
	"libcublas*",   "libcudnn*",      "libcufft*",       "libcurand*", "libcusolver*", "libcusparse*",
	"libcutensor*", "libnpp*",        "libnvinfer*",     "libnvjpeg*", "libnvtiff*",   "libcudss*",
	"libnvcomp*",   "libcustatevec*", "libcutensornet*", NULL,
};

enum {
#define GPUBPF_STAGE(id, name, label, does) id = GPUBPF_STAGE_BIT(id),
#include "core/model/stages.def"
};

/*
 * The stages of every route (core/model/stages.def). Each array element is the set of stages that one job of a worker
 * runs. All routes keep the same order and omit the stages that they do not need. If the image is OpenCL C source, the
 * probes come from another target (member `probes` below).
 */
enum { PTX, SASS, SPIRV, OPENCL_C, AMDGPU, TEXT, IR };
static const uint32_t routes[][GPUBPF_MAX_STEPS] = {
	[PTX] = { INSPECT, LOWER | EMIT | INJECT, FINISH },
	[SASS] = { INSPECT, LOWER | EMIT, ASSEMBLE, INJECT | CHECK },
	[SPIRV] = { INSPECT, LOWER | EMIT | INJECT, BUILD },
	[OPENCL_C] = { QUERY, INSPECT, LOWER | EMIT, INJECT, BUILD },
	[AMDGPU] = { INSPECT, LOWER | EMIT | INJECT },
	[TEXT] = { EMIT },
	[IR] = { LOWER },
};

/* If several targets accept an image, gpubpf tries them in the order of this table. */
static const struct gpubpf_target_info targets[] = {
	{ .name = "ptx",
	  .meaning = "NVIDIA PTX text",
	  .code = "PTX",
	  .ops = &gpubpf_target_ptx,
	  .route = routes[PTX],
	  .output = GPUBPF_IMAGE_PTX,
	  .closed = nvidia_closed,
	  .images = GPUBPF_IMAGES(PTX) | GPUBPF_IMAGES(CUBIN) | GPUBPF_IMAGES(FATBIN),
	  .places = GPUBPF_SITE_BIT(ENTRY) | GPUBPF_SITE_BIT(EXIT) | GPUBPF_SITE_BIT(CALL) |
		    GPUBPF_SITE_BIT(CALL_EXIT) | GPUBPF_SITE_BIT(MEM) | GPUBPF_SITE_BIT(MEM_SHARED) |
		    GPUBPF_SITE_BIT(MEM_LOCAL) | GPUBPF_SITE_BIT(MEM_CONST) | GPUBPF_SITE_BIT(MEM_ALL) |
		    GPUBPF_SITE_BIT(MEM_BEFORE) | GPUBPF_SITE_BIT(MEM_BEFORE_ALL) | GPUBPF_SITE_BIT(BLOCK_BEGIN) |
		    GPUBPF_SITE_BIT(BLOCK_END) | GPUBPF_SITE_BIT(BARRIER) | GPUBPF_SITE_BIT(BARRIER_EXIT) |
		    GPUBPF_SITE_BIT(ATOMIC) | GPUBPF_SITE_BIT(BRANCH) | GPUBPF_SITE_BIT(INSN) | GPUBPF_SITE_BIT(LINE) |
		    GPUBPF_SITE_BIT(MARK) | GPUBPF_SITE_BIT(MEM_CAPTURE) },
	{ .name = "wrap",
	  .meaning = "OpenCL C source with wrapper kernels",
	  .code = "OpenCL C source",
	  .ops = &gpubpf_target_wrap,
	  .route = routes[OPENCL_C],
	  .worker = GPUBPF_WORKER_CLREAD,
	  .has_env_params = true,
	  .images = GPUBPF_IMAGES(OPENCL_C) | GPUBPF_IMAGES(OPENCL_PARTS),
	  .places = GPUBPF_SITE_BIT(ENTRY) | GPUBPF_SITE_BIT(EXIT) | GPUBPF_SITE_BIT(BLOCK_BEGIN) |
		    GPUBPF_SITE_BIT(BLOCK_END),
	  .where = { GPUBPF_CAP_X86,
		     GPUBPF_SITE_BIT(MEM) | GPUBPF_SITE_BIT(MEM_SHARED) | GPUBPF_SITE_BIT(MEM_LOCAL) |
			     GPUBPF_SITE_BIT(MEM_CONST) | GPUBPF_SITE_BIT(MEM_ALL) | GPUBPF_SITE_BIT(MEM_BEFORE) |
			     GPUBPF_SITE_BIT(MEM_BEFORE_ALL) | GPUBPF_SITE_BIT(ATOMIC) | GPUBPF_SITE_BIT(BARRIER) |
			     GPUBPF_SITE_BIT(BARRIER_EXIT) | GPUBPF_SITE_BIT(BRANCH) | GPUBPF_SITE_BIT(MARK) |
			     GPUBPF_SITE_BIT(MEM_CAPTURE) | GPUBPF_SITE_BIT(LINE) | GPUBPF_SITE_BIT(CALL) |
			     GPUBPF_SITE_BIT(CALL_EXIT),
		     "a GPU's compiler could change the arithmetic next to a probe" },
	  .never = { { GPUBPF_SITE_BIT(INSN), "OpenCL C source has no opcodes; SPIR-V programs have them" } },
	  .probes = GPUBPF_IMAGES(SPIRV) | GPUBPF_IMAGES(OPENCL_C) },
	/*
	 * .once: a worker process uses this target once. LLVM 22's SPIR-V backend keeps the ids of blocks by their
	 * address, also after it has freed their module.
	 */
	{ .name = "spirv",
	  .meaning = "SPIR-V 1.4",
	  .code = "SPIR-V",
	  .ops = &gpubpf_target_spirv,
	  .route = routes[SPIRV],
	  .output = GPUBPF_IMAGE_SPIRV,
	  .once = true,
	  .has_env_params = true,
	  .images = GPUBPF_IMAGES(SPIRV) | GPUBPF_IMAGES(OPENCL_PARTS),
	  .places = GPUBPF_SITE_BIT(ENTRY) | GPUBPF_SITE_BIT(EXIT) | GPUBPF_SITE_BIT(MEM) |
		    GPUBPF_SITE_BIT(MEM_SHARED) | GPUBPF_SITE_BIT(MEM_LOCAL) | GPUBPF_SITE_BIT(MEM_CONST) |
		    GPUBPF_SITE_BIT(MEM_ALL) | GPUBPF_SITE_BIT(MEM_BEFORE) | GPUBPF_SITE_BIT(MEM_BEFORE_ALL) |
		    GPUBPF_SITE_BIT(ATOMIC) | GPUBPF_SITE_BIT(BARRIER) | GPUBPF_SITE_BIT(BARRIER_EXIT) |
		    GPUBPF_SITE_BIT(BLOCK_BEGIN) | GPUBPF_SITE_BIT(MEM_CAPTURE) | GPUBPF_SITE_BIT(LINE) |
		    GPUBPF_SITE_BIT(BRANCH) | GPUBPF_SITE_BIT(INSN) | GPUBPF_SITE_BIT(MARK) | GPUBPF_SITE_BIT(CALL) |
		    GPUBPF_SITE_BIT(CALL_EXIT) | GPUBPF_SITE_BIT(BLOCK_END) },
	{ .name = "amdgpu",
	  .meaning = "AMD code object",
	  .code = "AMDGPU code object",
	  .ops = &gpubpf_target_amdgpu,
	  .route = routes[AMDGPU],
	  .output = GPUBPF_IMAGE_AMDGPU,
	  .machine = true,
	  .images = GPUBPF_IMAGES(AMDGPU) | GPUBPF_IMAGES(OFFLOAD_BUNDLE),
	  .places = GPUBPF_SITE_BIT(ENTRY) | GPUBPF_SITE_BIT(EXIT) | GPUBPF_SITE_BIT(MEM) |
		    GPUBPF_SITE_BIT(MEM_SHARED) | GPUBPF_SITE_BIT(MEM_LOCAL) | GPUBPF_SITE_BIT(MEM_CONST) |
		    GPUBPF_SITE_BIT(MEM_ALL) | GPUBPF_SITE_BIT(MEM_BEFORE) | GPUBPF_SITE_BIT(MEM_BEFORE_ALL) |
		    GPUBPF_SITE_BIT(ATOMIC) | GPUBPF_SITE_BIT(BARRIER) | GPUBPF_SITE_BIT(BARRIER_EXIT) |
		    GPUBPF_SITE_BIT(MEM_CAPTURE) | GPUBPF_SITE_BIT(BLOCK_BEGIN) | GPUBPF_SITE_BIT(BLOCK_END) |
		    GPUBPF_SITE_BIT(BRANCH) | GPUBPF_SITE_BIT(INSN) | GPUBPF_SITE_BIT(LINE) | GPUBPF_SITE_BIT(MARK) |
		    GPUBPF_SITE_BIT(CALL) | GPUBPF_SITE_BIT(CALL_EXIT) },
	{ .name = "clc",
	  .meaning = "OpenCL C 1.2 text",
	  .code = "OpenCL C source",
	  .ops = &gpubpf_target_clc,
	  .route = routes[TEXT],
	  .worker = GPUBPF_WORKER_CLREAD,
	  .output = GPUBPF_IMAGE_OPENCL_C },
	{ .name = "llvm",
	  .meaning = "LLVM IR before linking, for display only",
	  .code = "LLVM IR",
	  .ops = &gpubpf_target_llvm,
	  .route = routes[IR],
	  .output = GPUBPF_IMAGE_LLVM_IR },
	{ .name = "sass",
	  .meaning = "NVIDIA machine code",
	  .code = "machine code",
	  .ops = &gpubpf_target_sass,
	  .route = routes[SASS],
	  .output = GPUBPF_IMAGE_PTX,
	  .machine = true,
	  .closed = nvidia_closed,
	  .images = GPUBPF_IMAGES(CUBIN) | GPUBPF_IMAGES(FATBIN),
	  .places = GPUBPF_SITE_BIT(ENTRY) | GPUBPF_SITE_BIT(EXIT) | GPUBPF_SITE_BIT(MEM) | GPUBPF_SITE_BIT(MEM_BEFORE) |
		    GPUBPF_SITE_BIT(MEM_CAPTURE) | GPUBPF_SITE_BIT(MEM_SHARED) | GPUBPF_SITE_BIT(MEM_LOCAL) |
		    GPUBPF_SITE_BIT(MEM_CONST) | GPUBPF_SITE_BIT(MEM_ALL) | GPUBPF_SITE_BIT(MEM_BEFORE_ALL) |
		    GPUBPF_SITE_BIT(ATOMIC) | GPUBPF_SITE_BIT(BARRIER) | GPUBPF_SITE_BIT(BARRIER_EXIT) |
		    GPUBPF_SITE_BIT(BRANCH) | GPUBPF_SITE_BIT(INSN) | GPUBPF_SITE_BIT(LINE) | GPUBPF_SITE_BIT(BLOCK_BEGIN) |
		    GPUBPF_SITE_BIT(BLOCK_END) | GPUBPF_SITE_BIT(CALL) | GPUBPF_SITE_BIT(CALL_EXIT),
	  .never = { { GPUBPF_SITE_BIT(MARK), "NVIDIA's assembler drops marks; kernels loaded as PTX have them" } } },
};

static const struct backend {
	const char *name;
	const struct gpubpf_device_ops *device;
	const char *missing_text;
	const char *runtime[4]; /* file names of the vendor's runtime library; the backend needs one of them */
} backends[] = {
	{ "cuda", &gpubpf_device_cuda, "NVIDIA's driver is not installed (no libcuda.so.1)", { "libcuda.so.1" } },
	{ "opencl", &gpubpf_device_opencl, "no OpenCL loader is installed (no libOpenCL.so.1)", { "libOpenCL.so.1" } },
	{ "hip",
	  &gpubpf_device_hip,
	  "AMD's runtime is not installed (no libamdhip64.so)",
	  { "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so" } },
	{ "level_zero",
	  &gpubpf_device_level_zero,
	  "Intel's Level Zero loader is not installed (no libze_loader.so.1)",
	  { "libze_loader.so.1" } },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const struct gpubpf_target_info *gpubpf_target_at(size_t i)
{
	return i < COUNT(targets) ? &targets[i] : NULL;
}

const struct gpubpf_target_info *gpubpf_target_find(const char *name)
{
	for (size_t t = 0; t < COUNT(targets); t++)
		if (!strcmp(targets[t].name, name))
			return &targets[t];
	return NULL;
}

const struct gpubpf_target_info *gpubpf_target_next_accepting(enum gpubpf_image_kind kind,
							      const struct gpubpf_target_info *last)
{
	for (size_t t = last ? last - targets + 1 : 0; t < COUNT(targets); t++)
		if (targets[t].images >> kind & 1)
			return &targets[t];
	return NULL;
}

const struct gpubpf_target_info *gpubpf_target_route(const char *name)
{
	const struct gpubpf_target_info *named = gpubpf_target_find(name);

	return named && named->images ? named : NULL;
}

bool gpubpf_target_has_alternative(const char *name)
{
	const struct gpubpf_target_info *named = gpubpf_target_find(name);

	for (size_t t = 0; named && t < COUNT(targets); t++)
		if (&targets[t] != named && targets[t].images & named->images)
			return true;
	return false;
}

/* Checks that the backend has every function that core/device.h does not call optional. */
static const struct gpubpf_device_ops *checked_device(const struct backend *b)
{
	const struct gpubpf_device_ops *d = b->device;

	if (!d)
		return NULL;
	assert(!strcmp(d->backend, b->name));
	gpubpf_device_check(d);
	gpubpf_device_check_launch(d);
	return d;
}

const struct gpubpf_device_ops *gpubpf_device_at(size_t i)
{
	for (size_t b = 0; b < COUNT(backends); b++)
		if (backends[b].device && i-- == 0)
			return checked_device(&backends[b]);
	return NULL;
}

static const struct backend *find_backend(const char *name)
{
	for (size_t b = 0; b < COUNT(backends); b++)
		if (!strcmp(backends[b].name, name))
			return &backends[b];
	return NULL;
}

const struct gpubpf_device_ops *gpubpf_device_find(const char *name)
{
	const struct backend *backend = find_backend(name);

	return backend ? checked_device(backend) : NULL;
}

const char *gpubpf_backend_at(size_t i)
{
	return i < COUNT(backends) ? backends[i].name : NULL;
}

const char *gpubpf_device_missing(const char *name)
{
	const struct backend *backend = find_backend(name);
	void *runtime = NULL;

	if (!backend)
		return "no such backend; use cuda, opencl, hip or level_zero";
	if (!backend->device)
		return "this gpubpf was built without this backend";
	for (size_t i = 0; !runtime && i < COUNT(backend->runtime) && backend->runtime[i]; i++)
		runtime = dlopen(backend->runtime[i], RTLD_LAZY | RTLD_LOCAL);
	if (!runtime)
		return backend->missing_text;
	dlclose(runtime);
	return "";
}
