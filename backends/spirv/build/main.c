/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf-build runs a vendor's OpenCL compiler. Such compilers map generated code, start threads and linkers, write
 * caches and talk to devices, so the sandbox allows these system calls (core/worker/sandbox/calls.def). The process
 * inherits no file descriptor except its socket.
 */
#include <stdlib.h>

#include "build.h"
#include "core/worker/sandbox/sandbox.h"
#include "core/worker/serve.h"
#include "core/worker/spawn.h"

int main(void)
{
	static const struct gpubpf_serve_ops ops = { .build = gpubpf_cl_build, .sandbox = gpubpf_sandbox_outer };

	/* the builder must load neither gpubpf's own OpenCL layer nor layers that the application requested */
	unsetenv("OPENCL_LAYERS");
	unsetenv("LD_PRELOAD");
	return gpubpf_worker_serve(GPUBPF_WORKER_FD, &ops);
}
