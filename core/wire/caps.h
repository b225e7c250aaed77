/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capabilities of a device. The agent fills them in when it opens the device, and sends them to the session. The
 * memory layout of maps, the lowering and the launch path depend on them. Shared code checks capabilities and never the
 * vendor. A new member also needs code in gpubpf_codec_caps(), which encodes the structure field by field.
 */
#ifndef GPUBPF_CORE_WIRE_CAPS_H
#define GPUBPF_CORE_WIRE_CAPS_H

#include <stdint.h>

enum gpubpf_image_kind {
	GPUBPF_IMAGE_NONE,
	GPUBPF_IMAGE_OPENCL_C,      /* source text */
	GPUBPF_IMAGE_SPIRV,         /* IL */
	GPUBPF_IMAGE_OPENCL_BINARY, /* result of clGetProgramInfo(CL_PROGRAM_BINARIES) */
	/* several OpenCL C sources that are compiled separately and then linked (backends/spirv/wire/parts.h) */
	GPUBPF_IMAGE_OPENCL_PARTS,
	GPUBPF_IMAGE_PTX,   /* text */
	GPUBPF_IMAGE_CUBIN, /* ELF file with NVIDIA machine code */
	GPUBPF_IMAGE_FATBIN,
	GPUBPF_IMAGE_AMDGPU,         /* ELF code object */
	GPUBPF_IMAGE_OFFLOAD_BUNDLE, /* __CLANG_OFFLOAD_BUNDLE__ (uncompressed) or CCOB (compressed) */
	GPUBPF_IMAGE_LLVM_IR,
	/*
	 * a query to the device's compiler, in OpenCL C, or the answers that its error messages contain
	 * (backends/spirv/opencl_c/read/query.h)
	 */
	GPUBPF_IMAGE_OPENCL_QUERY,
	GPUBPF_NIMAGES,
};

enum gpubpf_clock {
	GPUBPF_CLOCK_NONE,
	GPUBPF_CLOCK_TSC,         /* x86 time-stamp counter, read with clang's built-in function (PoCL) */
	GPUBPF_CLOCK_KHR,         /* the OpenCL extension cl_khr_kernel_clock */
	GPUBPF_CLOCK_GLOBALTIMER, /* NVIDIA %globaltimer, ns */
	GPUBPF_CLOCK_REALTIME,    /* AMD's instruction s_memrealtime or s_sendmsg_rtn */
	GPUBPF_CLOCK_CYCLES,      /* timestamp register of Intel GPUs, in core cycles at the current clock rate */
	GPUBPF_CLOCKS,
};

enum gpubpf_cap_bits {
	GPUBPF_CAP_ACCEPTS_SPIRV = 1 << 0, /* clCreateProgramWithIL */
	GPUBPF_CAP_ACCEPTS_OPENCL_C = 1 << 1,
	/* the arena is host memory in which the tool sees writes of GPU kernels at once */
	GPUBPF_CAP_SHARED_ARENA = 1 << 2,
	GPUBPF_CAP_ATOMIC64 = 1 << 3,
	GPUBPF_CAP_SUBGROUPS = 1 << 4, /* GPU kernels can read lane and warp ids */
	GPUBPF_CAP_LINK = 1 << 6,      /* the OpenCL driver supports clCompileProgram and clLinkProgram */
	GPUBPF_CAP_NVPTX_ASM = 1 << 7, /* OpenCL C supports inline PTX */
	/* helper 507 (end the thread) works at a kernel's entry if no barrier follows */
	GPUBPF_CAP_EXIT_THREAD = 1 << 8,
	GPUBPF_CAP_OFFSET = 1 << 9, /* launches may have a global work offset */
	GPUBPF_CAP_X86 = 1 << 10,   /* the device is an x86 CPU, which orders loads and stores without fences */
	GPUBPF_CAP_ACCEPTS_PTX = 1 << 12,
	GPUBPF_CAP_ACCEPTS_AMDGPU = 1 << 13, /* code objects */
	GPUBPF_CAP_DRAINS = 1 << 14,         /* the agent empties ring buffers while GPU kernels run */
	/* the runtime links SPIR-V modules when it loads them, so gpubpf need not run the vendor's compiler */
	GPUBPF_CAP_LINKS_PARTS = 1 << 15,
	GPUBPF_CAP_ALLOCATIONS = 1 << 16, /* the hooks know the application's allocations (hooks/device/allocations.c) */
	/* kinds of memory for maps: the rows GPUBPF_MEMORY_CAP of core/wire/placements.def */
	GPUBPF_CAP_HOST_PINNED = 1 << 17,
	GPUBPF_CAP_HOST_REGISTERED = 1 << 18,
	GPUBPF_CAP_SVM_FINE = 1 << 19,
	GPUBPF_CAP_SVM_SYSTEM = 1 << 20,
	GPUBPF_CAP_MANAGED = 1 << 21,
	GPUBPF_CAP_HOST_ATOMICS = 1 << 22,
	GPUBPF_CAP_SM_ID = 1 << 23, /* GPU kernels can read the number of their multiprocessor */
};

struct gpubpf_device_caps {
	char backend[16];          /* "opencl" */
	char name[96];             /* name of the device, from the runtime */
	char driver[96];           /* "vendor, driver version"; for OpenCL, CL_DEVICE_VENDOR and CL_DRIVER_VERSION */
	char arch[32];             /* "sm_90", "gfx90a", "" */
	uint64_t bits;             /* enum gpubpf_cap_bits */
	uint32_t clock;            /* enum gpubpf_clock */
	uint32_t compute_units;    /* SMs */
	uint32_t warp_size;        /* lanes of a warp; 1 without sub-groups */
	uint32_t spirv_version;    /* 0x00010400 = 1.4; 0 none */
	uint32_t opencl_c_version; /* 120, 300 */
	uint32_t address_bits;
	uint32_t max_threads_per_block;
	/* maximum number of blocks of a launch, per dimension; 0: the runtime reports no limit */
	uint32_t max_blocks[3];
	/* bitwise OR of the sub-group sizes (powers of 2, in lanes) that a GPU kernel may request */
	uint32_t sub_groups;
	uint64_t memory;    /* device memory in bytes */
	uint64_t max_alloc; /* largest single allocation, in bytes */
	uint32_t ordinal;   /* the device's number, which helper 512 returns */
	uint32_t pad;
	/* environment variables that configure the runtime's compiler, as NAME=VALUE lines; "?" if they do not fit */
	char settings[1024];
	/*
	 * OpenCL: CL_DEVICE_EXTENSIONS, truncated at a blank. HIP: the features after arch in the device's target ID,
	 * such as "sramecc+:xnack-". "" if unknown.
	 */
	char extensions[4096];
};

#endif
