/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hip-launch IMAGE KERNEL TWIN LAYOUT ARENA SIZES X Y Z BX BY BZ: launches a kernel of a code object and its twin once
 * each through HSA. X, Y, Z are the numbers of threads in total, BX, BY, BZ the numbers per group. If TWIN is "-", it
 * launches only the kernel. The first three arguments of the kernel are two pointers to WORDS words and the number of
 * threads; all others are filled with patterns. SIZES lists the size of each argument in bytes, separated by commas.
 * Prints "same" if kernel and twin leave the same words. Then prints the sums of the replicated map of LAYOUT (struct
 * gpubpf_map_layout), in the arena that ARENA initialises.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/hip/wire/bind.h"
#include "hsa.h"
#include "maps/layout.h"

#define WORDS 65536
#define KERNARG_MAX 4096

/*
 * Patches the twin as the agent does before it loads one. Returns the offset of the launch's words in the arguments; 0:
 * none.
 */
static uint64_t bind(struct file *twin, uint64_t arena, uint64_t base)
{
	uint64_t args = 0;
	uint32_t count;
	struct hip_bind b;
	uint8_t *table;

	memcpy(&count, twin->data + twin->size - HIP_BIND_TAIL, sizeof(count));
	twin->size -= HIP_BIND_TAIL + count * sizeof(b);
	table = twin->data + twin->size;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t v;

		memcpy(&b, table + i * sizeof(b), sizeof(b));
		v = (b.what == HIP_BIND_ARENA ? arena : base) + b.addend;
		if (b.what == HIP_BIND_ARGS)
			args = b.offset;
		else if (b.part == HIP_BIND_U64)
			memcpy(twin->data + b.offset, &v, 8);
		else
			memcpy(twin->data + b.offset, (uint8_t *)&v + (b.part == HIP_BIND_HI32 ? 4 : 0), 4);
	}
	return args;
}

/* a launch, and what determines its kernel arguments */
struct call {
	struct launch launch;
	const char *sizes;
	uint8_t abi;               /* EI_ABIVERSION of the image */
};

/* Writes the hidden arguments that compilers append (AMDGPU Usage, "Kernarg Segment"). */
static void hidden_arguments(uint8_t *at, const struct call *c)
{
	for (int i = 0; c->abi >= 3 && i < 3; i++) {
		uint32_t count = c->launch.grid[i] / c->launch.block[i];
		uint16_t block = c->launch.block[i], rest = c->launch.grid[i] % c->launch.block[i];

		memcpy(at + 4 * i, &count, 4);
		memcpy(at + 12 + 2 * i, &block, 2);
		memcpy(at + 18 + 2 * i, &rest, 2);
	}
}

static void arguments(uint8_t *kernarg, const struct call *c, void *out, void *in)
{
	uint64_t first[] = { (uintptr_t)out, (uintptr_t)in, (uint64_t)c->launch.grid[0] * c->launch.grid[1] * c->launch.grid[2] };
	size_t at = 0;
	int i = 0;

	for (const char *s = c->sizes; *s; i++) {
		size_t size = strtoul(s, (char **)&s, 10), align = size % 8 == 0 ? 8 : size % 4 == 0 ? 4 : 1;

		at = (at + align - 1) / align * align;
		if (i < 3)
			memcpy(kernarg + at, &first[i], size);
		else
			for (size_t b = 0; b < size; b++)
				kernarg[at + b] = b % 4 ? 0 : 17 * i + b;
		at += size;
		s += *s == ',';
	}
	hidden_arguments(kernarg + ((at + 7) & ~7ul), c);
}

/* Launches the kernel once with newly initialised words and copies them to `result`. */
static void launch(const struct device *d, const struct kernel *k, const struct call *c, uint64_t words,
		   uint32_t *result)
{
	uint32_t *out = hsa_allocate(d, WORDS * sizeof(*out)), *in = hsa_allocate(d, WORDS * sizeof(*in));
	uint8_t *kernarg = hsa_allocate(d, KERNARG_MAX);
	uint64_t numbers[] = { 7, 42ull << 32 | 43 };

	for (uint32_t i = 0; i < WORDS; i++)
		in[i] = i * 2654435761u >> 7;
	arguments(kernarg, c, out, in);
	if (words)
		memcpy(kernarg + words, numbers, sizeof(numbers));
	hsa_run(d, k, &c->launch, kernarg);
	memcpy(result, out, WORDS * sizeof(*out));
}

static void print_sums(const uint8_t *arena, const struct gpubpf_map_layout *map)
{
	for (uint32_t i = 0; i < map->value_size / 8; i++) {
		uint64_t sum = 0, word;

		for (uint32_t c = 0; c < map->copies; c++) {
			memcpy(&word, arena + map->data + c * map->copy_stride + 8 * i, sizeof(word));
			sum += word;
		}
		printf("%llu ", (unsigned long long)sum);
	}
	printf("\n");
}

static void twin(const struct device *d, char **argv, const struct kernel *original, const struct call *c,
		 const uint32_t *expected)
{
	struct file file = hsa_read_file(argv[3]), layout = hsa_read_file(argv[4]), bytes = hsa_read_file(argv[5]);
	uint8_t *arena = hsa_allocate(d, bytes.size);
	uint32_t *words = calloc(WORDS, sizeof(*words));
	struct kernel k;
	uint64_t args;
	char name[512];

	memcpy(arena, bytes.data, bytes.size);
	args = bind(&file, (uintptr_t)arena, original->base);
	snprintf(name, sizeof(name), "gpubpf_twin_%s", argv[2]);
	k = hsa_load(d, &file, name);
	launch(d, &k, c, args, words);
	printf(memcmp(words, expected, WORDS * sizeof(*words)) ? "different\n" : "same\n");
	print_sums(arena, (const struct gpubpf_map_layout *)layout.data);
}

int main(int argc, char **argv)
{
	uint32_t *words = calloc(WORDS, sizeof(*words)), sum = 0;
	struct call c;
	struct kernel k;
	struct device d;
	struct file image;

	if (argc != 13)
		return 2;
	image = hsa_read_file(argv[1]);
	c = (struct call){ .sizes = argv[6], .abi = image.data[EI_ABIVERSION] };
	for (int i = 0; i < 3; i++) {
		c.launch.grid[i] = atoi(argv[7 + i]);
		c.launch.block[i] = atoi(argv[10 + i]);
	}
	d = hsa_open();
	k = hsa_load(&d, &image, argv[2]);
	launch(&d, &k, &c, 0, words);
	for (uint32_t i = 0; i < WORDS; i++)
		sum = sum * 31 + words[i];
	printf("words %08x\n", sum);
	if (strcmp(argv[3], "-"))
		twin(&d, argv, &k, &c, words);
	fflush(stdout);
	_exit(0); /* skips the shutdown of the HSA runtime, which may abort on a simulated device */
}
