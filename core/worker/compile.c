/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main function of gpubpf-compile, the worker that lowers, emits and injects with LLVM. Its sandbox allows only
 * computation and messages to the tool.
 */
#include "sandbox/sandbox.h"
#include "serve.h"
#include "spawn.h"

static int enter_sandbox(struct gpubpf_diag *diag)
{
	return gpubpf_sandbox_enter(GPUBPF_SANDBOX_FORK, diag);
}

int main(void)
{
	static const struct gpubpf_serve_ops ops = { .target = gpubpf_target_find, .sandbox = enter_sandbox };

	gpubpf_targets_check();
	return gpubpf_worker_serve(GPUBPF_WORKER_FD, &ops);
}
