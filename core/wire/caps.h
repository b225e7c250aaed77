/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capabilities of a device. They are data, filled once when the device opens, and sent to the session. Layout,
 * lowering and the launch path read them. Shared code checks these and never the vendor. A new member also needs code
 * in gpubpf_codec_caps(), which encodes the structure field by field.
 */
#ifndef GPUBPF_CORE_WIRE_CAPS_H
#define GPUBPF_CORE_WIRE_CAPS_H

#include <stdint.h>

enum gpubpf_image_kind {
	GPUBPF_IMAGE_NONE,
	GPUBPF_IMAGE_OPENCL_C,      /* source text */
	GPUBPF_IMAGE_SPIRV,         /* IL */
	GPUBPF_IMAGE_OPENCL_BINARY, /* result of clGetProgramInfo(CL_PROGRAM_BINARIES) */
	GPUBPF_IMAGE_OPENCL_PARTS,  /* several OpenCL C sources, compiled separately and linked:
				    * backends/spirv/wire/parts.h */
	GPUBPF_IMAGE_PTX,           /* text */
	GPUBPF_IMAGE_CUBIN,         /* ELF file with NVIDIA machine code */
	GPUBPF_IMAGE_FATBIN,
	GPUBPF_IMAGE_AMDGPU,         /* ELF code object */
	GPUBPF_IMAGE_OFFLOAD_BUNDLE, /* __CLANG_OFFLOAD_BUNDLE__, or CCOB, its compressed form */
	GPUBPF_IMAGE_LLVM_IR,
	GPUBPF_IMAGE_OPENCL_QUERY, /* a query to the device's compiler: OpenCL C whose error messages are the answers
				    * (backends/spirv/opencl_c/read/query.h); or these answers */
	GPUBPF_NIMAGES,
};

enum gpubpf_clock {
	GPUBPF_CLOCK_NONE,
	GPUBPF_CLOCK_TSC,         /* x86 time-stamp counter, by clang's built-in function (PoCL) */
	GPUBPF_CLOCK_KHR,         /* cl_khr_kernel_clock */
	GPUBPF_CLOCK_GLOBALTIMER, /* NVIDIA %globaltimer, ns */
	GPUBPF_CLOCK_REALTIME,    /* AMD s_memrealtime or s_sendmsg_rtn */
	GPUBPF_CLOCK_CYCLES,      /* timestamp register of Intel GPUs: core cycles at the current clock rate */
	GPUBPF_CLOCKS,
};

enum gpubpf_cap_bits {
	GPUBPF_CAP_ACCEPTS_SPIRV = 1 << 0, /* clCreateProgramWithIL */
	GPUBPF_CAP_ACCEPTS_OPENCL_C = 1 << 1,
	GPUBPF_CAP_SHARED_ARENA = 1 << 2, /* the arena is host memory, and the tool sees writes at once */
	GPUBPF_CAP_ATOMIC64 = 1 << 3,
	GPUBPF_CAP_SUBGROUPS = 1 << 4,   /* kernels can read lane and warp ids */
	GPUBPF_CAP_LINK = 1 << 6,        /* clCompileProgram and clLinkProgram work */
	GPUBPF_CAP_NVPTX_ASM = 1 << 7,   /* OpenCL C supports inline PTX */
	GPUBPF_CAP_EXIT_THREAD = 1 << 8, /* helper 507 works at entry if no barrier follows */
	GPUBPF_CAP_OFFSET = 1 << 9,      /* launches may have a global work offset */
	GPUBPF_CAP_X86 = 1 << 10,        /* the device is an x86 CPU, which orders loads and stores without fences */
	GPUBPF_CAP_ACCEPTS_PTX = 1 << 12,
	GPUBPF_CAP_ACCEPTS_AMDGPU = 1 << 13, /* code objects */
	GPUBPF_CAP_DRAINS = 1 << 14,         /* the agent empties rings while kernels run */
	GPUBPF_CAP_LINKS_PARTS = 1 << 15, /* the runtime links SPIR-V modules at load, so no vendor build is needed */
	GPUBPF_CAP_ALLOCATIONS = 1 << 16, /* the hooks know the application's allocations (hooks/device/allocations.c) */
	/* memory for maps: the rows of core/wire/placements.def */
	GPUBPF_CAP_HOST_PINNED = 1 << 17,
	GPUBPF_CAP_HOST_REGISTERED = 1 << 18,
	GPUBPF_CAP_SVM_FINE = 1 << 19,
	GPUBPF_CAP_SVM_SYSTEM = 1 << 20,
	GPUBPF_CAP_MANAGED = 1 << 21,
	GPUBPF_CAP_HOST_ATOMICS = 1 << 22,
	GPUBPF_CAP_SM_ID = 1 << 23, /* kernels can read the number of their multiprocessor */
};

struct gpubpf_device_caps {
	char backend[16];          /* "opencl" */
	char name[96];             /* as reported by the runtime */
	char driver[96];           /* "vendor, driver version"; OpenCL: CL_DEVICE_VENDOR, CL_DRIVER_VERSION */
	char arch[32];             /* "sm_90", "gfx90a", "" */
	uint64_t bits;             /* enum gpubpf_cap_bits */
	uint32_t clock;            /* enum gpubpf_clock */
	uint32_t compute_units;    /* SMs */
	uint32_t warp_size;        /* lanes; 1 without sub-groups */
	uint32_t spirv_version;    /* 0x00010400 = 1.4; 0 none */
	uint32_t opencl_c_version; /* 120, 300 */
	uint32_t address_bits;
	uint32_t max_threads_per_block;
	uint32_t max_blocks[3]; /* limit of a launch, in blocks per dimension; 0: the runtime reports no limit */
	uint32_t sub_groups;    /* sub-group sizes that a kernel may request, in lanes: powers of 2, or-ed */
	uint64_t memory;        /* bytes of device memory */
	uint64_t max_alloc;     /* largest single allocation, in bytes */
	uint32_t ordinal;       /* the device's number, which helper 512 returns */
	uint32_t pad;
	char settings[1024];   /* environment variables that configure the runtime's compiler, as NAME=VALUE lines.
				    * "?": too long to store */
	char extensions[4096]; /* for OpenCL, CL_DEVICE_EXTENSIONS, truncated at a blank. For HIP, the features
				    * after arch in the device's target ID: "sramecc+:xnack-". "" if unknown */
};

#endif
