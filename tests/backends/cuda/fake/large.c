/* SPDX-License-Identifier: Apache-2.0 */
/* Loads kernels of real machine code: from a small image, and from a library as large as PyTorch's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "app.h"
#include "backends/cuda/wire/fatbin_format.h"

#define IMAGE_MAX (64u << 20)
#define OTHERS 8                /* number of images for other architectures */
#define OTHER_SIZE (64ull << 20) /* size in bytes of each image for another architecture */
#define OTHER_ARCH 80

/* Header of a fatbin container. A struct head precedes each entry; the fields are the ones of nvcc 13.0. */
struct container {
	uint32_t magic;
	uint16_t version, header;
	uint64_t body;
};

struct head {
	uint16_t kind, version;
	uint32_t header;
	uint64_t size;
	uint32_t packed, unknown[2], arch, unknown2[2];
	uint64_t flags, unknown3, plain;
};

/* The library is read-only like an application's code. Its pages are not resident until the application reads them. */
#define LIBRARY_SIZE 0x24010000 /* size of the images, plus one page for headers */
#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)
__asm__(".pushsection .library, \"a\", %nobits\n.balign 65536\nlibrary: .zero " TEXT_OF(LIBRARY_SIZE) "\n.popsection");
extern char library[LIBRARY_SIZE] __attribute__((visibility("hidden")));

_Static_assert(sizeof(library) >= IMAGE_MAX + OTHERS * (OTHER_SIZE + sizeof(struct head)) + sizeof(struct head) +
					  sizeof(struct container),
	       "it has room for all of them");

static void protect(int how)
{
	if (!mprotect(library, sizeof(library), how))
		return;
	perror("mprotect");
	exit(2);
}

static size_t read_image(void *image)
{
	const char *path = getenv("FAKE_CUDA_APP_IMAGE");
	FILE *f = fopen(path ? path : "", "re");
	size_t n = f ? fread(image, 1, IMAGE_MAX, f) : 0;

	if (!n) {
		fprintf(stderr, "no image: FAKE_CUDA_APP_IMAGE names a cubin\n");
		exit(2);
	}
	fclose(f);
	return n;
}

/* Launches all kernels of the image in turn and prints the elapsed time to stderr. */
static void launch_all(const void *image)
{
	CUdeviceptr args[64] = { 0 };
	void *params[64];
	struct timespec from, to;
	CUfunction *all;
	CUmodule module;
	unsigned n;

	begin(0);
	for (int i = 0; i < 64; i++)
		params[i] = &args[i];
	GOOD(cu.cuModuleLoadData(&module, image));
	GOOD(cuModuleGetFunctionCount(&n, module));
	all = calloc(n, sizeof(*all));
	GOOD(cuModuleEnumerateFunctions(all, n, module));
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (unsigned i = 0; i < n; i++)
		GOOD(cu.cuLaunchKernel(all[i], 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
	clock_gettime(CLOCK_MONOTONIC, &to);
	fprintf(stderr, "first launches of %u kernels took %.1f ms\n", n,
		(to.tv_sec - from.tv_sec) * 1e3 + (to.tv_nsec - from.tv_nsec) / 1e6);
	printf("%u kernels\n", n);
}

void many(void)
{
	char *image = calloc(1, IMAGE_MAX);

	read_image(image);
	launch_all(image);
}

static char *write_head(char *at, uint32_t arch, uint64_t size, bool packed)
{
	const struct head head = {
		.kind = FATBIN_ELF,
		.version = 0x101,
		.header = sizeof(head),
		.size = size,
		.arch = arch,
		.packed = packed ? size : 0,
		.flags = packed ? FATBIN_ZSTD : 0,
		.plain = packed ? 16 * size : 0,
	};

	memcpy(at, &head, sizeof(head));
	return at + sizeof(head);
}

/* Returns the peak memory of the process in KiB. */
static long peak(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	long kib = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

/* Measures the peak memory and writes it to a file: in the output it would differ between runs. */
void large(void)
{
	const char *to = getenv("FAKE_CUDA_APP_PEAK"), *arch = getenv("FAKE_CUDA_SM");
	struct container container = { .magic = FATBIN_MAGIC, .version = 1, .header = sizeof(container) };
	char *at = library + sizeof(container), *code = at + sizeof(struct head);
	size_t size;
	FILE *f;

	protect(PROT_READ | PROT_WRITE);
	size = (read_image(code) + 7) & ~7ul;
	write_head(at, arch ? atoi(arch) : 90, size, false);
	at = code + size;
	for (int i = 0; i < OTHERS; i++)
		at = write_head(at, OTHER_ARCH, OTHER_SIZE, i & 1) + OTHER_SIZE;
	container.body = at - library - sizeof(container);
	memcpy(library, &container, sizeof(container));
	protect(PROT_READ);
	launch_all(library);
	f = fopen(to ? to : "", "we");
	if (!f || fprintf(f, "%ld\n", peak()) < 0 || fclose(f))
		exit(2);
}
