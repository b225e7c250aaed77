/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf-ptxas: starts NVIDIA's ptxas for the tool. This process is separate from the one that assembles probes. */
#include "core/worker/sandbox/sandbox.h"
#include "core/worker/serve.h"
#include "core/worker/spawn.h"
#include "ptxas.h"

int main(void)
{
	static const struct gpubpf_serve_ops ops = { .assemble = cuda_ptxas, .sandbox = gpubpf_sandbox_outer };

	return gpubpf_worker_serve(GPUBPF_WORKER_FD, &ops);
}
