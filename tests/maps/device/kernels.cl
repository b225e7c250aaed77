/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU kernels that device.c launches. Each work-item performs one operation on map 0, or on both maps, of the arena.
 * These kernels read the maps' layouts from the arena; in twins, layouts are constants.
 */
#include "maps/device/devlib.cl"

#define LAYOUT_PASS(l) (l)->flags, (l)->key_size, (l)->value_size, (l)->max_entries, (l)->copies, \
	(l)->ctl, (l)->data, (l)->stride, (l)->copy_stride
#define MAP(i) LAYOUT_PASS((__global const struct gpubpf_map_layout *)(arena + GPUBPF_ARENA_MAPS) + (i))
#define ITEM \
	struct gpubpf_env env_ = { .arena = (u64)arena, .launch = 7, .pid_tgid = 9, .kernel_id = 3 }; \
	__private const struct gpubpf_env *env = &env_; \
	u32 i = (u32)gpubpf_ctx_global_linear(0)
#define BYTES(x) ((__private u8 *)&(x))

#ifdef GPUBPF_BITCODE
u64 gpubpf_clock_read(void)
{
	return 12345;
}
#endif

__kernel void count(__global uchar *arena, uint n, __global ulong *out)
{
	ITEM;
	u32 key = n ? i % n : 0;
	u64 address = gpubpf_array_lookup(env, MAP(0), BYTES(key));

	if (address)
		gpubpf_atomic_add_warp_u64(address, 1);
}

__kernel void count4(__global uchar *arena, uint n, __global ulong *out)
{
	ITEM;
	u32 key = i % n;
	u64 address = gpubpf_array_lookup(env, MAP(0), BYTES(key));

	if (address)
		gpubpf_atomic_add_warp_u32(address + 4, i & 3);
}

/*
 * Typical code of a probe adds 1 to a value. If the key is absent it inserts 1, or adds if another work-item was first.
 */
__kernel void hash_count(__global uchar *arena, uint n, __global ulong *out)
{
	ITEM;
	u32 key = i % n;
	u64 one = 1, address = gpubpf_hash_lookup(env, MAP(0), BYTES(key));

	if (!address && gpubpf_hash_update(env, MAP(0), BYTES(key), BYTES(one), GPUBPF_NOEXIST) == 0)
		return;
	if (!address)
		address = gpubpf_hash_lookup(env, MAP(0), BYTES(key));
	if (address)
		gpubpf_atomic_add_warp_u64(address, 1);
}

struct wide {
	u64 a, b, c;
};

/* out[0] counts insertions, out[1] refusals because the map is full, and out[2] other errors. */
__kernel void hash_fill(__global uchar *arena, uint n, __global ulong *out)
{
	ITEM;
	struct wide key = { .a = i % n, .b = 77, .c = (u64)(i % n) << 40 };
	u64 value = i % n;
	s64 ret = gpubpf_hash_update(env, MAP(0), BYTES(key), BYTES(value), GPUBPF_ANY);

	gpubpf_add_u64((u64)(out + (ret == 0 ? 0 : ret == -GPUBPF_E2BIG ? 1 : 2)), 1);
}

/*
 * All work-items insert, look up, update and delete the same few keys. Counted are insertions in out[0], deletions in
 * out[1], wrong results in out[2], and timeouts of a lock in out[3].
 */
__kernel void hash_churn(__global uchar *arena, uint n, __global ulong *out)
{
	ITEM;
	struct wide key = { .a = (i * 2654435761u) % n, .b = 5, .c = 6 };
	u64 value = key.a, address;
	u32 round;
	s64 ret;

	for (round = 0; round < 4; round++) {
		ret = gpubpf_hash_update(env, MAP(0), BYTES(key), BYTES(value), GPUBPF_NOEXIST);
		if (ret == 0)
			gpubpf_add_u64((u64)out, 1);
		else if (ret != -GPUBPF_EEXIST && ret != -GPUBPF_E2BIG)
			gpubpf_add_u64((u64)(out + (ret == -GPUBPF_EBUSY ? 3 : 2)), 1);
		address = gpubpf_hash_lookup(env, MAP(0), BYTES(key));
		if (address && gpubpf_hash_update(env, MAP(0), BYTES(key), BYTES(value), GPUBPF_EXIST) == -GPUBPF_EBUSY)
			gpubpf_add_u64((u64)(out + 3), 1);
		ret = gpubpf_hash_delete(env, MAP(0), BYTES(key));
		if (ret == 0)
			gpubpf_add_u64((u64)(out + 1), 1);
		else if (ret != -GPUBPF_ENOENT)
			gpubpf_add_u64((u64)(out + (ret == -GPUBPF_EBUSY ? 3 : 2)), 1);
		key.a = (key.a * 5 + round) % n;
		value = key.a;
	}
}

struct queued {
	u64 item, check;
	u32 odd;
};

/*
 * Push, peek and pop a value, four times. The sum of pushed values is in out[0], the sum of popped values in out[1].
 * Wrong results are counted in out[2], and timeouts in out[3].
 */
#define QUEUE_CHURN(kind) \
	__kernel void kind##_churn(__global uchar *arena, uint n, __global ulong *out) \
	{ \
		ITEM; \
		u32 round; \
\
		for (round = 0; round < 4; round++) { \
			struct queued in = { .item = i * 4 + round + 1, .check = ~(u64)(i * 4 + round + 1), .odd = i }, got; \
			s64 put = gpubpf_##kind##_push(env, MAP(0), BYTES(in), n), took; \
			s64 look = gpubpf_##kind##_peek(env, MAP(0), BYTES(got)); \
\
			if (put == 0) \
				gpubpf_add_u64((u64)out, in.item); \
			if (look == 0 && (got.check != ~got.item || got.odd != (u32)((got.item - 1) / 4))) \
				gpubpf_add_u64((u64)(out + 2), 1); \
			took = gpubpf_##kind##_pop(env, MAP(0), BYTES(got)); \
			if (took == 0) \
				gpubpf_add_u64((u64)(out + 1), got.item); \
			if (took == 0 ? got.check != ~got.item || got.odd != (u32)((got.item - 1) / 4) : got.item || got.odd) \
				gpubpf_add_u64((u64)(out + 2), 1); \
			if (put == -GPUBPF_EBUSY || look == -GPUBPF_EBUSY || took == -GPUBPF_EBUSY) \
				gpubpf_add_u64((u64)(out + 3), 1); \
		} \
	}

QUEUE_CHURN(queue)
QUEUE_CHURN(stack)

/* out[0] counts pushed values, out[1] refusals because the queue is full, out[2] other errors, and out[3] timeouts. */
__kernel void queue_fill(__global uchar *arena, uint n, __global ulong *out)
{
	ITEM;
	struct queued in = { .item = i + 1, .check = ~(u64)(i + 1), .odd = i };
	s64 ret = gpubpf_queue_push(env, MAP(0), BYTES(in), n);

	gpubpf_add_u64((u64)(out + (ret == 0 ? 0 : ret == -GPUBPF_E2BIG ? 1 : ret == -GPUBPF_EBUSY ? 3 : 2)), 1);
}

/* out[0]: failed pushes and missing pushed values; out[1]: false positives */
__kernel void bloom_fill(__global uchar *arena, uint n, __global ulong *out)
{
	ITEM;
	struct queued in = { .item = i, .check = ~(u64)i, .odd = i };

	if (gpubpf_bloom_push(env, MAP(0), BYTES(in), GPUBPF_ANY) || gpubpf_bloom_peek(env, MAP(0), BYTES(in)))
		gpubpf_add_u64((u64)out, 1);
	in.odd = i + 1;
	if (gpubpf_bloom_peek(env, MAP(0), BYTES(in)) == 0)
		gpubpf_add_u64((u64)(out + 1), 1);
}

struct prefix {
	u32 length;
	u8 bits[16];
};

/*
 * Each work-item inserts a prefix of 4 bits and one of 128 bits. Both start with the low byte of the item's number. It
 * looks up both and deletes the longer one if its number is odd. out[0] counts wrong results, and out[1] timeouts and
 * aborted walks.
 */
__kernel void lpm_churn(__global uchar *arena, uint n, __global ulong *out)
{
	ITEM;
	struct prefix key = { .length = 4, .bits = { (u8)i } };
	u64 value = i & 0xf0, address;
	u32 round, wrong = 0, busy = 0;
	s64 ret;

	for (round = 0; round < 2; round++) {
		ret = gpubpf_lpm_update(env, MAP(0), BYTES(key), BYTES(value), GPUBPF_ANY);
		busy += ret == -GPUBPF_EBUSY;
		wrong += ret != 0 && ret != -GPUBPF_EBUSY;
		key.length = 128;
		value = i & 0xff;
	}
	address = gpubpf_lpm_lookup(env, MAP(0), BYTES(key));
	busy += !address;
	/* an odd item's prefix may already be deleted and its element reused */
	wrong += address && !(i & 1) && gpubpf_load_u64(address) != value;
	key.bits[15] = 1;
	address = gpubpf_lpm_lookup(env, MAP(0), BYTES(key));
	busy += !address;
	wrong += address && gpubpf_load_u64(address) != (i & 0xf0);
	key.bits[15] = 0;
	ret = i & 1 ? gpubpf_lpm_delete(env, MAP(0), BYTES(key)) : 0;
	busy += ret == -GPUBPF_EBUSY;
	wrong += ret != 0 && ret != -GPUBPF_EBUSY && ret != -GPUBPF_ENOENT;
	key.length = 129;
	wrong += gpubpf_lpm_lookup(env, MAP(0), BYTES(key)) != 0;
	gpubpf_add_u64((u64)out, wrong);
	gpubpf_add_u64((u64)(out + 1), busy);
}

struct event {
	u64 item;
	u32 check, pad;
	u64 launch;
};

__kernel void ring_output(__global uchar *arena, uint n, __global ulong *out)
{
	ITEM;
	struct event event = { .item = i, .check = ~i, .launch = 7 };

	if (gpubpf_ring_output(env, MAP(0), BYTES(event), n) != 0)
		gpubpf_add_u64((u64)out, 1);
}

/* Each work-item reserves a record; the sizes differ. It discards every third one. */
__kernel void ring_reserve(__global uchar *arena, uint n, __global ulong *out)
{
	ITEM;
	u64 record = gpubpf_ring_reserve(env, MAP(0), 8 + 8 * (i % 4));

	if (!record) {
		gpubpf_add_u64((u64)out, 1);
		return;
	}
	gpubpf_store_u64(record, i);
	if (i % 3 == 0)
		gpubpf_helper_ringbuf_discard(env, record, 0);
	else
		gpubpf_helper_ringbuf_submit(env, record, 0);
}

__kernel void per_thread(__global uchar *arena, uint n, __global ulong *out)
{
	ITEM;
	u32 key = 1;
	u64 address = gpubpf_thread_array_lookup(env, MAP(0), BYTES(key));

	if (address)
		gpubpf_store_u64(address, gpubpf_load_u64(address) + i + 1);
	else
		gpubpf_add_u64((u64)out, 1);
}

__kernel void print(__global uchar *arena, uint n, __global ulong *out)
{
	ITEM;
	u8 fmt[20] = "item %d of %lx\n";
	u8 text[8] = "hello";

	if (i % n == 0)
		gpubpf_helper_trace_printk(env, MAP(GPUBPF_ARENA_ROWS - 1), 0, fmt, 16, i, 0x123456789abul, 0);
	if (i % n == 1)
		gpubpf_helper_puts(env, MAP(GPUBPF_ARENA_ROWS - 1), 0, text, 8);
}

/*
 * out[0] to out[2]: sums of coordinates, which the host also computes; out[3]: work-items with inconsistent coordinates
 */
__kernel void coordinates(__global uchar *arena, uint n, __global ulong *out)
{
	ITEM;
	u64 x, y, z, dx, dy, dz, gx, gy, gz, bx, by, bz;
	u32 bad;

	gpubpf_helper_get_thread_idx(env, &x, &y, &z);
	gpubpf_helper_get_block_dim(env, &dx, &dy, &dz);
	gpubpf_helper_get_block_idx(env, &bx, &by, &bz);
	gpubpf_helper_get_grid_dim(env, &gx, &gy, &gz);
	bad = x >= dx || y >= dy || z >= dz || bx >= gx || by >= gy || bz >= gz;
	bad |= bx * dx + x != gpubpf_ctx_global_id(0) - gpubpf_ctx_global_offset(0);
	bad |= gpubpf_ctx_work_dim(0) != 3 || gpubpf_helper_get_sm_id(env) >= n;
	bad |= gpubpf_helper_get_current_pid_tgid(env) != 9;
	gpubpf_add_u64((u64)out, i);
	gpubpf_add_u64((u64)(out + 1), gpubpf_ctx_global_id(1));
	gpubpf_add_u64((u64)(out + 2), gpubpf_helper_get_prandom_u32(env) & 1);
	gpubpf_add_u64((u64)(out + 3), bad);
}

/* the clock in ns, converted with the factors in the arena's header */
__kernel void clock_ns(__global uchar *arena, uint n, __global ulong *out)
{
	ITEM;

	out[0] = gpubpf_helper_ktime_get_ns(env);
}
