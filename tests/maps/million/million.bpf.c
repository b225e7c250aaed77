/* SPDX-License-Identifier: Apache-2.0 */
/* Each of a million lanes performs one operation on its own key of a table of -DTYPE, in any number of launches. */
#include <gpubpf/probe.h>

#include "million.h"

#define BUSY (-16)

#ifdef PREFIXES
struct key {
	__u32 length, bits;
};
struct {
	__uint(type, TYPE);
	__uint(max_entries, ROOM);
	__uint(map_flags, 1); /* BPF_F_NO_PREALLOC */
	__type(key, struct key);
	__type(value, __u64);
} table SEC(".maps");
#else
GPUBPF_MAP(table, TYPE, __u32, __u64, ROOM);
#endif
GPUBPF_ARRAY(done, __u32, ROOM);
GPUBPF_ARRAY(failed, __u64, 1);

#ifdef COPIES
#define SET_FLAGS BPF_NOEXIST /* NOEXIST: another multiprocessor must not insert a second value for the key */
#else
#define SET_FLAGS BPF_ANY
#endif

/* Repeat the update while it fails because the holder of a lock was preempted. */
static __always_inline long set(void *key, __u64 value, __u64 flags)
{
	long err = BUSY;

	for (int n = 0; n < 100 && err == BUSY; n++)
		err = bpf_map_update_elem(&table, key, &value, flags);
	return err;
}

#ifdef PREFIXES /* programs never delete from this type, since other lanes may still read a freed element */
static __always_inline long work(void *key, __u32 i)
{
	enum lane_does what = lane_does(i);

	return what == LANE_SETS || what == LANE_REPLACES ? set(key, mixed(i) & 0xffff, BPF_ANY) : 0;
}
#else
static __always_inline long erase(void *key)
{
	long err = BUSY;

	for (int n = 0; n < 100 && err == BUSY; n++)
		err = bpf_map_delete_elem(&table, key);
	return err;
}

static __always_inline long add(void *key)
{
	__u64 *value = bpf_map_lookup_elem(&table, key);

	if (value)
		__sync_fetch_and_add(value, 5);
	return 0;
}

static __always_inline long work(void *key, __u32 i)
{
	enum lane_does what = lane_does(i);
	long err = 0;

	if (what == LANE_ADDS)
		return add(key);
	if (what == LANE_DELETES || what == LANE_REPLACES)
		err = erase(key);
	if (what == LANE_DELETES || (err && err != -2))
		return err == -2 ? 0 : err;
	err = set(key, mixed(i) & 0xffff, what == LANE_SETS ? SET_FLAGS : BPF_NOEXIST);
	return err == -17 && what == LANE_SETS ? 0 : err;
}
#endif

SEC("gpu/exit/*")
int million(struct gpubpf_ctx *ctx)
{
	__u32 i = (__u32)ctx->global_id[0], *once = bpf_map_lookup_elem(&done, &i);

	if (i >= MILLION || !once || __sync_lock_test_and_set(once, 1))
		return 0;
#ifdef PREFIXES
	struct key key = { length_of(i), __builtin_bswap32(prefix_of(i)) };

	if (i < SHORT)
		return 0;
#else
	__u32 key = number_of(i);
#endif
	if (work(&key, i))
		gpubpf_add(&failed, 0, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
