/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests that the process of a BPF loader sends to a session. They are the bpf(2) calls that the session answers
 * instead of the Linux kernel (hooks/loader). The process sends one request at a time, on a separate connection. A
 * message GPUBPF_MSG_BPF contains u32 enum gpubpf_bpf_op and the arguments. The answer GPUBPF_MSG_BPF_DONE contains s32
 * 0 or -errno, as in bpf(2), and the results. A payload that is too long for a packet is in a memfd.
 *
 * The loader gets a file descriptor ("handle") for each object: a memfd, or a pipe if loaders poll it. Its name
 * identifies the object. The session holds a lock on each handle (core/session/loaders/object.c). Through this lock the
 * session learns when the last descriptor in any process is closed.
 */
#ifndef GPUBPF_CORE_WIRE_LOADER_H
#define GPUBPF_CORE_WIRE_LOADER_H

#include "msg.h"

#define GPUBPF_BPF_MAX (64u << 20)  /* bytes of a payload */
/* The first id of the session's objects. It is above all ids that the Linux kernel assigns. */
#define GPUBPF_BPF_FIRST_ID (1u << 30)

/*
 * Format of a handle's name, such as "gpubpf-map:1073741824:4:8:0". The fields are the object's kind and id. For a map,
 * three fields follow: the number of bytes that bpf(2) copies of a key, the same for a value, and the kind of the
 * values. The last is 0 for bytes, or 1 + enum gpubpf_bpf_kind if values are descriptors of such objects.
 *
 * In /proc/self/fd the name appears after "/memfd:", where bpftool looks for names such as "bpf-map".
 */
#define GPUBPF_BPF_HANDLE "gpubpf-%s:%u:%u:%u:%u"
enum gpubpf_bpf_kind {
	GPUBPF_BPF_MAP,
	GPUBPF_BPF_PROG,
	GPUBPF_BPF_LINK,
	GPUBPF_BPF_BTF,
	GPUBPF_BPF_PERF,   /* a descriptor from perf_event_open(2) for a kprobe or uprobe */
	GPUBPF_BPF_BUFFER, /* a descriptor from perf_event_open(2) for PERF_COUNT_SW_BPF_OUTPUT */
	GPUBPF_BPF_KINDS,
};
extern const char *const gpubpf_bpf_kinds[GPUBPF_BPF_KINDS]; /* "map", ... */

enum gpubpf_bpf_op {
	/*
	 * In the comments below, arguments precede "->" and results follow it. "number" is the id of an object.
	 *
	 * str program, u32 program type -> u32 1 if the program is for a GPU, according to its name and the session's
	 * options
	 */
	GPUBPF_BPF_PROG_IS_GPU = 1,
	/*
	 * u32 type, key_size, value_size, max_entries, flags, u64 extra, str name,
	 * u32 number of the map's BTF or 0, u32 BTF types of key and value,
	 * u32 number of a map that defines the elements of a map of maps, or 0,
	 * u32 id of the Linux kernel's map that this map replaces, or 0,
	 * u32 enum gpubpf_bpf_relation, fd of a map of the Linux kernel
	 * -> fd
	 */
	GPUBPF_BPF_MAP_CREATE = 2,
	/*
	 * u32 map, u32 command of bpf(2), bytes key (empty if there is no key), bytes value, u64 flags -> bytes of the
	 * result. If values are descriptors, the value is u32 number of the object, or 0 if it is not an object of the
	 * session.
	 */
	GPUBPF_BPF_MAP_ELEM = 3,
	/*
	 * u32 map, u32 command, u32 position at which to continue, u32 count, bytes keys, bytes values, u64 flags ->
	 * u32 count, u32 position, bytes keys, bytes values; the results are also sent after an error
	 */
	GPUBPF_BPF_MAP_BATCH = 4,
	GPUBPF_BPF_MAP_FREEZE = 5, /* u32 map */
	/*
	 * u32 type, str name, bytes struct bpf_insn[] that refer to maps by number,
	 * bytes struct bpf_func_info[], bytes struct bpf_line_info[],
	 * u32 number of the program's BTF or 0, u32 1 if the log is requested
	 * -> str log (also after an error), fd
	 */
	GPUBPF_BPF_PROG_LOAD = 6,
	GPUBPF_BPF_BTF_LOAD = 7,  /* bytes -> fd */
	GPUBPF_BPF_INFO = 8,      /* u32 number -> u32 kind, bytes struct bpf_..._info, bytes of BTF or
				        * instructions, bytes u32 ids of maps */
	GPUBPF_BPF_NEXT_ID = 9,   /* u32 kind, u32 number -> u32 the next number */
	GPUBPF_BPF_FD_BY_ID = 10, /* u32 kind, u32 number -> fd */
	/* str function, u32 1 for a return probe, u64 offset in the function in bytes -> fd */
	GPUBPF_BPF_PERF_OPEN = 11,
	GPUBPF_BPF_LINK_CREATE = 12, /* u32 program, u32 perf, u64 cookie -> fd */
	/* u32 perf, u32 program -> nothing; attaches the program until the perf descriptor is closed */
	GPUBPF_BPF_PERF_SET = 13,
	/*
	 * u32 map or buffer, u64 number of bytes to map, u64 first byte, u32 1 if writable -> u64 number of bytes at
	 * the end of the memory that are mapped twice in a row, fd of the memory. If an array of the Linux kernel holds
	 * the values, the fd is that array. For a buffer, the call also sets its size.
	 */
	GPUBPF_BPF_MEMORY = 14,
	GPUBPF_BPF_BUFFER_OPEN = 15, /* u32 1 if the buffer is disabled at first -> fd */
	/* u32 number, str path -> nothing; pins the object as a file at this path below the session's pin folder */
	GPUBPF_BPF_PIN = 16,
	GPUBPF_BPF_PINNED = 17, /* u64 device and u64 inode of a pin's file -> fd of the pinned object */
	/*
	 * u32 id of a map of the Linux kernel -> u32 1 if loaders still read the Linux kernel's map (because it
	 * receives all records), fd of the session's map that corresponds to it
	 */
	GPUBPF_BPF_MAP_BY_KERNEL_ID = 18,
	/*
	 * u32 id of a map of maps of the Linux kernel, and the definition of the inner maps: u32 type, key_size,
	 * value_size, max_entries, flags, u64 extra, str name
	 */
	GPUBPF_BPF_INNER = 19,
	/* u64 offset in a file, u32 1 for a return probe, fd of the file -> fd, as from PERF_OPEN */
	GPUBPF_BPF_UPROBE_OPEN = 20,
	/*
	 * u32 buffer or perf (0 for a perf event of the Linux kernel), u32 enum gpubpf_bpf_output -> nothing. Before
	 * the session answers, it delivers the records that GPU kernels wrote earlier.
	 */
	GPUBPF_BPF_OUTPUT = 21,
	/*
	 * u32 map -> fd of a map of the Linux kernel for BPF programs in the Linux kernel. It is the map that holds the
	 * values, or a second map that the session keeps synchronized from then on.
	 */
	GPUBPF_BPF_KERNEL = 22,
	/* u32 id of a queue of the Linux kernel from which BPF programs in the Linux kernel pop values */
	GPUBPF_BPF_QUEUE_CONSUMED = 23,
	/*
	 * u32 id of a ring buffer of the Linux kernel, u32 1 if the loader has just mapped the ring buffer -> u32 1 if
	 * any loader has mapped it
	 */
	GPUBPF_BPF_RING_MAPPED = 24,
	/*
	 * u32 program, u32 grid[3], u32 block[3], u32 repeat, bytes of the data buffer -> u32 number of the direct run,
	 * which has begun
	 */
	GPUBPF_BPF_RUN = 25,
	/* u32 number of the run -> u32 result, u64 mean ns, bytes of the data buffer; -EAGAIN: the run has not ended */
	GPUBPF_BPF_RUN_RESULT = 26,
	GPUBPF_BPF_OPS,
};

/*
 * The relation between a map of the Linux kernel and a map of the session.
 * - SAME: the Linux kernel's map holds the values, or is the PERF_EVENT_ARRAY whose buffers receive the records.
 * - SEPARATE: the Linux kernel's map has its own content, for BPF programs in the Linux kernel.
 */
enum gpubpf_bpf_relation { GPUBPF_BPF_NONE, GPUBPF_BPF_SAME, GPUBPF_BPF_SEPARATE };

/*
 * A loader's ioctl on a buffer or a perf descriptor (PERF_EVENT_IOC_ENABLE, DISABLE, PAUSE_OUTPUT). A buffer receives
 * records unless it is disabled or paused. On a perf descriptor the ioctl has no effect: the program still runs, as in
 * the Linux kernel.
 */
enum gpubpf_bpf_output { GPUBPF_BPF_ENABLED, GPUBPF_BPF_DISABLED, GPUBPF_BPF_RESUMED, GPUBPF_BPF_PAUSED };

/*
 * Stores in `out` the path of the session's pin folder, which is next to the socket `session`. In the path of a pin,
 * libbpf replaces each dot by an underscore.
 */
#define GPUBPF_BPF_PINS_SIZE 300
void gpubpf_bpf_pins(const char *session, char out[GPUBPF_BPF_PINS_SIZE]);

/* Sends the content of w, at most GPUBPF_BPF_MAX bytes, and a descriptor (-1: none). Returns 0 or -errno. */
int gpubpf_payload_send(int sock, int flags, uint16_t type, uint32_t seq, const struct gpubpf_writer *w, int fd);

/*
 * A received payload with its descriptor. gpubpf_payload_open() fills it from a packet, and gpubpf_payload_close()
 * releases both.
 */
struct gpubpf_payload {
	struct gpubpf_reader r;
	void *mapped;
	size_t size;
	int fd; /* -1: no descriptor; a receiver that takes it sets -1 */
};
int gpubpf_payload_open(struct gpubpf_packet *msg, struct gpubpf_payload *p);
void gpubpf_payload_close(struct gpubpf_payload *p);

#endif
