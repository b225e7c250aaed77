/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf-build runs a vendor's OpenCL compiler. Such compilers map code that they make, start threads
 * and linkers, write caches and talk to devices: the sandbox allows that (core/worker/calls.def). The process has no
 * descriptor except its socket.
 */
#include <stdlib.h>

#include "build.h"
#include "core/worker/sandbox.h"
#include "core/worker/serve.h"
#include "core/worker/spawn.h"

int main(void)
{
	static const struct gpubpf_serve_ops ops = { .build = gpubpf_cl_build, .sandbox = gpubpf_sandbox_outer };

	/* our own layer has no business here, nor have others that the application asked for */
	unsetenv("OPENCL_LAYERS");
	unsetenv("LD_PRELOAD");
	return gpubpf_worker_serve(GPUBPF_WORKER_FD, &ops);
}
