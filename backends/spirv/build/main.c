/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf-build runs a vendor's OpenCL compiler. Such compilers map code that they generate, start threads and linkers,
 * write caches and talk to devices. The sandbox allows that (core/worker/sandbox/calls.def). The process has no descriptor
 * except its socket.
 */
#include <stdlib.h>

#include "build.h"
#include "core/worker/sandbox/sandbox.h"
#include "core/worker/serve.h"
#include "core/worker/spawn.h"

int main(void)
{
	static const struct gpubpf_serve_ops ops = { .build = gpubpf_cl_build, .sandbox = gpubpf_sandbox_outer };

	/* the builder must not load our own layer, nor layers that the application requested */
	unsetenv("OPENCL_LAYERS");
	unsetenv("LD_PRELOAD");
	return gpubpf_worker_serve(GPUBPF_WORKER_FD, &ops);
}
