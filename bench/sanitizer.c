/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts thread exits with NVIDIA's Sanitizer patching API, for a comparison with gpubpf. The driver loads this library
 * into the measured program (CUDA_INJECTION64_PATH).
 *
 * The variable $BENCH_SANITIZER selects the work. "subscriber" patches no code. "nothing" inserts calls of an empty
 * callback. "counter" inserts calls of a counter. $BENCH_SANITIZER_PATCH is the path of the compiled
 * sanitizer_patch.cu. When the measured program ends, the library prints the number of threads that exited. `bench/gpu
 * --sanitizer` builds it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sanitizer.h>

#define COUNTS (256 * 16) /*
 * number of 64-bit words in the array of counters; each of 256 multiprocessors has a cache line of 16 words, as in
 * sanitizer_patch.cu
 */

static unsigned long long copied[COUNTS];
static void *counts;
static CUcontext added; /* the CUDA context to which the patches were added */

static void check(SanitizerResult result, const char *what)
{
	const char *text = "?";

	if (result == SANITIZER_SUCCESS)
		return;
	sanitizerGetResultString(result, &text);
	fprintf(stderr, "bench/sanitizer: %s: %s\n", what, text);
	_Exit(1);
}

static const char *callback(void)
{
	const char *what = getenv("BENCH_SANITIZER");

	return !what || !strcmp(what, "counter") ? "count_exits" : strcmp(what, "nothing") ? NULL : "nothing";
}

static void patch(const Sanitizer_ResourceModuleData *data)
{
	const char *name = callback();

	if (!name)
		return;
	if (added != data->context)
		check(sanitizerAddPatchesFromFile(getenv("BENCH_SANITIZER_PATCH"), data->context), "the patches");
	added = data->context;
	check(sanitizerPatchInstructions(SANITIZER_INSTRUCTION_BLOCK_EXIT, data->module, name), name);
	check(sanitizerPatchModule(data->module), "a module");
}

static void pass_counts(const Sanitizer_LaunchData *data)
{
	if (!callback())
		return;
	if (!counts) {
		check(sanitizerAlloc(data->context, &counts, sizeof(copied)), "memory");
		check(sanitizerMemset(counts, 0, sizeof(copied), data->hStream), "memory");
	}
	check(sanitizerSetLaunchCallbackData(data->hLaunch, data->function, data->hStream, counts), "a launch");
}

static void copy_counts(const Sanitizer_SynchronizeData *data)
{
	if (counts)
		check(sanitizerMemcpyDeviceToHost(copied, counts, sizeof(copied), data->hStream), "the counts");
}

static void on_event(void *userdata, Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id, const void *data)
{
	(void)userdata;
	if (domain == SANITIZER_CB_DOMAIN_RESOURCE && id == SANITIZER_CBID_RESOURCE_MODULE_LOADED)
		patch(data);
	else if (domain == SANITIZER_CB_DOMAIN_LAUNCH && id == SANITIZER_CBID_LAUNCH_BEGIN)
		pass_counts(data);
	else if (domain == SANITIZER_CB_DOMAIN_SYNCHRONIZE && id == SANITIZER_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED)
		copy_counts(data);
}

static __attribute__((destructor)) void print_count(void)
{
	unsigned long long all = 0;

	for (unsigned i = 0; i < COUNTS; i++)
		all += copied[i];
	if (callback() && !strcmp(callback(), "count_exits"))
		fprintf(stderr, "counted %llu\n", all);
}

/* The entry point that the driver calls in an injected library. */
__attribute__((visibility("default"))) int InitializeInjection(void)
{
	static const Sanitizer_CallbackDomain domains[] = { SANITIZER_CB_DOMAIN_RESOURCE, SANITIZER_CB_DOMAIN_LAUNCH,
							    SANITIZER_CB_DOMAIN_SYNCHRONIZE };
	Sanitizer_SubscriberHandle subscriber;

	check(sanitizerSubscribe(&subscriber, on_event, NULL), "it");
	for (size_t i = 0; i < sizeof(domains) / sizeof(*domains); i++)
		check(sanitizerEnableDomain(1, subscriber, domains[i]), "a domain");
	return 1;
}
