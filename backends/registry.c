/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only file that names backends and targets. The worker links the targets, and the agent links the devices. In a
 * program without a target or device, its weak symbol is NULL: look-ups by name find it and report why it cannot be
 * used.
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

/* NVIDIA's licence of the toolkit's libraries forbids modification of their machine code, and of the PTX that some of
 * them contain. */
static const char *const nvidia_closed[] = {
	"libcublas*",   "libcudnn*",      "libcufft*",       "libcurand*", "libcusolver*", "libcusparse*",
	"libcutensor*", "libnpp*",        "libnvinfer*",     "libnvjpeg*", "libnvtiff*",   "libcudss*",
	"libnvcomp*",   "libcustatevec*", "libcutensornet*", NULL,
};

/* In order of preference for images that several targets accept. */
static const struct gpubpf_target_info targets[] = {
	{ .name = "ptx",
	  .meaning = "NVIDIA PTX text",
	  .ops = &gpubpf_target_ptx,
	  .output = GPUBPF_IMAGE_PTX,
	  .emits = true,
	  .appends_code = true,
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
	  .ops = &gpubpf_target_wrap,
	  .worker = GPUBPF_WORKER_CLREAD,
	  .output = GPUBPF_IMAGE_OPENCL_PARTS,
	  .builds = true,
	  .has_env_params = true,
	  .queries = true,
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
	  .never = { { GPUBPF_SITE_BIT(INSN), "OpenCL C source has no opcodes; programs that are SPIR-V have them" } },
	  .probes = GPUBPF_IMAGES(SPIRV) | GPUBPF_IMAGES(OPENCL_C) },
	/* .once: LLVM 22's SPIR-V backend looks up ids of blocks by address, and keeps them after their module is freed */
	{ .name = "spirv",
	  .meaning = "SPIR-V 1.4",
	  .ops = &gpubpf_target_spirv,
	  .output = GPUBPF_IMAGE_SPIRV,
	  .emits = true,
	  .once = true,
	  .builds = true,
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
	  .ops = &gpubpf_target_amdgpu,
	  .output = GPUBPF_IMAGE_AMDGPU,
	  .emits = true,
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
	  .ops = &gpubpf_target_clc,
	  .worker = GPUBPF_WORKER_CLREAD,
	  .output = GPUBPF_IMAGE_OPENCL_C,
	  .emits = true },
	{ .name = "llvm",
	  .meaning = "LLVM IR before linking, to read",
	  .ops = &gpubpf_target_llvm,
	  .output = GPUBPF_IMAGE_LLVM_IR,
	  .emits = true },
	{ .name = "sass",
	  .meaning = "NVIDIA machine code",
	  .ops = &gpubpf_target_sass,
	  .output = GPUBPF_IMAGE_PTX,
	  .emits = true,
	  .assembled = true,
	  .machine = true,
	  .closed = nvidia_closed,
	  .images = GPUBPF_IMAGES(CUBIN) | GPUBPF_IMAGES(FATBIN),
	  .places = GPUBPF_SITE_BIT(ENTRY) | GPUBPF_SITE_BIT(EXIT) | GPUBPF_SITE_BIT(MEM) | GPUBPF_SITE_BIT(MEM_BEFORE) |
		    GPUBPF_SITE_BIT(MEM_CAPTURE) | GPUBPF_SITE_BIT(MEM_SHARED) | GPUBPF_SITE_BIT(MEM_LOCAL) |
		    GPUBPF_SITE_BIT(MEM_CONST) | GPUBPF_SITE_BIT(MEM_ALL) | GPUBPF_SITE_BIT(MEM_BEFORE_ALL) |
		    GPUBPF_SITE_BIT(ATOMIC) | GPUBPF_SITE_BIT(BARRIER) | GPUBPF_SITE_BIT(BARRIER_EXIT) |
		    GPUBPF_SITE_BIT(BRANCH) | GPUBPF_SITE_BIT(INSN) | GPUBPF_SITE_BIT(LINE) | GPUBPF_SITE_BIT(BLOCK_BEGIN) |
		    GPUBPF_SITE_BIT(BLOCK_END) | GPUBPF_SITE_BIT(CALL) | GPUBPF_SITE_BIT(CALL_EXIT),
	  .never = { { GPUBPF_SITE_BIT(MARK), "NVIDIA's assembler drops marks; kernels with PTX have them" } } },
};

static const struct backend {
	const char *name;
	const struct gpubpf_device_ops *device;
	const char *missing_text;
	const char *runtime[4]; /* names of the runtime's library; one of them must load */
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

void gpubpf_targets_check(void)
{
	for (size_t t = 0; t < COUNT(targets); t++) {
		const struct gpubpf_target *ops = targets[t].ops;

		(void)ops; /* unused if asserts are disabled */
		assert(!targets[t].images == !targets[t].places && !(targets[t].places & targets[t].where.places));
		for (size_t i = 0; i < COUNT(targets[t].never); i++)
			assert(!(targets[t].never[i].places & (targets[t].places | targets[t].where.places)));
		assert(!targets[t].where.places == !targets[t].where.bits &&
		       !targets[t].where.places == !targets[t].where.why);
		assert(!ops || ops->validate);
		assert(!ops || !ops->emit == !targets[t].emits);
		assert(!ops || !ops->live == !targets[t].machine);
		assert(!ops || !ops->query == !targets[t].queries);
		assert(!ops || (!ops->inspect == !targets[t].images && !ops->inject == !targets[t].images));
	}
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
		return "no such backend; known are cuda, opencl, hip and level_zero";
	if (!backend->device)
		return "this backend is not built into this program";
	for (size_t i = 0; !runtime && i < COUNT(backend->runtime) && backend->runtime[i]; i++)
		runtime = dlopen(backend->runtime[i], RTLD_LAZY | RTLD_LOCAL);
	if (!runtime)
		return backend->missing_text;
	dlclose(runtime);
	return "";
}
