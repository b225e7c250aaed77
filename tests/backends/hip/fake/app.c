/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An application that uses the fake HIP runtime. Its argument selects its work. "check" prints its results, "launch"
 * the nanoseconds of a launch. Argument "churn" prints the memory that unloaded modules leave. Argument "obey" launches
 * on request. Argument "ways" uses launch functions that the simulated GPU does not have. Argument "race" loads and
 * unloads modules in several threads.
 */
#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "backends/hip/device/driver.h"

#define BATCHES 21
#define LAUNCHES 20000
#define CHURNS 32
#define RACES 50
#define CHURN_BYTES (4u << 20)

extern const void *fake_image;
extern _Atomic unsigned fake_cooperative, fake_on[2], fake_lost;
extern hipStream_t fake_stream;
extern _Atomic unsigned fake_images, fake_unloaded, fake_launches, fake_twins;

int hipInit(unsigned flags);
int hipModuleLoadData(hipModule_t *module, const void *image);
int hipModuleUnload(hipModule_t module);
int hipModuleGetFunction(hipFunction_t *f, hipModule_t module, const char *name);
int hipModuleLaunchKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
			  unsigned shared, hipStream_t stream, void **params, void **extra);
int hipGetLastError(void);
int hipSetDevice(int device);
int hipDeviceReset(void);
int hipDevicePrimaryCtxReset(int device);
int hipGetProcAddress(const char *symbol, void **to, int version, uint64_t flags, void *status);
int hipLaunchKernel_spt(const void *f, dim3 grid, dim3 block, void **args, size_t shared, hipStream_t stream);
int hipLaunchCooperativeKernel(const void *f, dim3 grid, dim3 block, void **args, unsigned shared, hipStream_t stream);
int hipLaunchCooperativeKernel_spt(const void *f, dim3 grid, dim3 block, void **args, unsigned shared,
				   hipStream_t stream);
int hipModuleLaunchCooperativeKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
				     unsigned bz, unsigned shared, hipStream_t stream, void **params);
void **__hipRegisterFatBinary(const void *data);
void __hipRegisterFunction(void **binary, const void *f, char *device_name, const char *name, unsigned limit, void *tid,
			   void *bid, dim3 *block, dim3 *grid, int *size);

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double batch(hipFunction_t f)
{
	struct timespec from, to;

	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < LAUNCHES; i++)
		hipModuleLaunchKernel(f, 4, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL);
	clock_gettime(CLOCK_MONOTONIC, &to);
	return ((to.tv_sec - from.tv_sec) * 1e9 + to.tv_nsec - from.tv_nsec) / LAUNCHES;
}

/*
 * Launches through hipStreamPerThread, cooperatively, through a function pointer from hipGetProcAddress(), and on
 * another device.
 */
static int ways(void)
{
	static char image[64] = "\177ELF\2\1\1", host;
	static const struct {
		uint32_t magic, version;
		const void *image;
		void *unused;
	} wrapper = { 0x48495046, 1, image, NULL };
	typeof(hipModuleLaunchKernel) *launch = NULL;
	void **binary = __hipRegisterFatBinary(&wrapper);
	dim3 grid = { 4, 1, 1 }, block = { 64, 1, 1 };
	hipModule_t module;
	hipFunction_t f;

	__hipRegisterFunction(binary, &host, "tiny", "tiny", -1, NULL, NULL, NULL, NULL, NULL);
	if (hipInit(0) || hipModuleLoadData(&module, image) || hipModuleGetFunction(&f, module, "tiny"))
		return 1;
	if (hipLaunchKernel_spt(&host, grid, block, NULL, 0, NULL))
		return 1;
	printf("per thread %d, ", (int)(uintptr_t)fake_stream);
	if (hipLaunchCooperativeKernel(&host, grid, block, NULL, 0, NULL))
		return 1;
	printf("%d, ", (int)(uintptr_t)fake_stream);
	if (hipLaunchCooperativeKernel_spt(&host, grid, block, NULL, 0, NULL))
		return 1;
	printf("%d, ", (int)(uintptr_t)fake_stream);
	if (hipModuleLaunchCooperativeKernel(f, 4, 1, 1, 64, 1, 1, 0, NULL, NULL))
		return 1;
	printf("cooperative %u, ", fake_cooperative);
	if (hipGetProcAddress("hipModuleLaunchKernel", (void **)&launch, 60000000, 0, NULL) || !launch ||
	    launch(f, 4, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL))
		return 1;
	if (hipSetDevice(1) || hipModuleLaunchKernel(f, 4, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL) || hipSetDevice(0))
		return 1;
	printf("twins %u, on devices %u and %u\n", fake_twins, fake_on[0], fake_on[1]);
	return 0;
}

/* Launches before and after calls that free all memory of a device. The last launch uses another device. */
static int resets(hipFunction_t f)
{
	for (int i = 0; i < 4; i++) {
		if (hipModuleLaunchKernel(f, 4, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL))
			return 1;
		if (i == 3)
			hipSetDevice(1);
		if (i == 1 ? hipDeviceReset() : hipDevicePrimaryCtxReset(0))
			return 1;
	}
	printf("twins %u, lost %u\n", fake_twins, fake_lost);
	return 0;
}

/*
 * For each line of standard input, launches as often as the line states, and prints the total numbers of launches and
 * twins.
 */
static int obey(hipFunction_t f)
{
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		for (int i = 0; i < atoi(line); i++)
			if (hipModuleLaunchKernel(f, 4, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL))
				return 1;
		printf("launches %u, twins %u\n", fake_launches, fake_twins);
		fflush(stdout);
	}
	return 0;
}

static void *load_and_unload(void *arg)
{
	hipModule_t module;
	hipFunction_t f;

	for (int i = 0; i < RACES; i++) {
		char *image = calloc(1, 64);

		memcpy(image, "\177ELF\2\1\1", 7);
		image[63] = i;
		if (hipModuleLoadData(&module, image) || hipModuleGetFunction(&f, module, "tiny") ||
		    hipModuleLaunchKernel(f, 4, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL) || hipModuleUnload(module))
			return "failed";
		free(image);
	}
	return NULL;
}

/* Several threads load, launch and unload modules at the same time. */
static int race(void)
{
	pthread_t thread[4];
	void *why = NULL;

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, load_and_unload, NULL);
	for (int i = 0; i < 4 && !why; i++)
		pthread_join(thread[i], &why);
	printf("twins %u, modules left %u\n", fake_twins, fake_images - fake_unloaded);
	return !!why;
}

/* Loads images of 4 MiB one after the other. Each gets a twin, and is launched and unloaded. */
static int churn(void)
{
	static uint64_t image[CHURN_BYTES / 8];
	Elf64_Ehdr head = { .e_ident = ELFMAG "\2\1\1", .e_shoff = CHURN_BYTES };
	struct rusage first, last;
	hipModule_t module;
	hipFunction_t f;

	for (int i = 0; i < CHURNS; i++) {
		void *heap = malloc(sizeof(image));

		memcpy(image, &head, sizeof(head));
		image[CHURN_BYTES / 8 - 1] = i;
		memcpy(heap, image, sizeof(image));
		if (hipModuleLoadData(&module, heap) || hipModuleGetFunction(&f, module, "tiny") ||
		    hipModuleLaunchKernel(f, 4, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL) || hipModuleUnload(module))
			return 1;
		free(heap);
		getrusage(RUSAGE_SELF, i < CHURNS / 4 ? &first : &last);
	}
	printf("twins %u, modules left %u, grown by %s\n", fake_twins, fake_images - fake_unloaded,
	       last.ru_maxrss - first.ru_maxrss < CHURNS / 4 * (CHURN_BYTES >> 10) ? "little" : "all that was loaded");
	return 0;
}

int main(int argc, char **argv)
{
	/* an ELF header without sections */
	static char image[64] = "\177ELF\2\1\1", before[64];
	double ns[BATCHES];
	hipModule_t module;
	hipFunction_t f;
	bool same;

	memcpy(before, image, sizeof(before));
	if (argc > 1 && !strcmp(argv[1], "ways"))
		return ways();
	if (argc > 1 && !strcmp(argv[1], "race"))
		return hipInit(0) || race();
	if (argc > 1 && !strcmp(argv[1], "churn"))
		return hipInit(0) || churn();
	if (hipInit(0) || hipModuleLoadData(&module, image))
		return 1;
	/* checked before the look-up of the function, which loads the twin */
	same = fake_image == image && !memcmp(image, before, sizeof(before));
	if (hipModuleGetFunction(&f, module, "tiny"))
		return 1;
	if (argc > 1 && !strcmp(argv[1], "launch")) {
		for (int i = 0; i < BATCHES; i++)
			ns[i] = batch(f);
		qsort(ns, BATCHES, sizeof(*ns), compare);
		printf("%.1f\n", ns[BATCHES / 2]);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "obey"))
		return obey(f);
	if (argc > 1 && !strcmp(argv[1], "resets"))
		return resets(f);
	for (int i = 0; i < 3; i++)
		if (hipModuleLaunchKernel(f, 4, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL))
			return 1;
	printf("image %s, launches %u, twins %u, ", same ? "as it was" : "changed", fake_launches, fake_twins);
	printf("no grid %d, ", hipModuleLaunchKernel(f, 0, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
	printf("last error %d\n", hipGetLastError());
	return 0;
}
