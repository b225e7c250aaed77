/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios of applications that end early, and of applications that lose events. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "app.h"

/* The second kernel accesses an illegal address; after that no copy succeeds. */
void fault(void)
{
	CUmodule module;
	CUfunction f, faulty;
	CUdeviceptr word;
	void *params[] = { &word };

	begin(0);
	f = load(&module, "other");
	GOOD(cu.cuModuleGetFunction(&faulty, module, "faulty"));
	word = new_word();
	run(f, word, 4, NULL);
	printf("fault: %d\n", cu.cuLaunchKernel(faulty, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	printf("after: %d\n", cu.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	told("other", 1, 256);
}

/* Emits more events than a ring holds, at the full launch rate. */
void flood(void)
{
	CUmodule module;
	CUfunction f;
	CUdeviceptr word;

	begin(0);
	f = load(&module, "other");
	word = new_word();
	for (int i = 0; i < 100; i++)
		run(f, word, 1024, NULL);
	told("other", 100, 100 * 65536);
}

/* Returns without unloading modules or destroying contexts. */
void leaves(void)
{
	CUmodule module;
	CUfunction f;
	CUdeviceptr word;

	begin(0);
	f = load(&module, "other");
	word = new_word();
	for (int i = 0; i < 10; i++)
		run(f, word, 256, NULL);
	told("other", 10, 10 * 16384);
	fflush(stdout);
	_exit(0);
}

void killed(void)
{
	CUmodule module;
	CUfunction f;

	begin(0);
	f = load(&module, "other");
	run(f, new_word(), 4, NULL);
	told("other", 1, 256);
	fflush(stdout);
	kill(getpid(), SIGKILL);
}
