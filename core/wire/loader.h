/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a loader's process asks of a session: the bpf(2) calls that are the session's to answer (hooks/bpf), one question
 * at a time on a connection of its own. GPUBPF_MSG_BPF is u32 enum gpubpf_bpf_op and what it takes; GPUBPF_MSG_BPF_DONE
 * is s32 0 or -errno, as bpf(2) has it, and what the answer has. A payload of any size: what is too long for a packet is
 * in a memfd. Handles are memfds, and pipes where they are polled, whose name tells what they are; the session knows by a lock on each (core/bpf/object.c)
 * when the last descriptor of one is closed, in whatever process.
 */
#ifndef GPUBPF_CORE_WIRE_LOADER_H
#define GPUBPF_CORE_WIRE_LOADER_H

#include "msg.h"

#define GPUBPF_BPF_MAX (64u << 20)  /* bytes of a payload */
/* Numbers of objects begin here, above those that the Linux kernel comes to give its own. */
#define GPUBPF_BPF_FIRST_ID (1u << 30)

/* "gpubpf-map:1073741824:4:8:0": what it is, its number, and of a map the bytes that bpf(2) moves of a key and of a value, and
 * what values are: 0, bytes, or 1 + enum gpubpf_bpf_kind, descriptors of such. It is in /proc/self/fd, behind /memfd:, where
 * bpftool looks for bpf-map, ... */
#define GPUBPF_BPF_HANDLE "gpubpf-%s:%u:%u:%u:%u"
enum gpubpf_bpf_kind {
	GPUBPF_BPF_MAP,
	GPUBPF_BPF_PROG,
	GPUBPF_BPF_LINK,
	GPUBPF_BPF_BTF,
	GPUBPF_BPF_PERF,           /* a descriptor of perf_event_open(2) */
	GPUBPF_BPF_BUFFER,         /* one of PERF_COUNT_SW_BPF_OUTPUT */
	GPUBPF_BPF_KINDS,
};
extern const char *const gpubpf_bpf_kinds[GPUBPF_BPF_KINDS]; /* "map", ... */

enum gpubpf_bpf_op {
	/* str program, u32 type of program -> u32: is it for a GPU, by its name and what the session was told? */
	GPUBPF_BPF_WANTS = 1,
	/* u32 type, key_size, value_size, max_entries, flags; u64 extra; str name; u32 number of its BTF or 0, types of key
	 * and value; number of a map that its elements are like or 0; number that it had as the kernel's or 0; u32 enum
	 * gpubpf_bpf_given; fd of a map of the kernel's -> fd */
	GPUBPF_BPF_MAP_CREATE = 2,
	/* u32 map, u32 command of bpf(2), bytes key (none: 0), bytes value, where that is a descriptor u32 the object's number or
	 * 0, it is none of ours, u64 flags -> bytes that are given back */
	GPUBPF_BPF_MAP_ELEM = 3,
	/* u32 map, u32 command, u32 position to go on from, u32 count, bytes keys, bytes values, u64 flags -> u32 count,
	 * u32 position, bytes keys, bytes values, also of an error */
	GPUBPF_BPF_MAP_BATCH = 4,
	GPUBPF_BPF_MAP_FREEZE = 5,     /* u32 map */
	/* u32 type, str name; bytes struct bpf_insn[], maps named by their numbers; bytes struct bpf_func_info[]; bytes struct
	 * bpf_line_info[]; u32 number of its BTF or 0, u32 is the log read -> str log, also of an error; fd */
	GPUBPF_BPF_PROG_LOAD = 6,
	GPUBPF_BPF_BTF_LOAD = 7,       /* bytes -> fd */
	GPUBPF_BPF_INFO = 8,           /* u32 number -> u32 kind, bytes struct bpf_..._info, bytes: BTF, instructions; bytes u32 ids of maps */
	GPUBPF_BPF_NEXT_ID = 9,        /* u32 kind, u32 number -> u32 the next number */
	GPUBPF_BPF_FD_BY_ID = 10,      /* u32 kind, u32 number -> fd */
	GPUBPF_BPF_PERF_OPEN = 11,     /* str function, u32 is it its return, u64 bytes behind its beginning -> fd */
	GPUBPF_BPF_LINK_CREATE = 12,   /* u32 program, u32 perf -> fd */
	GPUBPF_BPF_PERF_SET = 13,      /* u32 perf, u32 program: attached as long as perf is open */
	/* u32 map or buffer, u64 bytes to map, u64 first byte, u32 writable -> u64 bytes at the end that are mapped twice in a row, fd
	 * of the memory: the kernel's array where that has the values. A buffer gets the number of bytes. */
	GPUBPF_BPF_MEMORY = 14,
	GPUBPF_BPF_BUFFER_OPEN = 15,   /* u32 is it off -> fd */
	GPUBPF_BPF_PIN = 16,           /* u32 number, str path: a file there in the session's folder is its name */
	GPUBPF_BPF_PINNED = 17,        /* u64 device, u64 inode of such a file -> fd */
	/* u32 number of a map as the kernel's -> u32 do loaders keep the kernel's, which has all records; fd of the session's map */
	GPUBPF_BPF_WAS = 18,
	/* u32 number of a map of maps of the kernel's; u32 type, key_size, value_size, max_entries, flags; u64 extra; str name, of
	 * its elements */
	GPUBPF_BPF_INNER = 19,
	GPUBPF_BPF_UPROBE_OPEN = 20,   /* u64 byte of a file, u32 is it a return; fd of the file -> fd, as of PERF_OPEN */
	/* u32 buffer or perf, 0: the Linux kernel's; u32 enum gpubpf_bpf_output. What kernels put before comes before the answer. */
	GPUBPF_BPF_OUTPUT = 21,
	/* u32 map -> fd of the kernel's for its programs: the one whose values it has, or which is kept like it from now on */
	GPUBPF_BPF_KERNEL = 22,
	GPUBPF_BPF_TAKES = 23,         /* u32 number of a queue of the kernel's: its programs take values out */
	/* u32 number of a ring buffer of the kernel's, u32 has the loader just mapped it -> u32 has any */
	GPUBPF_BPF_READ = 24,
	GPUBPF_BPF_OPS,
};

/* What a map of the kernel's is to one of the session's: nothing, the memory of its values or the array of buffers that its
 * records come into, or that of the kernel's programs, with what it holds, beside it. */
enum gpubpf_bpf_given { GPUBPF_BPF_NONE, GPUBPF_BPF_SAME, GPUBPF_BPF_BESIDE };

/* What a loader does to a buffer, which takes records that are put while it is neither disabled nor paused; those of a perf run
 * their program all the same, as the Linux kernel's do. */
enum gpubpf_bpf_output { GPUBPF_BPF_ENABLED, GPUBPF_BPF_DISABLED, GPUBPF_BPF_RESUMED, GPUBPF_BPF_PAUSED };

/* The folder for pins of the session at that socket: beside it. Libbpf makes an underscore of each dot where it pins an object's maps. */
#define GPUBPF_BPF_PINS_SIZE 300
void gpubpf_bpf_pins(const char *session, char out[GPUBPF_BPF_PINS_SIZE]);

/* Send what w holds, of any size, and a descriptor (-1: none). 0 or -errno. */
int gpubpf_payload_send(int sock, int flags, uint16_t type, uint32_t seq, const struct gpubpf_writer *w, int fd);

/* The payload of a packet that was sent so, until it is closed, with its descriptor. */
struct gpubpf_payload {
	struct gpubpf_reader r;
	void *mapped;
	size_t size;
	int fd;                    /* -1: none; the receiver's own to take */
};
int gpubpf_payload_open(struct gpubpf_packet *msg, struct gpubpf_payload *p);
void gpubpf_payload_close(struct gpubpf_payload *p);

#endif
