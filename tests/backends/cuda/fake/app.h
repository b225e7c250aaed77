/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the scenarios of the test application share. app.c contains most scenarios. The others are in
 * graphs.c (graphs), owners.c (owners of handles), links.c (templates and linked modules), large.c (real machine code),
 * threads.c (several threads) and ends.c (applications that end early).
 */
#ifndef GPUBPF_TESTS_CUDA_APP_H
#define GPUBPF_TESTS_CUDA_APP_H

#include "fake.h"

#define HEADER ".version 7.0\n.target sm_75\n.address_size 64\n"
#define ENTRY(name, lines) ".visible .entry " #name "(.param .u64 to)\n{\n" lines "\tret;\n}\n"
#define GOOD(call) good(call, #call)

/* the driver's functions, as the application found them */
#define USED(X) \
	X(cuModuleLoadData) X(cuModuleLoadDataEx) X(cuModuleUnload) X(cuModuleGetFunction) X(cuLibraryLoadData) \
	X(cuLibraryUnload) X(cuLibraryGetKernel) X(cuLibraryGetModule) X(cuKernelGetFunction) X(cuLaunchKernel) \
	X(cuLaunchKernelEx) X(cuLaunchCooperativeKernel) X(cuFuncSetAttribute) X(cuDevicePrimaryCtxRetain) \
	X(cuGraphAddKernelNode_v2) X(cuGraphKernelNodeGetParams_v2) X(cuGraphKernelNodeSetParams_v2) \
	X(cuGraphExecKernelNodeSetParams_v2) X(cuCtxDestroy_v2) X(cuDevicePrimaryCtxRelease_v2) \
	X(cuDevicePrimaryCtxReset_v2) X(cuLinkAddData_v2) X(cuLinkComplete) X(cuLinkDestroy)
struct used_driver {
#define MEMBER(symbol) typeof(symbol) *symbol;
	USED(MEMBER)
};
extern struct used_driver cu;

void good(CUresult error, const char *what);
uint32_t *to_host(CUdeviceptr at);
CUdeviceptr new_word(void);
void run(CUfunction f, CUdeviceptr to, unsigned blocks, CUstream stream);
void told(const char *kernel, unsigned launches, unsigned long items);
CUcontext begin(CUdevice device);
CUfunction load(CUmodule *module, const char *kernel);
void wait_for(const char *path);

/* graphs.c */
void captured(void);
void slowly(void);
void slowly_again(void);
void nodes(void);
void shapes(void);

/* owners.c */
void libraries(void);
void foreign(void);
void green(void);
void part(void);
void detached(void);
void hasty(void);
void unbalanced(void);
void orphaned(void);
void endless(void);
void older(void);
void twice(void);
void closed(void);
void reborn(void);
void clustered(void);
void carved(void);
void overwritten(void);
void parted(void);

/* links.c */
void templated(void);
void too_long(void);
void linked(void);

/* large.c */
void many(void);
void large(void);

/* threads.c */
void squeezed(void);
void launch_in_threads(void);
void unload_in_threads(void);

/* ends.c */
void fault(void);
void flood(void);
void leaves(void);
void killed(void);

#endif
