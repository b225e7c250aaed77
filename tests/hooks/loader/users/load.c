/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load OBJECT COMMAND [PROGRAM]: a typical libbpf loader. It loads the object, attaches its programs, runs COMMAND, and
 * prints the maps. PROGRAM names an optional program that it loads too.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static int print_message(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return level == LIBBPF_DEBUG ? 0 : vfprintf(stderr, fmt, ap);
}

static struct bpf_map *find(struct bpf_object *obj, const char *part)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, obj)
		if (strstr(bpf_map__name(map), part))
			return map;
	exit(9);
}

static void set_step(struct bpf_object *obj)
{
	size_t size;
	__u64 *step = (__u64 *)bpf_map__initial_value(find(obj, ".rodata"), &size);

	if (!step || size < sizeof(*step))
		exit(8);
	*step = 3;
}

static void attach(struct bpf_object *obj)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, obj)
		if (bpf_program__autoload(prog) && !bpf_program__attach(prog))
			exit(7);
}

/* Returns the sum of a per-CPU value. *beyond becomes true if the look-up wrote past the values. */
static __u64 sum_of(int fd, bool *beyond)
{
	int cpus = libbpf_num_possible_cpus();
	__u64 *values = malloc((cpus + 64) * sizeof(*values)), sum = 0;
	__u32 key = 0;

	memset(values, 0x55, (cpus + 64) * sizeof(*values));
	if (bpf_map_lookup_elem(fd, &key, values))
		exit(6);
	for (int i = 0; i < cpus; i++)
		sum += values[i];
	*beyond = false;
	for (int i = cpus; i < cpus + 64; i++)
		*beyond |= values[i] != 0x5555555555555555;
	free(values);
	return sum;
}

static void print(struct bpf_object *obj)
{
	int fd = bpf_map__fd(find(obj, "counts")), seen = bpf_map__fd(find(obj, "seen"));
	const __u64 *total = mmap(NULL, 4096, PROT_READ, MAP_SHARED, bpf_map__fd(find(obj, ".bss")), 0);
	__u32 key, *last = NULL, keys[8], n = 8, batch = 0;
	__u64 value, values[8], sum;
	bool beyond;

	for (key = 0; key < 4; key++) {
		value = 0;
		bpf_map_lookup_elem(fd, &key, &value);
		printf("%s%llu", key ? " " : "counts ", value);
	}
	for (; !bpf_map_get_next_key(seen, last, &key); last = &key) {
		bpf_map_lookup_elem(seen, &key, &value);
		printf(" seen %u=%llu", key, value);
	}
	printf(" total %llu", total == MAP_FAILED ? 0 : *total);
	if (bpf_map_lookup_batch(seen, NULL, &batch, keys, values, &n, NULL) && errno != ENOENT)
		n = 99;
	if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, seen, 0) != MAP_FAILED)
		n = 98;
	key = 77;
	printf(" batch %u missing %s", n, bpf_map_lookup_elem(seen, &key, &value) ? strerror(errno) : "none");
	sum = sum_of(bpf_map__fd(find(obj, "split")), &beyond);
	printf(" split %llu%s\n", sum, beyond ? " and beyond" : "");
}

int main(int argc, char **argv)
{
	struct bpf_object *obj;
	int status;

	libbpf_set_print(print_message);
	obj = bpf_object__open_file(argv[1], NULL);
	if (!obj)
		return 1;
	set_step(obj);
	if (argc > 3)
		bpf_program__set_autoload(bpf_object__find_program_by_name(obj, argv[3]), true);
	if (bpf_object__load(obj))
		return 2;
	attach(obj);
	status = system(argv[2]);
	print(obj);
	bpf_object__close(obj);
	return status ? 42 : 0;
}
