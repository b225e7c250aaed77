/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf-build: a vendor's OpenCL compiler in a process of its own. Such compilers map their own code,
 * start threads and linkers, read their files, write their caches and talk to their device nodes, each its
 * own way: all that is allowed. It gets no descriptor but its socket.
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
