/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf-compile: lowers, emits and injects, with LLVM inside. Computes and talks to the tool, no more. */
#include <stdlib.h>

#include "sandbox.h"
#include "serve.h"
#include "spawn.h"

#define MAX_TARGETS 16

static int enter_sandbox(struct gpubpf_diag *diag)
{
	return gpubpf_sandbox_enter(GPUBPF_SANDBOX_FORK, diag);
}

int main(void)
{
	static const struct gpubpf_target *targets[MAX_TARGETS];
	static const struct gpubpf_serve_ops ops = { .targets = targets, .sandbox = enter_sandbox };

	for (size_t i = 0; i < MAX_TARGETS - 1; i++)
		targets[i] = gpubpf_target_at(i);
	return gpubpf_worker_serve(GPUBPF_WORKER_FD, &ops);
}
