/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena: the one piece of memory that holds all maps of a session on one device. Tool, agent, twin and interpreter
 * see the same bytes, at the offsets that gpubpf_layout_compute() assigns to each map. The offsets are constants when a
 * twin is compiled. The header below serves readers that have only the bytes.
 *
 * The tool creates the arena as a memfd and initialises it. Where the device can work on host memory (CPU devices,
 * fine-grained memory), the memfd *is* the device's memory. Otherwise the agent keeps a copy in device memory, empties
 * rings continuously and copies maps back (maps/host/mirror.h); the tool reads the memfd as a mirror. A twin needs only the
 * arena's address. The address is an extra kernel argument in OpenCL and Level Zero, and a variable of the twin in CUDA
 * and HIP.
 *
 * Maps with another placement than the device's memory (core/wire/placements.def) have offsets after the device's part,
 * and separate memory. In the device's copy of the table, their ctl and data are addresses, which programs read there.
 * Such memory either belongs to the mirror (LIVE), or the agent copies from it.
 *
 * Maps never move. Each object that joins a session later gets a segment after the last one, in reserved room. Nothing
 * that twins were compiled with changes.
 *
 * The device library includes this file too: only fixed-width members, natural alignment, no pointers.
 */
#ifndef GPUBPF_MAPS_LAYOUT_H
#define GPUBPF_MAPS_LAYOUT_H

#include "maps/device/devlib_types.h" /* u8 u16 u32 u64 s32 s64 on the host and in OpenCL C */

#define GPUBPF_ARENA_MAGIC 0x616e657261667062ull /* "bpfarena" */
#define GPUBPF_ARENA_VERSION 8
#define GPUBPF_ARENA_ALIGN 4096
#define GPUBPF_REPLICA_ALIGN 128 /* alignment in bytes of copies that different multiprocessors write: a cache line */

struct gpubpf_arena_hdr { /* at arena offset 0; 256 bytes */
	u64 magic;
	u32 version;
	u32 nmaps;
	u64 size;        /* size of the arena in bytes, including room for later segments */
	u64 layout_hash; /* hash of all layouts: a twin must not run on an arena with another hash */
	u64 maps_off;    /* arena offset of struct gpubpf_map_layout[GPUBPF_ARENA_ROWS]; the first nmaps rows
				  * are valid */
	u64 base;        /* device address of the arena, written by the agent */
	u32 replicas;    /* number of copies that multiprocessors write to; greater than any result of helper
				  * 509 */
	u32 threads;     /* number of threads for which per-thread maps have room */
	/*
	 * CLOCK_MONOTONIC in ns = clock_ns + (cycles - clock_cycles) * clock_mult / 2^32. clock_mult is 2^32 if cycles
	 * are ns, and 0 until the agent has calibrated the clock.
	 */
	u64 clock_cycles, clock_ns, clock_mult;
	u64 clock_error_ns; /* largest measured uncertainty of the calibration, in ns */
	u64 thread_drops;   /* number of look-ups in per-thread maps by threads beyond `threads` */
	u64 print_ring;     /* arena offset of the print ring's layout; 0: none */
	u64 used;           /* end of the last segment, in bytes; no later byte is in use */
	/* end of the segments that a device with separate memory has, in bytes; the agent writes it */
	u64 filled;
	/* arena offset of the first table of the application's allocations; 0: no program uses them */
	u64 allocations;
	u64 allocation_tables; /* number of these tables */
	u64 own;               /* bytes of the arena that are in the device's memory; each map after them has
				  * separate memory */
	u64 given;             /* number of rows whose maps agents may copy to devices; the tool writes it */
	u64 granules;          /* arena offset of the table of granules; 0: no program uses allocations */
	u64 unix_ns;           /* CLOCK_REALTIME minus CLOCK_MONOTONIC, in ns */
	u64 pad[11];
};

#define GPUBPF_ARENA_IS_VERSION 8     /* below: offsets of members that the device library reads */
#define GPUBPF_ARENA_REPLICAS 48
#define GPUBPF_ARENA_CLOCK 56
#define GPUBPF_ARENA_THREAD_DROPS 88
#define GPUBPF_ARENA_ALLOCATIONS 120
#define GPUBPF_ARENA_ALLOCATION_TABLES 128
#define GPUBPF_ARENA_GRANULES 152
#define GPUBPF_ARENA_UNIX 160

/*
 * After the header: the counters from which helper 7 draws numbers, one per line. A multiprocessor uses the line of its
 * id modulo the number of counters.
 */
#define GPUBPF_ARENA_RNG 256
#define GPUBPF_ARENA_RNG_COPIES 32
#define GPUBPF_ARENA_MAPS (GPUBPF_ARENA_RNG + GPUBPF_ARENA_RNG_COPIES * GPUBPF_REPLICA_ALIGN)
#define GPUBPF_ARENA_ROWS 257 /* maximum number of maps of a unit, plus one row for the print ring */
#define GPUBPF_ARENA_PRINTS (GPUBPF_ARENA_MAPS + (GPUBPF_ARENA_ROWS - 1) * 64)
#define GPUBPF_ARENA_DATA (GPUBPF_ARENA_MAPS + GPUBPF_ARENA_ROWS * 64) /* the first segment */

/* The location of a map. Each map type's file explains ctl, data, stride and copy_stride. */
struct gpubpf_map_layout {
	u32 type;  /* BPF_MAP_TYPE_* or 1501.. */
	u32 flags; /* enum gpubpf_layout_flags */
	u32 key_size, value_size;
	u32 max_entries;
	u32 copies;      /* number of replicas, of threads, or 1 */
	u64 ctl;         /* arena offset of control words: buckets, heads, counters */
	u64 data;        /* arena offset of values, elements or records: see the file of the map's type */
	u64 stride;      /* bytes from one value (element) to the next */
	u64 copy_stride; /* bytes from one copy to the next */
	/*
	 * bytes from ctl to the end of data. If several maps share their copies (GPUBPF_LAYOUT_INTERLEAVED), the first
	 * map has the size of all, and the others have 0.
	 */
	u64 size;
};

enum gpubpf_layout_flags {
	GPUBPF_LAYOUT_SUM8 = 1 << 0, /* each multiprocessor has a copy; a reader sums them as u64s */
	GPUBPF_LAYOUT_SUM4 = 1 << 1, /* each multiprocessor has a copy; a reader sums them as u32s */
	GPUBPF_LAYOUT_RDONLY = 1 << 2,
	GPUBPF_LAYOUT_DELETES = 1 << 3, /* a device program deletes keys, so an update in place must pin the element */
	GPUBPF_LAYOUT_PERF = 1 << 4,    /* a full ring returns -ENOSPC (helper 25), not -EAGAIN (helper 130) */
	GPUBPF_LAYOUT_COPIES = 1 << 5,  /* the copies are independent values (PERCPU_ARRAY), not summands */
	GPUBPF_LAYOUT_RING = 1 << 6,    /* a ring: the process that mirrors an arena empties it */
	GPUBPF_LAYOUT_LRU = 1 << 8,     /* a full table evicts the least recently used keys */
	GPUBPF_LAYOUT_ALL_COPIES = 1 << 7, /* set for one call, not in a layout: the value argument has all
					       * copies, one after the other (maps/kinds/hash.h) */
	/* set for one call: the value argument holds the device address of the value, which is copied in whole words */
	GPUBPF_LAYOUT_BY_ADDRESS = 1 << 9,
	GPUBPF_LAYOUT_LIVE = 1 << 10, /* the host reads and writes the map while kernels run */
	/* its values are interleaved with other maps' values, and an agent copies them together */
	GPUBPF_LAYOUT_INTERLEAVED = 1 << 13,
	/* set for one call: the map is an element of a map of maps, and lanes may have different elements */
	GPUBPF_LAYOUT_ELEMENT = 1 << 14,
	/*
	 * the agent writes the application's allocations into the map: element i is the struct gpubpf_allocation with
	 * number i
	 */
	GPUBPF_LAYOUT_ALLOCATIONS = 1 << 15,
	GPUBPF_LAYOUT_PLACED = 3 << 11, /* not 0: the enum gpubpf_placement of a map that follows the arena's own
					 * part */
};
#define GPUBPF_LAYOUT_PLACE(flags) (((flags) & GPUBPF_LAYOUT_PLACED) >> 11)
#define GPUBPF_LAYOUT_PLACED_IN(place) ((u32)(place) << 11)

/* offsets, in a row of the arena's table, of members that the device library reads */
#define GPUBPF_ROW_SIZE 64
#define GPUBPF_ROW_CTL 24
#define GPUBPF_ROW_DATA 32

/* Words that every map has at the beginning of ctl. */
struct gpubpf_map_ctl {
	u64 drops; /* number of records dropped, and of updates refused because the map was full */
	u64 lock_timeouts;
	u64 pad[14];
};

/*
 * Control words of rings. After struct gpubpf_map_ctl comes one line per copy that devices write. Then come words that
 * the reader on the host writes. For each copy there is a u64 with its position, and a u64 with the number of records
 * that it took from the current batch. The last word is a counter that the reader increments when it has freed room.
 *
 * Where device and host do not share the arena, the agent is the reader of the device's ring and the writer of the
 * mirror's ring. Each of the two rings has its own positions (maps/host/mirror.h).
 */
struct gpubpf_ring_copy {
	u64 prod;  /* position up to which lanes have claimed bytes */
	u64 drops; /* number of records for which there was no room */
	u64 full;  /* 1 + the reader's counter when a lane found all rings full that it tries; 0: no
				  * lane did */
	/* in a mirror, not 0: all records between the reader's position and prod have arrived completely */
	u64 whole;
	u64 pad[12];
};
#define GPUBPF_RING_COPY(layout_ctl, copy) ((layout_ctl) + 128 + 128ul * (copy))
#define GPUBPF_RING_CONS(layout_ctl, copies, copy) ((layout_ctl) + 128 + 128ul * (copies) + 8ul * (copy))
#define GPUBPF_RING_BATCH_TAKEN(layout_ctl, copies, copy) GPUBPF_RING_CONS(layout_ctl, copies, (copies) + (copy))
#define GPUBPF_RING_FREED(layout_ctl, copies) GPUBPF_RING_CONS(layout_ctl, copies, 2 * (copies))
#define GPUBPF_RING_CTL_END(layout_ctl, copies) GPUBPF_RING_CONS(layout_ctl, copies, 2 * (copies) + 1)

/* A position in a ring: the number of a segment, and the byte offset in it. */
#define GPUBPF_RING_SEGMENTS 4
#define GPUBPF_RING_SHIFT 40
#define GPUBPF_RING_WRAP (1ul << (64 - GPUBPF_RING_SHIFT)) /* segment numbers are counted modulo this */
#define GPUBPF_RING_SEGMENT(position) ((position) >> GPUBPF_RING_SHIFT)
#define GPUBPF_RING_OFFSET(position) ((position) & ((1ul << GPUBPF_RING_SHIFT) - 1))
/* bytes of the room that follows each segment, for the record that begins in the segment */
#define GPUBPF_RING_ROOM(stride, copy_stride) (((copy_stride) - (stride)) / GPUBPF_RING_SEGMENTS)

/*
 * The application's allocations, if a program uses them. Each process has a table; an arena that several devices on
 * host memory share has several tables. After the head come two sets of rows, sorted by base; set `version` % 2 is
 * valid. The owning process writes the other set, then its count, then the version. A reader that finds the same
 * version before and after has read rows of one moment.
 *
 * Each row contains its version, so that a lane may read the rows from its multiprocessor's cache, which can mix
 * several moments. The cache loads each half of a row at once, so the halves either carry the version that the lane
 * read or do not.
 */
struct gpubpf_allocation_head { /* 64 bytes */
	u64 owner;              /* process id; 0: the table is free */
	u64 version;
	u64 rows[2];  /* number of rows in each set */
	u64 nmissing; /* number of allocations without a row: the set was full, or the address is unknown */
	u64 pad[3];
};
#define GPUBPF_ALLOCATION_VERSION 8   /* below: offsets of members that the device library reads */
#define GPUBPF_ALLOCATION_COUNTS 16
#define GPUBPF_ALLOCATION_ROWS 64
#define GPUBPF_ALLOCATION_ROW 32      /* bytes of a row: struct gpubpf_allocation (include/gpubpf/allocation.h) */
/* the version's lower bits are in a row's size, above these bits, and in its last four bytes */
#define GPUBPF_ALLOCATION_SIZE_BITS 48
#define GPUBPF_ALLOCATION_SIZE_MASK ((1ull << GPUBPF_ALLOCATION_SIZE_BITS) - 1)
#define GPUBPF_ALLOCATION_MAX_ROWS 4096   /* maximum rows of a set */
#define GPUBPF_ALLOCATION_SET (GPUBPF_ALLOCATION_MAX_ROWS * GPUBPF_ALLOCATION_ROW)
#define GPUBPF_ALLOCATION_TABLE (GPUBPF_ALLOCATION_ROWS + 2 * GPUBPF_ALLOCATION_SET)
#define GPUBPF_ALLOCATION_TABLES 16   /* maximum number of tables: of processes whose devices share an arena */

/*
 * The table of granules, after these tables, for devices with memory of their own, which belong to one process. For
 * each granule that one allocation covers entirely, it has the allocation's number, so that one load finds it. Granule
 * n uses word n % GPUBPF_GRANULES. The word's upper half is n / GPUBPF_GRANULES + 1; otherwise the word belongs to
 * another granule, or to none (0). When an allocation is freed, its words are cleared at once.
 */
#define GPUBPF_GRANULE_SHIFT 21       /* 2 MiB, the page size with which GPU drivers allocate memory */
#define GPUBPF_GRANULES 16384
#define GPUBPF_GRANULE_TABLE (8 * GPUBPF_GRANULES)
#define GPUBPF_GRANULE(address) ((address) >> GPUBPF_GRANULE_SHIFT)
#define GPUBPF_GRANULE_OWNER(granule) ((granule) / GPUBPF_GRANULES + 1) /* at most 30 bits */

/*
 * The launcher of a kernel, in one word: the thread id in bits 0 to 21 and its process id in bits 32 to 53. Linux has
 * no larger ids. The bits above each hold one half of the number of the launch's stack (maps/host/stacks.h); 0: unknown.
 */
#define GPUBPF_LAUNCH_PID 0x003fffff003ffffful
#define GPUBPF_LAUNCH_LOW 22          /* bit at which the lower ten bits of the stack's number begin */
#define GPUBPF_LAUNCH_HIGH 54         /* bit at which its upper ten bits begin */
#define GPUBPF_LAUNCH_HALF 10
#define GPUBPF_MAX_STACKS 65536      /* maximum number of stacks in a session */
#define GPUBPF_STACK_DEPTH 127        /* maximum addresses of one stack; the default of the sysctl
				       * kernel.perf_event_max_stack */

#endif
