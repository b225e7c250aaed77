/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An address that a look-up returned stays valid after the deletion of its key. It still points to a value of the map,
 * and to the value of the next key that reuses the element. The interpreter and the Linux kernel with its preallocated
 * hash tables must agree.
 */
#include "both.h"

/* `deletes` and `inserts` select the operations between the program's two reads, which store `before` and `after` */
struct told {
	uint64_t deletes, inserts;
	uint64_t before, after;
};

/*
 * The program: it reads the value at one address twice, before the deletion of key 1 and after the insertion of another
 * key.
 */
static const char text[] =
	"*(u32 *)(r10 -4) = 0\n r2 = r10\n r2 += -4\n r1 = map[map0]\n call map_lookup_elem\n if r0 == 0 goto none\n r6 = r0\n"
	"*(u64 *)(r10 -16) = 1\n *(u64 *)(r10 -24) = 2\n *(u64 *)(r10 -32) = 222\n"
	"r2 = r10\n r2 += -16\n r1 = map[map1]\n call map_lookup_elem\n if r0 == 0 goto none\n r7 = r0\n"
	"r1 = *(u64 *)(r7 +0)\n *(u64 *)(r6 +16) = r1\n"
	"r1 = *(u64 *)(r6 +0)\n if r1 == 0 goto keep\n r2 = r10\n r2 += -16\n r1 = map[map1]\n call map_delete_elem\n"
	"keep:\n r1 = *(u64 *)(r6 +8)\n if r1 == 0 goto seen\n"
	"r2 = r10\n r2 += -24\n r3 = r10\n r3 += -32\n r4 = 0\n r1 = map[map1]\n call map_update_elem\n"
	"seen:\n r1 = *(u64 *)(r7 +0)\n *(u64 *)(r6 +24) = r1\n"
	"none:\n r0 = 0\n exit\n";

static void set_or_delete(struct both *b, uint64_t key, uint64_t value, bool there)
{
	if (there)
		gpubpf_map_update(&b->f.view[1], &key, &value, 0);
	else
		gpubpf_map_delete(&b->f.view[1], &key);
	if (b->prog >= 0)
		both_kernel(there ? BPF_MAP_UPDATE_ELEM : BPF_MAP_DELETE_ELEM, b->kernel.fds[1], &key, there ? &value : NULL);
}

/*
 * Run the program on a table with space for only one more key. Therefore the next insertion reuses the deleted element.
 */
static bool run(struct both *b, bool deletes, bool inserts, uint64_t *after, uint64_t *kernels)
{
	struct told ours = { .deletes = deletes, .inserts = inserts }, its = ours;

	set_or_delete(b, 2, 0, false);
	set_or_delete(b, 1, 111, true);
	if (!both_run_ours(b, &ours) || (b->prog >= 0 && !both_run_kernels(b, &its)))
		return false;
	*after = ours.after;
	*kernels = b->prog >= 0 ? its.after : ours.after;
	return ours.before == 111;
}

int main(void)
{
	static struct both b;
	uint64_t ours = 0, kernels = 0;
	bool good;

	fixture_begin(&b.f);
	fixture_map(&b.f, BPF_MAP_TYPE_ARRAY, 4, sizeof(struct told), 1, BOTH_ARGUMENT_USE);
	fixture_map(&b.f, BPF_MAP_TYPE_HASH, 8, 8, 1, GPUBPF_USE_LOOKUP | GPUBPF_USE_READ | GPUBPF_USE_UPDATE | GPUBPF_USE_DELETE);
	if (!ok(both_begin(&b, text), "a program that keeps the address of a value"))
		return done();
	ok(run(&b, false, false, &ours, &kernels) && ours == 111 && kernels == 111, "nothing is done: the value");
	ok(run(&b, true, false, &ours, &kernels) && ours == 111 && kernels == 111, "its key is deleted: the value stays where it is");
	good = run(&b, true, true, &ours, &kernels) && ours == 222;
	ok(good, "and another key is put in, which takes the element: its value, %llu", (unsigned long long)ours);
	if (b.prog < 0)
		skip("the Linux kernel's", "bpf(2) is not allowed");
	else
		ok(good && kernels == ours, "the Linux kernel's: %llu", (unsigned long long)kernels);
	both_end(&b);
	return done();
}
