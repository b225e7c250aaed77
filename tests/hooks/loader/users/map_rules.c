/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_rules [named]: prints the results of bpf(2) and mmap(2) for maps. With `named` a GPU program uses each map, so
 * that the maps are in the session.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "putting.h"

#define PAGE 4096

static bool named;

static void print_result(const char *what, long result)
{
	printf("%s: %s\n", what, result < 0 ? strerror(errno) : "done");
}

static int make(enum bpf_map_type type, const char *name, uint32_t entries, uint32_t flags)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = flags);
	bool keyless = type == BPF_MAP_TYPE_BLOOM_FILTER;
	int map = bpf_map_create(type, name, keyless ? 0 : 4, 8, entries, &opts);
	struct code c = { .n = 0 };

	if (!named || map < 0 || keyless || flags & (BPF_F_RDONLY | BPF_F_WRONLY))
		return map;
	add_begin(&c, 0);
	add_look_up(&c, map);
	if (load_code(&c, "cuda__look") < 0)
		printf("%s: its program is refused\n", name);
	return map;
}

static void *map_pages(int map, size_t size, int rights, off_t first)
{
	return mmap(NULL, size, rights, MAP_SHARED, map, first);
}

static long is_mapped(void *at)
{
	return at == MAP_FAILED ? -1 : 0;
}

static void try_freezing(void)
{
	int map = make(BPF_MAP_TYPE_ARRAY, "frozen", 512, BPF_F_MMAPABLE);
	void *at = map_pages(map, PAGE, PROT_READ | PROT_WRITE, 0),
	     *again = map_pages(map, PAGE, PROT_READ | PROT_WRITE, 0);

	print_result("freeze, mapped twice", bpf_map_freeze(map));
	munmap(at, PAGE);
	print_result("freeze, mapped once", bpf_map_freeze(map));
	munmap(again, PAGE);
	at = map_pages(map, PAGE, PROT_READ, 0);
	print_result("freeze, mapped to be read", bpf_map_freeze(map));
	print_result("make that writable", mprotect(at, PAGE, PROT_READ | PROT_WRITE));
	print_result("map it to be written", is_mapped(map_pages(map, PAGE, PROT_READ | PROT_WRITE, 0)));
	print_result("map it to be read", is_mapped(map_pages(map, PAGE, PROT_READ, 0)));
	print_result("freeze again", bpf_map_freeze(map));
	print_result("update", bpf_map_update_elem(map, &(uint32_t){ 0 }, &(__u64){ 1 }, BPF_ANY));
}

static void try_mapping(void)
{
	int map = make(BPF_MAP_TYPE_ARRAY, "mapped", 1000, BPF_F_MMAPABLE);

	print_result("map all", is_mapped(map_pages(map, 2 * PAGE, PROT_READ | PROT_WRITE, 0)));
	print_result("map more", is_mapped(map_pages(map, 3 * PAGE, PROT_READ, 0)));
	print_result("map the second page", is_mapped(map_pages(map, PAGE, PROT_READ, PAGE)));
	print_result("map two from there", is_mapped(map_pages(map, 2 * PAGE, PROT_READ, PAGE)));
	print_result("map the third", is_mapped(map_pages(map, PAGE, PROT_READ, 2 * PAGE)));
}

static void try_flags(void)
{
	int reads = make(BPF_MAP_TYPE_ARRAY, "reads", 4, BPF_F_RDONLY),
	    writes = make(BPF_MAP_TYPE_ARRAY, "writes", 4, BPF_F_WRONLY);
	uint32_t key = 1, next;
	__u64 value = 7;

	print_result("update, to be read", bpf_map_update_elem(reads, &key, &value, 0));
	print_result("look up, to be read", bpf_map_lookup_elem(reads, &key, &value));
	print_result("freeze, to be read", bpf_map_freeze(reads));
	print_result("update, to be written", bpf_map_update_elem(writes, &key, &value, 0));
	print_result("look up, to be written", bpf_map_lookup_elem(writes, &key, &value));
	print_result("next key, to be written", bpf_map_get_next_key(writes, NULL, &next));
	print_result("both", make(BPF_MAP_TYPE_ARRAY, "both", 4, BPF_F_RDONLY | BPF_F_WRONLY));
	print_result("unallocated array", make(BPF_MAP_TYPE_ARRAY, "lazy", 4, BPF_F_NO_PREALLOC));
}

static void try_batch(enum bpf_map_type type, const char *name, uint32_t n)
{
	uint32_t keys[16], position, count = n;
	int map = make(type, name, 6, 0);
	__u64 values[16];

	for (uint32_t key = 0; key < 3; key++)
		bpf_map_update_elem(map, &key, &(__u64){ 1 }, BPF_ANY);
	print_result(name, bpf_map_lookup_batch(map, NULL, &position, keys, values, &count, NULL));
	printf("of %u: %u\n", n, count);
}

static void try_elements(void)
{
	int bloom = make(BPF_MAP_TYPE_BLOOM_FILTER, "bloom", 100, 0), inner = make(BPF_MAP_TYPE_ARRAY, "inner", 4, 0),
	    bad = 1000;
	LIBBPF_OPTS(bpf_map_create_opts, opts, .inner_map_fd = (uint32_t)inner);
	int outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "outer", 4, 4, 2, &opts);
	__u64 value = 4;

	print_result("put into a bloom filter", bpf_map_update_elem(bloom, NULL, &value, 0));
	print_result("it is there", bpf_map_lookup_elem(bloom, NULL, &value));
	print_result("no descriptor into a map of maps", bpf_map_update_elem(outer, &(uint32_t){ 0 }, &bad, 0));
	print_result("none at all", bpf_map_update_elem(outer, &(uint32_t){ 0 }, &(int){ -1 }, 0));
}

/* Try ids that no object has. */
static void try_ids(void)
{
	print_result("a map by id 0", bpf_map_get_fd_by_id(0));
	print_result("a program by id 0", bpf_prog_get_fd_by_id(0));
	print_result("a btf by id 0", bpf_btf_get_fd_by_id(0));
	print_result("a link by id 0", bpf_link_get_fd_by_id(0));
	print_result("a map by the last id", bpf_map_get_fd_by_id(INT32_MAX));
}

int main(int argc, char **argv)
{
	(void)argv;
	named = argc > 1;
	print_result("a blank", make(BPF_MAP_TYPE_HASH, "bad name", 8, 0));
	print_result("a slash", make(BPF_MAP_TYPE_HASH, "bad/name", 8, 0));
	print_result("letters", make(BPF_MAP_TYPE_HASH, "good.name_1", 8, 0));
	try_freezing();
	try_mapping();
	try_flags();
	try_batch(BPF_MAP_TYPE_HASH, "hash", 16);
	try_batch(BPF_MAP_TYPE_ARRAY, "array", 6);
	try_batch(BPF_MAP_TYPE_ARRAY, "array", 16);
	try_elements();
	try_ids();
	return 0;
}
