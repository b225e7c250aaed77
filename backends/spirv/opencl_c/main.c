/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main function of gpubpf-clread, the worker that reads and wraps OpenCL C with libclang. Its sandbox permits
 * reading files (headers of the application and of clang) and starting the thread in which libclang parses.
 */
#include "core/worker/sandbox/sandbox.h"
#include "core/worker/serve.h"
#include "core/worker/spawn.h"

static int enter_sandbox(struct gpubpf_diag *diag)
{
	return gpubpf_sandbox_enter(GPUBPF_SANDBOX_READ_FILES | GPUBPF_SANDBOX_THREADS, diag);
}

int main(void)
{
	static const struct gpubpf_serve_ops ops = { .target = gpubpf_target_find, .sandbox = enter_sandbox };

	gpubpf_targets_check();
	return gpubpf_worker_serve(GPUBPF_WORKER_FD, &ops);
}
