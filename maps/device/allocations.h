/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helpers that search the table of the application's allocations (layout.h). hooks/device/allocations.c maintains the
 * table. The helpers read the application's memory only if the table contains its address.
 */
#ifndef GPUBPF_MAPS_ALLOCATIONS_H
#define GPUBPF_MAPS_ALLOCATIONS_H

#include "helpers.h"

/* limit of attempts to read the table; an attempt fails only if the table changes meanwhile */
#define GPUBPF_ALLOCATION_TRIES 64

struct gpubpf_allocation_words {
	u64 base, size, kind_number, stack;
};

/* Return the address of this process's table in the arena, or 0 if the process has no table. */
GPUBPF_FN u64 gpubpf_allocations(GPUBPF_ENV)
{
	u64 tables = gpubpf_header_word(env, GPUBPF_ARENA_ALLOCATION_TABLES),
	    owner = (env->pid_tgid & GPUBPF_LAUNCH_PID) >> 32, i;
	u64 table = env->arena + gpubpf_header_word(env, GPUBPF_ARENA_ALLOCATIONS);

	/*
	 * A single table is used without a comparison of the owner, because GPU kernels in a CUDA graph do not know
	 * their process.
	 */
	if (tables == 1)
		return table;
	GPUBPF_NOUNROLL
	for (i = 0; i < tables && i < GPUBPF_ALLOCATION_TABLES; i++, table += GPUBPF_ALLOCATION_TABLE)
		if (gpubpf_load_u64(table) == owner)
			return table;
	return 0;
}

/*
 * Defines a binary search in n rows, sorted by address. The result is the address of the last row whose allocation
 * begins at or before `address`. If there is no such row, the result is the address of the first row. If n is 0, the
 * result is 0.
 */
#define GPUBPF_ALLOCATION_SEARCH(name, load) \
	GPUBPF_FN u64 name(u64 rows, u64 n, u64 address) \
	{ \
		u32 left = n < GPUBPF_ALLOCATION_MAX_ROWS ? (u32)n : GPUBPF_ALLOCATION_MAX_ROWS, step; \
		u64 row = left ? rows : 0, middle; \
		GPUBPF_NOUNROLL \
		while (left > 1) { \
			step = left >> 1; \
			middle = row + (u64)step * GPUBPF_ALLOCATION_ROW; \
			row = load(middle) <= address ? middle : row; \
			left -= step; \
		} \
		return row; \
	}

GPUBPF_ALLOCATION_SEARCH(gpubpf_allocation_row, gpubpf_load_u64)

/* Find the allocation that contains the address. Returns false if there is none. */
GPUBPF_FN bool gpubpf_allocation_find(GPUBPF_ENV, u64 address, GPUBPF_PRIVATE struct gpubpf_allocation_words *found)
{
	u64 table = gpubpf_allocations(env), version, set, row;
	u32 tries;

	GPUBPF_NOUNROLL
	for (tries = 0; table && tries < GPUBPF_ALLOCATION_TRIES; tries++) {
		version = gpubpf_load_acquire_u64(table + GPUBPF_ALLOCATION_VERSION);
		set = version & 1;
		row = gpubpf_allocation_row(table + GPUBPF_ALLOCATION_ROWS + set * GPUBPF_ALLOCATION_SET,
					    gpubpf_load_u64(table + GPUBPF_ALLOCATION_COUNTS + 8 * set), address);
		found->base = row ? gpubpf_load_u64(row) : 0;
		found->size = row ? gpubpf_load_u64(row + 8) & GPUBPF_ALLOCATION_SIZE_MASK : 0;
		found->kind_number = row ? gpubpf_load_u64(row + 16) : 0;
		/* load-acquire, so that the next load of the version comes after the loads of the row */
		found->stack = row ? (u32)gpubpf_load_acquire_u64(row + 24) : 0;
		if (gpubpf_load_u64(table + GPUBPF_ALLOCATION_VERSION) == version)
			return address - found->base < found->size;
	}
	return false;
}

/*
 * Like gpubpf_allocation_find(), but loads through the multiprocessor's cache, so that not all lanes of the device load
 * the same few words from memory. The cached rows may have been loaded at different times since the GPU kernel began.
 * So a row is valid only if both of its halves have the version that was read first. False means that the result is
 * unknown, and that the caller must use gpubpf_allocation_find().
 */
#ifdef GPUBPF_HAS_CACHED_LOADS
GPUBPF_ALLOCATION_SEARCH(gpubpf_allocation_row_cached, gpubpf_load_cached_u64)

GPUBPF_FN bool gpubpf_allocation_find_cached(GPUBPF_ENV, u64 address, GPUBPF_PRIVATE struct gpubpf_allocation_words *found)
{
	u64 table = gpubpf_allocations(env), version, set, row, size, stack;

	if (!table)
		return false;
	version = gpubpf_load_cached_u64(table + GPUBPF_ALLOCATION_VERSION);
	set = version & 1;
	row = gpubpf_allocation_row_cached(table + GPUBPF_ALLOCATION_ROWS + set * GPUBPF_ALLOCATION_SET,
					   gpubpf_load_cached_u64(table + GPUBPF_ALLOCATION_COUNTS + 8 * set), address);
	if (!row)
		return false;
	gpubpf_load_cached_pair(row, &found->base, &size);
	gpubpf_load_cached_pair(row + 16, &found->kind_number, &stack);
	found->size = size & GPUBPF_ALLOCATION_SIZE_MASK;
	found->stack = (u32)stack;
	return stack >> 32 == (u32)version &&
	       (size ^ version << GPUBPF_ALLOCATION_SIZE_BITS) >> GPUBPF_ALLOCATION_SIZE_BITS == 0 &&
	       address - found->base < found->size;
}
#else
GPUBPF_FN bool gpubpf_allocation_find_cached(GPUBPF_ENV, u64 address, GPUBPF_PRIVATE struct gpubpf_allocation_words *found)
{
	return false;
}
#endif

GPUBPF_FN void gpubpf_put_word(GPUBPF_PRIVATE u8 *to, u64 word)
{
	u32 i;

	for (i = 0; i < 8; i++)
		to[i] = (u8)(word >> 8 * i);
}

/* Helper 523: copies the first `size` bytes of the row of an address's allocation, at most the whole row. */
GPUBPF_FN s64 gpubpf_helper_allocation(GPUBPF_ENV, u64 address, GPUBPF_PRIVATE u8 *to, u64 size)
{
	struct gpubpf_allocation_words found = { 0 };
	bool known = gpubpf_allocation_find_cached(env, address, &found) || gpubpf_allocation_find(env, address, &found);
	u64 i;

	if (size == GPUBPF_ALLOCATION_ROW) { /* a request for a whole row is stored word by word */
		gpubpf_put_word(to, known ? found.base : 0);
		gpubpf_put_word(to + 8, known ? found.size : 0);
		gpubpf_put_word(to + 16, known ? found.kind_number : 0);
		gpubpf_put_word(to + 24, known ? found.stack : 0);
		return known ? 0 : -GPUBPF_ENOENT;
	}
	for (i = 0; i < size; i++) {
		u64 word = i < 8 ? found.base : i < 16 ? found.size : i < 24 ? found.kind_number : found.stack;

		to[i] = known && i < GPUBPF_ALLOCATION_ROW ? word >> (i % 8 * 8) : 0;
	}
	return known ? 0 : -GPUBPF_ENOENT;
}

/*
 * Return the word for an address in the table of granules (layout.h). The word may be stale, but was read after the GPU
 * kernel began. If gpubpf_granule_knows() is true for the word, its lower half is the number of the allocation.
 */
#ifdef GPUBPF_HAS_CACHED_LOADS
GPUBPF_FN u64 gpubpf_granule_word(GPUBPF_ENV, u64 address)
{
	u64 at = env->flags & GPUBPF_ENV_GRANULES;

	if (!at)
		at = gpubpf_header_word(env, GPUBPF_ARENA_GRANULES);
	return gpubpf_load_cached_u64(env->arena + at + 8 * (GPUBPF_GRANULE(address) % GPUBPF_GRANULES));
}
#else
GPUBPF_FN u64 gpubpf_granule_word(GPUBPF_ENV, u64 address)
{
	return 0; /* 0: the word belongs to no granule */
}
#endif

GPUBPF_FN bool gpubpf_granule_knows(u64 word, u64 address)
{
	return (u32)(word >> 32) == (u32)GPUBPF_GRANULE_OWNER(GPUBPF_GRANULE(address));
}

GPUBPF_FN_NOINLINE s64 gpubpf_allocation_number_searched(u64 arena, u64 pid_tgid, u64 address)
{
	struct gpubpf_env of = { .arena = arena, .pid_tgid = pid_tgid };
	struct gpubpf_allocation_words found;

	if (gpubpf_allocation_find_cached(&of, address, &found) || gpubpf_allocation_find(&of, address, &found))
		return (s64)(found.kind_number >> 32);
	return -GPUBPF_ENOENT;
}

/*
 * Helper 526: returns the number of the allocation that contains the address. If a granule knows the number, no search
 * is needed. Otherwise all active lanes call the search together, because a loop in only some lanes would leave the
 * warp diverged.
 */
#ifdef GPUBPF_HAS_MEETING
#define GPUBPF_NO_NUMBER ((u32)-GPUBPF_ENOENT)
GPUBPF_FN_NOINLINE u32 gpubpf_allocation_number_together(u64 arena, u64 pid_tgid, u64 address, u64 word)
{
	u32 here, number = (u32)word;

	if (!gpubpf_warp_begin(&here))
		return number;
	if (!gpubpf_granule_knows(word, address))
		number = (u32)gpubpf_allocation_number_searched(arena, pid_tgid, address);
	gpubpf_warp_end(here);
	return number;
}

GPUBPF_FN s64 gpubpf_helper_allocation_number(GPUBPF_ENV, u64 address)
{
	u64 word = gpubpf_granule_word(env, address);
	u32 number = (u32)word;

	if (gpubpf_warp_any(gpubpf_warp_active(), !gpubpf_granule_knows(word, address)))
		number = gpubpf_allocation_number_together(env->arena, env->pid_tgid, address, word);
	return number == GPUBPF_NO_NUMBER ? -GPUBPF_ENOENT : (s64)number;
}
#else
GPUBPF_FN s64 gpubpf_helper_allocation_number(GPUBPF_ENV, u64 address)
{
	u64 word = gpubpf_granule_word(env, address);

	return gpubpf_granule_knows(word, address) ?
		       (s64)(u32)word :
		       gpubpf_allocation_number_searched(env->arena, env->pid_tgid, address);
}
#endif

/* Return the number of bytes from the address to the end of its allocation, or 0 if no allocation contains it. */
GPUBPF_FN u64 gpubpf_readable(GPUBPF_ENV, u64 address)
{
	struct gpubpf_allocation_words found;

	return gpubpf_allocation_find(env, address, &found) ? found.size - (address - found.base) : 0;
}

GPUBPF_FN u8 gpubpf_read_byte(u64 address)
{
	return *(volatile GPUBPF_DEVMEM const u8 *)address;
}

/*
 * Helper 4 (bpf_probe_read(), uapi/linux/bpf.h): if the bytes are not in one allocation, writes zeros and returns
 * -EFAULT.
 */
GPUBPF_FN s64 gpubpf_helper_probe_read(GPUBPF_ENV, GPUBPF_PRIVATE u8 *to, u64 size, u64 address)
{
	bool all = !size || gpubpf_readable(env, address) >= size;
	u64 i;

	for (i = 0; i < size; i++)
		to[i] = all ? gpubpf_read_byte(address + i) : 0;
	return all ? 0 : -GPUBPF_EFAULT;
}

/*
 * Helper 45 (bpf_probe_read_str()): copies a string with its NUL. A longer string is truncated to size - 1 bytes and
 * terminated. Returns the number of bytes with the NUL.
 */
GPUBPF_FN s64 gpubpf_helper_probe_read_str(GPUBPF_ENV, GPUBPF_PRIVATE u8 *to, u64 size, u64 address)
{
	u64 room = size ? gpubpf_readable(env, address) : 0, i;
	bool ended = false;

	for (i = 0; i < size && i < room && !ended; i++) {
		to[i] = i + 1 < size ? gpubpf_read_byte(address + i) : 0;
		ended = !to[i];
	}
	if (!size || ended)
		return i;
	for (i = 0; i < size; i++)
		to[i] = 0;
	return -GPUBPF_EFAULT;
}

/*
 * Helper 524: waits `ns` nanoseconds. The loop ends after `ns` reads of the clock, even if the clock does not advance.
 * A read takes longer than 1 ns, so this limit never shortens a wait.
 */
GPUBPF_FN u64 gpubpf_helper_delay(GPUBPF_ENV, u64 ns)
{
	u64 from = gpubpf_helper_ktime_get_ns(env), passed = 0, looks;

	GPUBPF_NOUNROLL
	for (looks = 0; passed < ns && looks < ns; looks++)
		passed = gpubpf_helper_ktime_get_ns(env) - from;
	return passed;
}

#define GPUBPF_SAME_READ(name, as) \
	GPUBPF_FN s64 gpubpf_helper_##name(GPUBPF_ENV, GPUBPF_PRIVATE u8 *to, u64 size, u64 address) \
	{ \
		return gpubpf_helper_##as(env, to, size, address); \
	}

GPUBPF_SAME_READ(probe_read_user, probe_read)
GPUBPF_SAME_READ(probe_read_kernel, probe_read)
GPUBPF_SAME_READ(probe_read_user_str, probe_read_str)
GPUBPF_SAME_READ(probe_read_kernel_str, probe_read_str)

#endif
