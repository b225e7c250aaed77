/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named OBJECT COMMAND: a loader that stores programs and maps in maps, before and after it attaches its programs.
 * After each step it runs COMMAND and prints the counts. It prints a line for each difference from the Linux kernel.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static struct bpf_object *obj;
static int wrong;

static void check(const char *what, int is)
{
	if (!is)
		printf("%s: %m\n", what);
	wrong |= !is;
}

static int map(const char *name)
{
	return bpf_object__find_map_fd_by_name(obj, name);
}

static int prog(const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(obj, name));
}

static int store_fd(const char *name, const void *key, int fd)
{
	return bpf_map_update_elem(map(name), key, &fd, BPF_ANY);
}

static int store_prog(__u32 slot, const char *name)
{
	return store_fd("jumps", &slot, prog(name));
}

static int inner(const char *name, __u32 entries)
{
	return bpf_map_create(BPF_MAP_TYPE_ARRAY, name, 4, 8, entries, NULL);
}

static __u64 value_of(int fd, __u32 key)
{
	__u64 value = 0;

	bpf_map_lookup_elem(fd, &key, &value);
	return value;
}

/* Returns true if the slot of the outer map holds this map, by the id that a look-up returns. */
static int is_map(const char *outer, const void *key, int fd)
{
	struct bpf_map_info a = { 0 };
	__u32 id = 0, size = sizeof(a);
	int by_id;

	if (bpf_map_lookup_elem(map(outer), key, &id) || bpf_obj_get_info_by_fd(fd, &a, &size) || a.id != id)
		return 0;
	by_id = bpf_map_get_fd_by_id(id);
	close(by_id);
	return by_id >= 0;
}

static int is_prog(__u32 slot, const char *name)
{
	struct bpf_prog_info info = { 0 };
	__u32 id = 0, size = sizeof(info);

	return !bpf_map_lookup_elem(map("jumps"), &slot, &id) && !bpf_obj_get_info_by_fd(prog(name), &info, &size) && info.id == id;
}

static void step(const char *what, const char *command, const int *inners, int n)
{
	if (system(command) < 0)
		wrong = 1;
	printf("%s:", what);
	for (__u32 i = 0; i < 4; i++)
		printf(" %llu", value_of(map("came"), i));
	printf(" maps %llu", value_of(map("first"), 0));
	for (int i = 0; i < n; i++)
		printf(" %llu", value_of(inners[i], 0));
	printf("\n");
	fflush(stdout);
}

static void refusals(void)
{
	int larger = inner("larger", 2), hash = bpf_map_create(BPF_MAP_TYPE_HASH, "hash", 4, 8, 1, NULL);
	__u32 behind = 99, slot = 2, id;
	__u64 key = 1, next;

	check("a slot behind the end", store_prog(behind, "cuda__one") && errno == E2BIG);
	check("no program", store_fd("jumps", &slot, hash) && errno == EINVAL);
	check("no map", store_fd("listed", &slot, 0) && (errno == EINVAL || errno == EBADF));
	check("one of another type", store_fd("listed", &slot, hash) && errno == EINVAL);
	check("one of another size", store_fd("listed", &slot, larger) && errno == EINVAL);
	check("an empty slot has nothing", bpf_map_lookup_elem(map("listed"), &slot, &id) && errno == ENOENT);
	check("and is not deleted", bpf_map_delete_elem(map("listed"), &slot) && errno == ENOENT);
	check("an array has all its keys", !bpf_map_get_next_key(map("jumps"), &slot, &slot) && slot == 3);
	check("and an end", bpf_map_get_next_key(map("jumps"), &slot, &slot) && errno == ENOENT);
	check("a hash has its own", !bpf_map_get_next_key(map("keyed"), NULL, &next) && next == 7);
	check("and no other", bpf_map_get_next_key(map("keyed"), &next, &next) && errno == ENOENT);
	check("a key that is there", bpf_map_update_elem(map("keyed"), &next, &larger, BPF_NOEXIST));
	check("a key that is not", bpf_map_delete_elem(map("keyed"), &key) && errno == ENOENT);
	close(larger);
	close(hash);
}

int main(int argc, char **argv)
{
	int inners[3] = { inner("second", 1), inner("third", 1), inner("fourth", 1) };
	__u32 slots[3] = { 0, 1, 2 };
	__u64 seven = 7;

	obj = bpf_object__open_file(argv[1], NULL);
	if (!obj || bpf_object__load(obj))
		return 2;
	check("a map by its definition", is_map("listed", &slots[0], map("first")));
	check("a program by its definition", is_prog(1, "cuda__one"));
	check("a map before", !store_fd("listed", &slots[1], inners[0]) && is_map("listed", &slots[1], inners[0]));
	check("and one by a key", !store_fd("keyed", &seven, inners[1]) && is_map("keyed", &seven, inners[1]));
	if (!bpf_program__attach(bpf_object__find_program_by_name(obj, "cuda__enter")))
		return 3;
	step("before", argv[2], inners, 3);
	check("a program after", !store_prog(2, "cuda__two") && is_prog(2, "cuda__two"));
	check("a map after", !store_fd("listed", &slots[2], inners[2]) && is_map("listed", &slots[2], inners[2]));
	step("after", argv[2], inners, 3);
	check("others", !store_prog(2, "cuda__three") && !store_fd("keyed", &seven, inners[0]));
	check("none", !bpf_map_delete_elem(map("listed"), &slots[2]));
	step("others", argv[2], inners, 3);
	check("no program any more", !bpf_map_delete_elem(map("jumps"), &slots[1]));
	check("and no map", !bpf_map_delete_elem(map("keyed"), &seven));
	step("none", argv[2], inners, 3);
	store_fd("keyed", &seven, inners[1]);
	refusals();
	if (argc > 3)
		wrong |= system(argv[3]) != 0;
	bpf_object__close(obj);
	return wrong;
}
