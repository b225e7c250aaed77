/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena: the block of memory that holds all maps of a session on one device. The tool, the agent, twins and the
 * interpreter see the same bytes, at the offsets that gpubpf_layout_compute() assigns to each map. The offsets are
 * constants when a twin is compiled. The header below is for readers that have only the bytes.
 *
 * The tool creates the arena as a memfd and initialises it. If the device can work on host memory (CPU devices,
 * fine-grained memory), the memfd is the device's memory. Otherwise the agent has a copy in device memory, empties its
 * rings continuously, and copies maps back to the memfd, the mirror (maps/host/mirror.h). A twin only needs the arena's
 * address. In OpenCL and Level Zero this is an additional kernel argument; in CUDA and HIP it is a variable of the
 * twin.
 *
 * Maps that are placed outside of device memory (core/wire/placements.def) have offsets after the device's part of the
 * arena, and separate memory. In the device's copy of the table, ctl and data of such a map are addresses, which
 * programs read there. This memory either is part of the mirror (LIVE), or the agent copies from it.
 *
 * Maps never move. The maps of an object that joins a session later are in a new segment after the last one, in memory
 * that was reserved. So twins that were compiled before stay valid.
 *
 * The device library includes this file too. So all members have a fixed width and natural alignment, and none is a
 * pointer.
 */
#ifndef GPUBPF_MAPS_LAYOUT_H
#define GPUBPF_MAPS_LAYOUT_H

#include "maps/device/devlib_types.h" /* defines u8, u16, u32, u64, s32 and s64 on the host and in OpenCL C */

#define GPUBPF_ARENA_MAGIC 0x616e657261667062ull /* "bpfarena" */
#define GPUBPF_ARENA_VERSION 8
#define GPUBPF_ARENA_ALIGN 4096
#define GPUBPF_REPLICA_ALIGN 128 /* size of a cache line, the alignment of copies of multiprocessors */

/* for direct runs (core/wire/direct.h): offset of the data buffer in the kernel's block, and the kernel's third argument */
#define GPUBPF_DIRECT_DATA 4096
#define GPUBPF_DIRECT_KEY 0x6e75725f66706267ull
#define GPUBPF_SERVE_KEY 0x7672735f66706267ull /* the same for GPUBPF_SERVE_FUNCTION */

struct gpubpf_arena_hdr { /* The header, at offset 0 of the arena; 256 bytes. */
	u64 magic;
	u32 version;
	u32 nmaps;
	u64 size;        /* size of the arena in bytes, with the memory reserved for later segments */
	u64 layout_hash; /* hash of all layouts; a twin must not run on an arena with another hash */
	u64 maps_off;    /* offset of struct gpubpf_map_layout[GPUBPF_ARENA_ROWS]; the first nmaps rows are valid */
	u64 base;        /* device address of the arena, which the agent writes */
	u32 replicas;    /* number of copies for multiprocessors; every result of helper 509 is below it */
	u32 threads;     /* number of threads that have values in per-thread maps */
	/*
	 * CLOCK_MONOTONIC in ns = clock_ns + (cycles - clock_cycles) * clock_mult / 2^32. clock_mult is 2^32 if cycles
	 * are ns. It is 0 until the agent has calibrated the clock.
	 */
	u64 clock_cycles, clock_ns, clock_mult;
	u64 clock_error_ns; /* largest measured error of the calibration, in ns */
	u64 thread_drops;   /* number of look-ups in per-thread maps by threads without a value */
	u64 print_ring;     /* offset of the layout of the print ring; 0: there is none */
	u64 used;           /* end of the last segment in bytes; bytes after it are not used */
	/* end in bytes of the segments that the agent has copied to the device's separate memory */
	u64 filled;
	/* offset of the first table of the application's allocations; 0: no program uses them */
	u64 allocations;
	u64 allocation_tables; /* number of tables of allocations */
	/* bytes of the arena that are in device memory; each map after them has separate memory */
	u64 own;
	u64 given;    /* number of rows whose maps agents may copy to devices; the tool writes it */
	u64 granules; /* offset of the table of granules; 0: no program uses allocations */
	u64 unix_ns;  /* CLOCK_REALTIME minus CLOCK_MONOTONIC, in ns */
	u64 pad[11];
};

#define GPUBPF_ARENA_IS_VERSION 8     /* Offsets of the members that the device library reads. */
#define GPUBPF_ARENA_REPLICAS 48
#define GPUBPF_ARENA_CLOCK 56
#define GPUBPF_ARENA_THREAD_DROPS 88
#define GPUBPF_ARENA_ALLOCATIONS 120
#define GPUBPF_ARENA_ALLOCATION_TABLES 128
#define GPUBPF_ARENA_GRANULES 152
#define GPUBPF_ARENA_UNIX 160

/*
 * After the header: the counters for helper 7, one per cache line. A multiprocessor uses counter number id %
 * GPUBPF_ARENA_RNG_COPIES.
 */
#define GPUBPF_ARENA_RNG 256
#define GPUBPF_ARENA_RNG_COPIES 32
#define GPUBPF_ARENA_MAPS (GPUBPF_ARENA_RNG + GPUBPF_ARENA_RNG_COPIES * GPUBPF_REPLICA_ALIGN)
#define GPUBPF_ARENA_ROWS 257 /* limit of the maps of a unit, plus one row for the print ring */
#define GPUBPF_ARENA_PRINTS (GPUBPF_ARENA_MAPS + (GPUBPF_ARENA_ROWS - 1) * 64)
#define GPUBPF_ARENA_DATA (GPUBPF_ARENA_MAPS + GPUBPF_ARENA_ROWS * 64) /* the first segment */

/*
 * The location of a map in the arena. The header of its kind (maps/kinds) explains ctl, data, stride and copy_stride.
 */
struct gpubpf_map_layout {
	u32 type;  /* BPF_MAP_TYPE_*, or from 1501 on */
	u32 flags; /* enum gpubpf_layout_flags */
	u32 key_size, value_size;
	u32 max_entries;
	u32 copies;      /* number of copies: one per multiprocessor, one per thread, or 1 */
	u64 ctl;         /* offset of the control words: buckets, ring positions, counters */
	u64 data;        /* offset of the values, elements or records */
	u64 stride;      /* distance from one value (or element) to the next, in bytes */
	u64 copy_stride; /* distance from one copy to the next, in bytes */
	/*
	 * bytes from ctl to the end of data. If several maps share cache lines (GPUBPF_LAYOUT_INTERLEAVED), the first
	 * of them has the size of all, and the others have 0
	 */
	u64 size;
};

enum gpubpf_layout_flags {
	GPUBPF_LAYOUT_SUM8 = 1 << 0,  /* each multiprocessor has a copy; readers sum 8-byte words */
	GPUBPF_LAYOUT_SUM4 = 1 << 1,  /* each multiprocessor has a copy; readers sum 4-byte words */
	GPUBPF_LAYOUT_MAX8 = 1 << 16, /* each multiprocessor has a copy; readers take the maximum of 8-byte words */
	GPUBPF_LAYOUT_MERGED = 1 << 0 | 1 << 1 | 1 << 16, /* one of the three flags above */
	GPUBPF_LAYOUT_RDONLY = 1 << 2,
	/* a program on a device deletes keys, so an update in place must pin the element */
	GPUBPF_LAYOUT_DELETES = 1 << 3,
	/* if the ring is full, return -ENOSPC (helper 25) instead of -EAGAIN (helper 130) */
	GPUBPF_LAYOUT_PERF = 1 << 4,
	GPUBPF_LAYOUT_COPIES = 1 << 5, /* the copies are independent values (PERCPU_ARRAY); readers do not sum them */
	GPUBPF_LAYOUT_RING = 1 << 6,   /* the map is a ring; the agent moves its records to the mirror */
	GPUBPF_LAYOUT_LRU = 1 << 8,    /* a full table evicts keys that were not used recently */
	/*
	 * argument of a call, never in a layout: the value contains all copies, one after another (maps/kinds/hash.h)
	 */
	GPUBPF_LAYOUT_ALL_COPIES = 1 << 7,
	/*
	 * argument of a call: the value argument is the device address of the value, which is copied in aligned words
	 */
	GPUBPF_LAYOUT_BY_ADDRESS = 1 << 9,
	GPUBPF_LAYOUT_LIVE = 1 << 10, /* the host reads and writes the map while GPU kernels run */
	/* the copies share cache lines with copies of other maps, and an agent copies these maps together */
	GPUBPF_LAYOUT_INTERLEAVED = 1 << 13,
	/* argument of a call: the map is an element of a map of maps, so lanes may use different maps */
	GPUBPF_LAYOUT_ELEMENT = 1 << 14,
	/*
	 * The agent stores the application's allocations in the map. Element i is the struct gpubpf_allocation with
	 * number i.
	 */
	GPUBPF_LAYOUT_ALLOCATIONS = 1 << 15,
	GPUBPF_LAYOUT_ROWS = 1 << 17,   /* a map of launches; the agent copies its rows while kernels run */
	GPUBPF_LAYOUT_PLACED = 3 << 11, /* not 0: the enum gpubpf_placement of a map outside the arena's device part */
};
#define GPUBPF_LAYOUT_PLACE(flags) (((flags) & GPUBPF_LAYOUT_PLACED) >> 11)
#define GPUBPF_LAYOUT_PLACED_IN(place) ((u32)(place) << 11)

/* Offsets in a row of the arena's table, of the members that the device library reads. */
#define GPUBPF_ROW_SIZE 64
#define GPUBPF_ROW_CTL 24
#define GPUBPF_ROW_DATA 32

/* The words at the begin of every map's ctl. */
struct gpubpf_map_ctl {
	u64 drops; /* number of records that were dropped, and of updates that failed because the map was full */
	u64 lock_timeouts;
	u64 pad[14];
};

/*
 * The control words of a ring. After struct gpubpf_map_ctl there is one cache line per copy, which devices write. Then
 * follow the words that the reader on the host writes. For each copy it writes a u64 with its position, and a u64 with
 * the number of records that it took from the current batch. The last word is a counter that the reader increments when
 * it has freed memory.
 *
 * If the device has a separate copy of the arena, the agent reads the device's ring and writes the mirror's ring. Each
 * of the two rings has its own positions (maps/host/mirror.h).
 */
struct gpubpf_ring_copy {
	u64 prod;  /* position up to which lanes have claimed memory */
	u64 drops; /* number of records that were dropped because the ring was full */
	/* 1 + value of the reader's counter when a lane found that all rings that it tries are full; 0: no lane did */
	u64 full;
	/* in a mirror: not 0 if all records from the reader's position to prod have arrived completely */
	u64 whole;
	u64 pad[12];
};
#define GPUBPF_RING_COPY(layout_ctl, copy) ((layout_ctl) + 128 + 128ul * (copy))
#define GPUBPF_RING_CONS(layout_ctl, copies, copy) ((layout_ctl) + 128 + 128ul * (copies) + 8ul * (copy))
#define GPUBPF_RING_BATCH_TAKEN(layout_ctl, copies, copy) GPUBPF_RING_CONS(layout_ctl, copies, (copies) + (copy))
#define GPUBPF_RING_FREED(layout_ctl, copies) GPUBPF_RING_CONS(layout_ctl, copies, 2 * (copies))
#define GPUBPF_RING_CTL_END(layout_ctl, copies) GPUBPF_RING_CONS(layout_ctl, copies, 2 * (copies) + 1)

/*
 * A position in a ring: the number of a segment in the upper bits, and the byte offset in the segment in the lower
 * bits.
 */
#define GPUBPF_RING_SEGMENTS 4
#define GPUBPF_RING_SHIFT 40
#define GPUBPF_RING_WRAP (1ul << (64 - GPUBPF_RING_SHIFT)) /* segments are numbered modulo this */
#define GPUBPF_RING_SEGMENT(position) ((position) >> GPUBPF_RING_SHIFT)
#define GPUBPF_RING_OFFSET(position) ((position) & ((1ul << GPUBPF_RING_SHIFT) - 1))
/* Bytes of the space after each segment. A record that begins in the segment may extend into this space. */
#define GPUBPF_RING_ROOM(stride, copy_stride) (((copy_stride) - (stride)) / GPUBPF_RING_SEGMENTS)

/*
 * The control words of a map of launches (maps/kinds/launches.h). After struct gpubpf_map_ctl is a u64, the number of
 * complete rows. In the next cache line begins a ring of the newest max_entries rows. Row n is at index n % max_entries.
 */
#define GPUBPF_LAUNCHES_COUNT 128
#define GPUBPF_LAUNCHES_ROWS 256
#define GPUBPF_LAUNCHES_ROW 64

/*
 * The table of the application's allocations, if a program uses them. Each process has a table. An arena that is shared
 * by devices of several processes (on host memory) has several tables. After the head there are two sets of rows,
 * sorted by base; set number `version` % 2 is valid. To change the table, the process writes the other set, then its
 * count, then the version. A reader that finds the same version before and after its reads has a consistent set.
 *
 * Each row also contains its version, so that a lane may read rows through the cache of its multiprocessor, which can
 * mix several versions. The cache loads each half of a row at once. So both halves have the version that the lane has
 * read, or the lane detects the difference.
 */
struct gpubpf_allocation_head { /* 64 bytes */
	u64 owner;              /* id of the process; 0: the table is free */
	u64 version;
	u64 rows[2];  /* number of rows in each set */
	u64 nmissing; /* number of allocations without a row, because the set is full or the address is unknown */
	u64 pad[3];
};
#define GPUBPF_ALLOCATION_VERSION 8   /* Offsets of the members that the device library reads. */
#define GPUBPF_ALLOCATION_COUNTS 16
#define GPUBPF_ALLOCATION_ROWS 64
#define GPUBPF_ALLOCATION_ROW 32      /* bytes of a row, a struct gpubpf_allocation (include/gpubpf/allocation.h) */
/*
 * A row contains the lower bits of the version twice. The member `size` holds them from bit GPUBPF_ALLOCATION_SIZE_BITS
 * on. The last four bytes of the row hold them again.
 */
#define GPUBPF_ALLOCATION_SIZE_BITS 48
#define GPUBPF_ALLOCATION_SIZE_MASK ((1ull << GPUBPF_ALLOCATION_SIZE_BITS) - 1)
#define GPUBPF_ALLOCATION_MAX_ROWS 4096   /* limit of the rows of a set */
#define GPUBPF_ALLOCATION_SET (GPUBPF_ALLOCATION_MAX_ROWS * GPUBPF_ALLOCATION_ROW)
#define GPUBPF_ALLOCATION_TABLE (GPUBPF_ALLOCATION_ROWS + 2 * GPUBPF_ALLOCATION_SET)
#define GPUBPF_ALLOCATION_TABLES 16   /* limit of the tables, that is of processes whose devices share an arena */

/*
 * The table of granules, which follows these tables. It is for devices with separate memory, whose arena belongs to one
 * process. A granule is an aligned block of memory. If one allocation covers a granule entirely, the table has the
 * allocation's number, so that one load finds it.
 *
 * Granule n uses word n % GPUBPF_GRANULES. The word is valid for the granule if its upper half is n / GPUBPF_GRANULES +
 * 1. A word that belongs to no granule is 0. When an allocation is freed, its words are cleared at once.
 */
#define GPUBPF_GRANULE_SHIFT 21       /* a granule has 2 MiB, the page size with which GPU drivers allocate memory */
#define GPUBPF_GRANULES 16384
#define GPUBPF_GRANULE_TABLE (8 * GPUBPF_GRANULES)
#define GPUBPF_GRANULE(address) ((address) >> GPUBPF_GRANULE_SHIFT)
#define GPUBPF_GRANULE_OWNER(granule) ((granule) / GPUBPF_GRANULES + 1) /* at most 30 bits */

/*
 * The thread that launched a GPU kernel, in one word: the thread id in bits 0 to 21, and the process id in bits 32 to
 * 53. Linux has no larger ids. The ten bits above each id hold half of the number of the launch's stack
 * (maps/host/stacks.h); 0: unknown.
 */
#define GPUBPF_LAUNCH_PID 0x003fffff003ffffful
#define GPUBPF_LAUNCH_LOW 22          /* first bit of the lower ten bits of the stack's number */
#define GPUBPF_LAUNCH_HIGH 54         /* first bit of the upper ten bits of the stack's number */
#define GPUBPF_LAUNCH_HALF 10
#define GPUBPF_MAX_STACKS 65536      /* limit of the stacks in a session */
#define GPUBPF_STACK_DEPTH 127        /* limit of addresses, the default of sysctl kernel.perf_event_max_stack */

#endif
