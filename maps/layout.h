/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena: the one piece of memory that holds all maps of a session on one device. Tool, agent, twin
 * and interpreter see the same bytes, by the offsets that gpubpf_layout_compute() gives each map. They
 * are constants when a twin is compiled; the header below is for those who only have the bytes.
 *
 * The tool creates it as a memfd and initialises it. Where the device can work on host memory (CPU
 * devices, fine-grained memory) it *is* the device's memory; elsewhere the agent keeps a copy in device
 * memory, empties rings all the time and copies maps back (maps/mirror.h), and the memfd is the mirror that the tool reads.
 * A twin reaches it by its address alone: an extra kernel argument in OpenCL and Level Zero, a variable of the twin's in
 * CUDA and HIP.
 *
 * Maps that lie elsewhere than in the device's memory (core/wire/placements.def) have offsets behind the device's part, and
 * memory of their own there. In the device's copy of the table their ctl and data are addresses: programs look there. What
 * such memory is the mirror's own (LIVE), or the agent copies from it.
 *
 * Maps stay where they were laid out. Objects that join a session later get a segment each, behind the last one, in
 * room that was kept for that; nothing that twins were compiled with changes.
 *
 * Also included by the device library: only fixed-width members, natural alignment, no pointers.
 */
#ifndef GPUBPF_MAPS_LAYOUT_H
#define GPUBPF_MAPS_LAYOUT_H

#include "devlib_types.h" /* u8 u16 u32 u64 s32 s64 on the host and in OpenCL C */

#define GPUBPF_ARENA_MAGIC 0x616e657261667062ull /* "bpfarena" */
#define GPUBPF_ARENA_VERSION 8
#define GPUBPF_ARENA_ALIGN 4096
#define GPUBPF_REPLICA_ALIGN 128 /* bytes between copies that different multiprocessors write */

struct gpubpf_arena_hdr {        /* at offset 0; 256 bytes */
	u64 magic;
	u32 version;
	u32 nmaps;
	u64 size;                /* of the arena in bytes, room for later segments included */
	u64 layout_hash;         /* of all layouts: a twin and an arena that disagree must not meet */
	u64 maps_off;            /* struct gpubpf_map_layout[GPUBPF_ARENA_ROWS], of which nmaps are filled in */
	u64 base;                /* device address of the arena, written by the agent */
	u32 replicas;            /* copies that multiprocessors write to; > any value of helper 509 */
	u32 threads;             /* threads that per-thread maps have room for */
	/* ns = clock_ns + (cycles - clock_cycles) * clock_mult / 2^32; mult 2^32 if cycles are ns, 0 until
	 * the agent has calibrated */
	u64 clock_cycles, clock_ns, clock_mult;
	u64 clock_error_ns;      /* measured uncertainty: the largest that was seen */
	u64 thread_drops;        /* look-ups in per-thread maps by threads beyond `threads` */
	u64 print_ring;          /* offset of the layout of the ring for prints; 0 none */
	u64 used;                /* the end of the last segment; behind it there is nothing yet */
	u64 filled;              /* the end of those that a device with memory of its own has, by the agent */
	u64 allocations;         /* offset of the first table of the application's allocations; 0: nobody asks for them */
	u64 allocation_tables;   /* how many there are */
	u64 own;                 /* bytes of it that lie in the device's memory: maps behind them have memory of their own */
	u64 given;               /* rows of maps that devices may take, by the tool */
	u64 granules;            /* offset of the table of granules; 0: nobody asks for allocations */
	u64 unix_ns;             /* CLOCK_REALTIME minus CLOCK_MONOTONIC */
	u64 pad[11];
};

#define GPUBPF_ARENA_IS_VERSION 8     /* offsets of members that the device library uses */
#define GPUBPF_ARENA_REPLICAS 48
#define GPUBPF_ARENA_CLOCK 56
#define GPUBPF_ARENA_THREAD_DROPS 88
#define GPUBPF_ARENA_ALLOCATIONS 120
#define GPUBPF_ARENA_ALLOCATION_TABLES 128
#define GPUBPF_ARENA_GRANULES 152
#define GPUBPF_ARENA_UNIX 160

/* After the header: counters that helper 7 draws numbers from, one a line, a multiprocessor takes the
 * line of its id modulo their number. */
#define GPUBPF_ARENA_RNG 256
#define GPUBPF_ARENA_RNG_COPIES 32
#define GPUBPF_ARENA_MAPS (GPUBPF_ARENA_RNG + GPUBPF_ARENA_RNG_COPIES * GPUBPF_REPLICA_ALIGN)
#define GPUBPF_ARENA_ROWS 257 /* maps of a unit at most, and in the last one the ring for prints */
#define GPUBPF_ARENA_PRINTS (GPUBPF_ARENA_MAPS + (GPUBPF_ARENA_ROWS - 1) * 64)
#define GPUBPF_ARENA_DATA (GPUBPF_ARENA_MAPS + GPUBPF_ARENA_ROWS * 64) /* the first segment */

/* Where a map lies. The names of ctl, data, stride and copy_stride are explained by each map type's file. */
struct gpubpf_map_layout {
	u32 type;                /* BPF_MAP_TYPE_* or 1501.. */
	u32 flags;               /* enum gpubpf_layout_flags */
	u32 key_size, value_size;
	u32 max_entries;
	u32 copies;              /* replicas, threads, or 1 */
	u64 ctl;                 /* offset in the arena of control words: buckets, heads, counters */
	u64 data;                /* offset of values, elements or records */
	u64 stride;              /* bytes from one value (element) to the next */
	u64 copy_stride;         /* bytes from one copy to the next */
	u64 size;                /* bytes from ctl to the end of data, both included; of several that lie beside each other, the
				  * first one's are all of theirs, and the others' 0 */
};

enum gpubpf_layout_flags {
	GPUBPF_LAYOUT_SUM8 = 1 << 0,  /* replicated by multiprocessor: a reader sums copies as u64s */
	GPUBPF_LAYOUT_SUM4 = 1 << 1,  /* as u32s */
	GPUBPF_LAYOUT_RDONLY = 1 << 2,
	GPUBPF_LAYOUT_DELETES = 1 << 3, /* a device program deletes keys: updates in place must pin */
	GPUBPF_LAYOUT_PERF = 1 << 4,    /* a full ring is -ENOSPC (helper 25), not -EAGAIN (helper 130) */
	GPUBPF_LAYOUT_COPIES = 1 << 5,  /* the copies are values of their own (PERCPU_ARRAY), not summands */
	GPUBPF_LAYOUT_RING = 1 << 6,    /* a ring: who mirrors an arena empties it */
	GPUBPF_LAYOUT_LRU = 1 << 8,     /* a full table forgets what was not used lately */
	GPUBPF_LAYOUT_EACH = 1 << 7,    /* of a call, not of a layout: the value is all copies (hash.h) */
	GPUBPF_LAYOUT_FROM = 1 << 9,    /* of a call, too: the value is the address of one in device memory, of whole words */
	GPUBPF_LAYOUT_LIVE = 1 << 10,   /* the host writes and reads it while kernels do */
	GPUBPF_LAYOUT_BESIDE = 1 << 13, /* its values lie between those of others, with which an agent copies them */
	GPUBPF_LAYOUT_ELEMENT = 1 << 14, /* of a call, too: on an element of a map of maps, of which each lane may have another */
	GPUBPF_LAYOUT_ALLOCATIONS = 1 << 15, /* the agent tells the application's allocations there: struct gpubpf_allocation by number */
	GPUBPF_LAYOUT_PLACED = 3 << 11, /* not 0: enum gpubpf_placement of a map that is behind the arena's own part */
};
#define GPUBPF_LAYOUT_PLACE(flags) (((flags) & GPUBPF_LAYOUT_PLACED) >> 11)
#define GPUBPF_LAYOUT_PLACED_IN(place) ((u32)(place) << 11)

/* rows of the arena's table: offsets of members that the device library uses */
#define GPUBPF_ROW_SIZE 64
#define GPUBPF_ROW_CTL 24
#define GPUBPF_ROW_DATA 32

/* Offsets of the words that every map has at the beginning of ctl. */
struct gpubpf_map_ctl {
	u64 drops;               /* records dropped, updates refused because the map was full */
	u64 lock_timeouts;
	u64 pad[14];
};

/*
 * Rings: after struct gpubpf_map_ctl, for each copy the line that devices write; then what the reader on the host
 * writes: one u64 a copy, its position; one more a copy, the records that it has taken of the batch there; one that
 * it counts up when it has left room.
 * Where an arena is not shared, the agent is the device's reader, and in the mirror it is the one that writes: both
 * have positions of their own (maps/mirror.h).
 */
struct gpubpf_ring_copy {
	u64 prod;                /* the position up to which room was claimed */
	u64 drops;               /* records for which there was no room */
	u64 full;                /* what the reader's count was, plus 1, when a lane found all rings full that it tries */
	u64 whole;               /* in a mirror: not 0, every record between the reader's position and prod is complete */
	u64 pad[12];
};
#define GPUBPF_RING_COPY(layout_ctl, copy) ((layout_ctl) + 128 + 128ul * (copy))
#define GPUBPF_RING_CONS(layout_ctl, copies, copy) ((layout_ctl) + 128 + 128ul * (copies) + 8ul * (copy))
#define GPUBPF_RING_PART(layout_ctl, copies, copy) GPUBPF_RING_CONS(layout_ctl, copies, (copies) + (copy))
#define GPUBPF_RING_LEFT(layout_ctl, copies) GPUBPF_RING_CONS(layout_ctl, copies, 2 * (copies))
#define GPUBPF_RING_CTL_END(layout_ctl, copies) GPUBPF_RING_CONS(layout_ctl, copies, 2 * (copies) + 1)

/* A position in a ring: the number of a segment, and the offset in it. */
#define GPUBPF_RING_SEGMENTS 4
#define GPUBPF_RING_SHIFT 40
#define GPUBPF_RING_WRAP (1ul << (64 - GPUBPF_RING_SHIFT)) /* segment numbers are modulo this */
#define GPUBPF_RING_SEGMENT(position) ((position) >> GPUBPF_RING_SHIFT)
#define GPUBPF_RING_OFFSET(position) ((position) & ((1ul << GPUBPF_RING_SHIFT) - 1))
/* bytes behind each segment for the record that begins in it */
#define GPUBPF_RING_ROOM(stride, copy_stride) (((copy_stride) - (stride)) / GPUBPF_RING_SEGMENTS)

/*
 * The application's allocations, where a program asks for them: a table for each process, of which an arena that devices
 * on host memory share has several. After the head two sets of rows, which are in the order of their bases; `version` % 2
 * is the one that holds. Its process writes the other one, then its count, then the version: a reader that finds the same
 * version before and after has read rows of one moment. Each row has the version that it is of, so that a lane may look into
 * what its multiprocessor's cache has, which may be of several moments: the halves of a row, each of which comes at once, are of
 * the version found there or not.
 */
struct gpubpf_allocation_head { /* 64 bytes */
	u64 owner;               /* process; 0: nobody's yet */
	u64 version;
	u64 rows[2];             /* of each set */
	u64 untold;              /* allocations that found no room, or whose address is not known */
	u64 pad[3];
};
#define GPUBPF_ALLOCATION_VERSION 8   /* offsets of members that the device library uses */
#define GPUBPF_ALLOCATION_COUNTS 16
#define GPUBPF_ALLOCATION_ROWS 64
#define GPUBPF_ALLOCATION_ROW 32      /* bytes of a row: struct gpubpf_allocation (include/gpubpf/allocation.h), which has the */
#define GPUBPF_ALLOCATION_SIZE_BITS 48 /* version's lower bits above its size, and in its last four bytes */
#define GPUBPF_ALLOCATION_SIZE_MOST ((1ull << GPUBPF_ALLOCATION_SIZE_BITS) - 1)
#define GPUBPF_ALLOCATION_MOST 4096   /* rows of a set */
#define GPUBPF_ALLOCATION_SET (GPUBPF_ALLOCATION_MOST * GPUBPF_ALLOCATION_ROW)
#define GPUBPF_ALLOCATION_TABLE (GPUBPF_ALLOCATION_ROWS + 2 * GPUBPF_ALLOCATION_SET)
#define GPUBPF_ALLOCATION_TABLES 16   /* processes whose devices share an arena */

/*
 * Behind these tables, for devices with memory of their own, which are one process's: of pieces of memory that are one
 * allocation's wholly, its number, by one look. The word for piece n is n % GPUBPF_GRANULES; it has the rest of n, from 1, in
 * its upper half, or is another one's, or nobody's: 0. An allocation that goes takes its words with it, at once.
 */
#define GPUBPF_GRANULE_SHIFT 21       /* 2 MiB: what GPUs' drivers take memory by */
#define GPUBPF_GRANULES 16384
#define GPUBPF_GRANULE_TABLE (8 * GPUBPF_GRANULES)
#define GPUBPF_GRANULE(address) ((address) >> GPUBPF_GRANULE_SHIFT)
#define GPUBPF_GRANULE_OWNER(granule) ((granule) / GPUBPF_GRANULES + 1) /* of no more than 30 bits */

/*
 * Who launched a kernel, in one word: the thread in bits 0 to 21 and its process in bits 32 to 53, of which Linux has no larger
 * numbers, and in the bits above each a half of the number of the stack that it launched from (maps/stacks.h); 0: not known.
 */
#define GPUBPF_LAUNCH_PID 0x003fffff003ffffful
#define GPUBPF_LAUNCH_LOW 22          /* where the lower ten bits of the number are, */
#define GPUBPF_LAUNCH_HIGH 54         /* and the upper ones */
#define GPUBPF_LAUNCH_HALF 10
#define GPUBPF_STACKS_MOST 65536      /* stacks that a session knows */
#define GPUBPF_STACK_DEPTH 127        /* addresses of one: kernel.perf_event_max_stack */

#endif
