/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf-assemble: runs NVIDIA's assembler in a separate process. The process's sandbox allows only computation and
 * communication with the tool.
 */
#include <stdlib.h>

#include "assemble.h"
#include "core/worker/sandbox/sandbox.h"
#include "core/worker/serve.h"
#include "core/worker/spawn.h"

static int enter_sandbox(struct gpubpf_diag *diag)
{
	return gpubpf_sandbox_enter(GPUBPF_SANDBOX_THREADS, diag);
}

int main(void)
{
	static const struct gpubpf_serve_ops ops = { .build = cuda_assemble, .sandbox = enter_sandbox };

	unsetenv("LD_PRELOAD");
	cuda_assemble_open();
	return gpubpf_worker_serve(GPUBPF_WORKER_FD, &ops);
}
