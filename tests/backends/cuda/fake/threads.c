/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios with several threads. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "app.h"

static CUfunction shared_function;
static CUcontext shared_context;

/*
 * Several threads launch one function at the same time. Each thread uses another number of blocks, so that the agent
 * needs twins with different register limits.
 */
static void *squeeze(void *arg)
{
	CUdeviceptr word;

	GOOD(cuCtxSetCurrent(shared_context));
	word = new_word();
	for (int i = 0; i < 5; i++)
		run(shared_function, word, (int)(uintptr_t)arg, NULL);
	return NULL;
}

void squeezed(void)
{
	static const int grids[] = { 32, 64, 96, 128 };
	pthread_t thread[4];
	CUmodule module;

	shared_context = begin(0);
	shared_function = load(&module, "heavy");
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, squeeze, (void *)(uintptr_t)grids[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	told("heavy", 20, 5 * 64 * (32 + 64 + 96 + 128));
}

static void *launch_many(void *arg)
{
	CUdeviceptr word;

	GOOD(cuCtxSetCurrent(shared_context));
	word = new_word();
	for (int i = 0; i < 500; i++)
		run(shared_function, word, 1, NULL);
	return (void *)(uintptr_t)*to_host(word);
}

void launch_in_threads(void)
{
	pthread_t thread[8];
	CUmodule module;
	uintptr_t sum = 0;

	shared_context = begin(0);
	shared_function = load(&module, "other");
	for (int i = 0; i < 8; i++)
		pthread_create(&thread[i], NULL, launch_many, NULL);
	for (int i = 0; i < 8; i++) {
		void *n;

		pthread_join(thread[i], &n);
		sum += (uintptr_t)n;
	}
	printf("words %lu\n", (unsigned long)sum);
	told("other", 8 * 500, 8 * 500 * 64);
}

/* Several threads load, launch and unload modules. The driver gives them the same handles one after the other. */
static void *load_many(void *arg)
{
	GOOD(cuCtxSetCurrent(shared_context));
	for (int i = 0; i < 60; i++) {
		CUmodule module;
		CUfunction f = load(&module, "other");

		run(f, new_word(), 1, NULL);
		GOOD(cu.cuModuleUnload(module));
	}
	return NULL;
}

void unload_in_threads(void)
{
	pthread_t thread[4];

	shared_context = begin(0);
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, load_many, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	told("other", 4 * 60, 4 * 60 * 64);
}
