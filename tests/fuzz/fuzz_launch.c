/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: hooks/launch/launch.c hooks/launch/count.c hooks/launch/kernel.c hooks/launch/record.c hooks/device/allocations.c hooks/unwind/stacks.c hooks/unwind/unwind.c hooks/unwind/cfi.c hooks/launch/twin_binding.c hooks/launch/twin_links.c hooks/launch/twin_load.c hooks/launch/twin_module.c hooks/launch/twin_refresh.c hooks/launch/twin_request.c hooks/launch/twin_steps.c hooks/launch/agent_job.c hooks/launch/async_twins.c hooks/launch/images.c hooks/device/copy_back.c hooks/device/device.c hooks/device/device_end.c hooks/device/devices.c hooks/device/final_copy.c hooks/launch/gate.c hooks/launch/subset.c hooks/launch/where.c hooks/launch/init.c hooks/device/external_maps.c hooks/device/shared_arena.c hooks/device/drain.c hooks/device/prefault.c hooks/device/clock.c hooks/client/leave.c hooks/client/parse.c hooks/process/session_state.c hooks/process/environ.c hooks/client/wait_budget.c hooks/launch/plan.c hooks/launch/hold.c maps/host/mirror.c
// SOURCES: core/wire/name.c core/wire/fields.c core/wire/wire.c core/wire/msg.c core/wire/match.c core/wire/glob.c core/wire/placement.c
// LIBS: -lpthread
/*
 * Runs a whole agent with arbitrary packets from its tool. The agent joins, launches kernels, loads images and copies
 * its arena, or continues without a session. An input is a list of packets, and the agent receives the next one
 * whenever it waits. The simulated runtime below the agent fails only for invalid calls, and checks every memory range.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static int fuzz_socket(void);
static int fuzz_poll(struct pollfd *fd, int timeout_ms);

/*
 * This file includes the agent's source files because their state is static. The agent connects to this harness. The
 * thread that waits also does the work of the reader thread, so that an input always runs in the same way.
 */
#define socket(domain, type, protocol) fuzz_socket()
#define connect(fd, address, size) 0
#define poll(fds, n, timeout) fuzz_poll(fds, timeout)
#include "hooks/host/host.h"
#include "hooks/client/socket.c"
#include "hooks/client/client.c"
#include "hooks/client/join.c"
#define lock table_mutex
#include "hooks/client/kernel_table.c"
#undef lock
#undef poll

#include "hooks/agent.h"
#include "hooks/process/agent_thread.h"
#include "maps/layout.h"

#define ARENA_SIZE (768u << 10) /* bytes; enough for two tables of allocations and the table of granules */
#define KERNELS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* properties of the simulated device and runtime, as bits */
enum { DISCRETE = 1, NO_LIST = 2, HEADERS = 4, REASON = 8, NO_LOAD = 16, NO_KERNEL = 32, NO_ATTACH = 64 };
/*
 * A packet's second byte: the kinds of its two file descriptors, with three bits each, and the flags OTHER_SEQ and RAW.
 */
enum { FD_NONE, FD_TABLE, FD_ARENA, FD_IMAGE, FD_OPEN, FD_NULL, FD_SHORT, FD_EMPTY };
enum { OTHER_SEQ = 64, RAW = 128 };

_Thread_local int gpubpf_hook_callbacks;

static const uint8_t *input, *input_end;
static uint8_t bits;
static uint64_t now;
static int tool = -1;
static int kept_table = -1;

/* -- time and waiting -- */

uint64_t gpubpf_now_ns(void)
{
	return now += 1000;
}

/* Do not wait: data that is not available now never arrives. */
static int fuzz_poll(struct pollfd *fd, int timeout_ms)
{
	int n = poll(fd, 1, 0);

	if (!n && timeout_ms > 0)
		now += timeout_ms * 1000000ull;
	return n;
}

void gpubpf_cond_init(pthread_cond_t *cond)
{
}

bool gpubpf_mutex_lock_until(pthread_mutex_t *lock, uint64_t deadline_ns)
{
	return !pthread_mutex_trylock(lock);
}

static bool feed(void);

bool gpubpf_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns)
{
	static uint8_t buffer[GPUBPF_MSG_BUF];
	bool fed;
	int err;

	pthread_mutex_unlock(lock);
	fed = gpubpf_client.sock >= 0 && feed();
	if (fed && (err = read_one(gpubpf_client.sock, buffer)) < 0) {
		pthread_mutex_lock(&gpubpf_client.lock);
		gpubpf_client_end_session(why_lost(err));
		pthread_mutex_unlock(&gpubpf_client.lock);
	}
	pthread_mutex_lock(lock);
	if (!fed && now < deadline_ns)
		now = deadline_ns;
	return fed;
}

/* The session has no programs of sections host/. */
atomic_uint gpubpf_host_events;
atomic_uint_fast64_t gpubpf_host_generation;

uint64_t gpubpf_host_generation_now(void)
{
	return 0;
}

bool gpubpf_host_run_begin(struct gpubpf_host_call *call)
{
	return false;
}

void gpubpf_host_end(struct gpubpf_host_call *call, int64_t result)
{
}

void gpubpf_host_after_fork(void)
{
}

void gpubpf_log_once(const char *fmt, ...)
{
	char line[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
}

bool gpubpf_same_file(int fd, const struct stat *known)
{
	return true;
}

/* -- the tool -- */

static int fuzz_socket(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		abort();
	tool = pair[0];
	feed();
	return pair[1];
}

/*
 * Make an arena with a valid header. The packet's bytes from the 21st on fill the rest, including the layouts of the
 * maps.
 */
static int arena_fd(const uint8_t *data, size_t size, size_t room)
{
	struct gpubpf_arena_hdr hdr = {
		.magic = GPUBPF_ARENA_MAGIC,
		.version = GPUBPF_ARENA_VERSION,
		.nmaps = 2,
		.size = room,
		.used = size > 20 && data[20] & 2 ? room / 2 : room,
		.print_ring = GPUBPF_ARENA_PRINTS,
	};
	int fd = gpubpf_memfd_shared("a", room);
	size_t n = size > 20 ? size - 20 : 0;

	if (n && data[20] & 1)
		hdr.nmaps = data[20];
	if (n && data[20] & 4) {
		hdr.allocation_tables = data[20] >> 4;
		hdr.allocations = data[20] & 8 ? UINT64_MAX - 7 : GPUBPF_ARENA_DATA;
		hdr.granules = hdr.allocations + hdr.allocation_tables * GPUBPF_ALLOCATION_TABLE;
	}
	if (pwrite(fd, &hdr, sizeof(hdr), 0) < 0 ||
	    (n > 1 && room == ARENA_SIZE &&
	     pwrite(fd, data + 21, n - 1 < room / 4 ? n - 1 : room / 4, GPUBPF_ARENA_MAPS) < 0))
		abort();
	return fd;
}

static int table_fd(void)
{
	uint64_t head[7] = { GPUBPF_KERNEL_TABLE_MAGIC, GPUBPF_KERNEL_TABLE_VERSION, 1, 0, 0, 2, 2 };
	static const struct gpubpf_plan_entry plan[3] = { { 0, 0, "k*" }, { 7, 0, "k1" }, { 2, 0, "*" } };

	if (kept_table >= 0)
		close(kept_table);
	kept_table = gpubpf_memfd_shared("b", sizeof(struct gpubpf_kernel_table));
	if (pwrite(kept_table, head, sizeof(head), 0) < 0 ||
	    pwrite(kept_table, plan, sizeof(plan), offsetof(struct gpubpf_kernel_table, entry)) < 0)
		abort();
	return dup(kept_table);
}

static int descriptor(int which, const uint8_t *data, size_t size)
{
	switch (which) {
	case FD_TABLE:
		return table_fd();
	case FD_ARENA:
		return arena_fd(data, size, ARENA_SIZE);
	case FD_IMAGE:
		return gpubpf_memfd_image("i", data, size);
	case FD_OPEN:
		return memfd_create("o", MFD_CLOEXEC);
	case FD_NULL:
		return open("/dev/null", O_RDWR | O_CLOEXEC);
	case FD_SHORT:
		return arena_fd(data, size, 256);
	case FD_EMPTY:
		return gpubpf_memfd_image("e", "", 0);
	default:
		return -1;
	}
}

/*
 * Send the next packet of the input: type, flags, two bytes of length, payload. Returns false at the end of the input.
 */
static bool feed(void)
{
	struct gpubpf_writer w = { 0 };
	uint8_t type, how;
	uint32_t n = 0;
	int fds[2];

	if (input_end - input < 4)
		return false;
	type = input[0];
	how = input[1];
	w.size = input[2] | input[3] << 8;
	input += 4;
	if (w.size > (size_t)(input_end - input))
		w.size = input_end - input;
	w.data = (uint8_t *)input;
	input += w.size;
	if (type == 255 && kept_table >= 0) { /* type 255: write to the kernel table while the agent runs */
		if (pwrite(kept_table, w.data, w.size < 4096 ? w.size : 4096, how * 8) < 0)
			abort();
		return feed();
	}
	for (int i = 0; i < 2; i++)
		if ((fds[n] = descriptor(how >> 3 * i & 7, w.data, w.size)) >= 0)
			n++;
	if (how & RAW)
		send(tool, w.data, w.size, MSG_DONTWAIT | MSG_NOSIGNAL);
	else
		gpubpf_msg_send(tool, MSG_DONTWAIT, type,
				how & OTHER_SEQ   ? 1 :
				gpubpf_client.seq ? gpubpf_client.seq :
						    1,
				&w, fds, n);
	for (uint32_t i = 0; i < n; i++)
		close(fds[i]);
	return true;
}

static void hear(void)
{
	static uint8_t buffer[GPUBPF_MSG_BUF];
	struct gpubpf_packet packet;

	while (tool >= 0 && !gpubpf_msg_recv(tool, MSG_DONTWAIT, buffer, &packet))
		gpubpf_msg_close(&packet);
}

/* -- the runtime -- */

struct gpubpf_device {
	struct gpubpf_device_caps caps;
	uint8_t *host;
	void *mapped;
	size_t size;
};

static int device_open(const struct gpubpf_device_open *how, struct gpubpf_device **device, struct gpubpf_reason *why)
{
	*device = calloc(1, sizeof(**device));
	(*device)->caps.bits = (bits & DISCRETE ? 0 : GPUBPF_CAP_SHARED_ARENA) | GPUBPF_CAP_ALLOCATIONS;
	(*device)->caps.clock = GPUBPF_CLOCK_NONE;
	return 0;
}

/* Unmap the arena. The agent keeps a shared arena until its process ends, but here many inputs run in one process. */
static void device_close(struct gpubpf_device *device)
{
	if (device->mapped && !(bits & DISCRETE))
		munmap(device->mapped, device->size);
	free(device);
}

static const struct gpubpf_device_caps *device_caps(const struct gpubpf_device *device)
{
	return &device->caps;
}

static int arena_attach(struct gpubpf_device *device, void *host, size_t size, uint64_t *address, struct gpubpf_reason *why)
{
	if (bits & NO_ATTACH)
		return -ENOMEM;
	device->host = device->mapped = host;
	device->size = size;
	*address = 4096;
	return 0;
}

/* Copy to the device. Aborts if the range is outside the arena, and reads every byte of the source. */
static int push(struct gpubpf_device *device, size_t offset, const void *from, size_t size)
{
	uint64_t sum = 0;

	if (!device->host || offset > device->size || size > device->size - offset)
		abort();
	for (size_t i = 0; i < size; i++)
		sum += ((const volatile uint8_t *)from)[i];
	return sum == UINT64_MAX;
}

static int pull(struct gpubpf_device *device, size_t offset, void *to, size_t size)
{
	if (!device->host || offset > device->size || size > device->size - offset)
		abort();
	for (size_t i = 0; i < size; i++)
		((uint8_t *)to)[i] = device->host[offset + i] ^ 1;
	return 0;
}

static void arena_detach(struct gpubpf_device *device)
{
	device->host = NULL;
}

static int no_clock(struct gpubpf_device *device, uint64_t *cycles, uint64_t *before_ns, uint64_t *after_ns)
{
	return -EOPNOTSUPP;
}

static const struct gpubpf_device_ops device_ops = {
	.backend = "fuzz",
	.clock = no_clock,
	.open = device_open,
	.close = device_close,
	.caps = device_caps,
	.arena_attach = arena_attach,
	.arena_pull = pull,
	.arena_push = push,
	.arena_detach = arena_detach,
};

static int image(void *program, struct gpubpf_hook_device *device, struct gpubpf_hook_image *out)
{
	static const struct gpubpf_hook_header header = { "h.h", "int x;", 6 };

	out->kind = GPUBPF_IMAGE_OPENCL_C;
	out->data = "__kernel void k0(int x) {}";
	out->size = 26;
	out->options = "-w";
	out->headers = &header;
	out->nheaders = !!(bits & HEADERS);
	out->reason = bits & REASON ? "no source" : NULL;
	return 0;
}

static struct gpubpf_name_list *kernels(void *program)
{
	return bits & NO_LIST ? NULL : gpubpf_names_split("k0;k1;;other", ';');
}

static void image_put(struct gpubpf_hook_image *image)
{
}

/* Do the work in the calling thread, so that an input always takes the same path. */
void gpubpf_run_on_agent_thread(void (*work)(void *arg), void *arg)
{
	work(arg);
}

int gpubpf_thread_start(void *(*run)(void *arg), void *arg)
{
	return -EAGAIN;
}

static int twin_load(struct gpubpf_hook_device *device, void *program, const struct gpubpf_hook_twin_image *image,
		     void **module, struct gpubpf_reason *why)
{
	if (bits & NO_LOAD)
		return -EINVAL;
	*module = malloc(image->size + image->code_size + strlen(image->options) + 1);
	memcpy(*module, image->data, image->size);
	if (image->code)
		memcpy((char *)*module + image->size, image->code, image->code_size);
	return 0;
}

static int twin_kernel(void *module, const struct gpubpf_hook_twin *what, void *kernel, void **twin,
		       struct gpubpf_reason *why)
{
	if (bits & NO_KERNEL || what->params > 8)
		return -EINVAL;
	*twin = strdup(what->name);
	return 0;
}

static const struct gpubpf_hook_ops ops = {
	.backend = "fuzz",
	.device = &device_ops,
	.kernels = kernels,
	.image = image,
	.image_put = image_put,
	.twin_load = twin_load,
	.twin_kernel = twin_kernel,
	.twin_kernel_put = free,
	.twin_unload = free,
};

bool gpubpf_lockdown_allows_stack_reads(void)
{
	return true;
}

bool gpubpf_lockdown_allows_stderr(int nr)
{
	return true;
}

int gpubpf_lockdown_find_call(void)
{
	return -1;
}

void gpubpf_log_stderr(const char *fmt, ...)
{
}

/* -- the application -- */

static void launch(struct gpubpf_hook_kernel *kernel, struct gpubpf_hook_device *device)
{
	struct gpubpf_hook_launch l = { .kernel = kernel, .device = device, .dim = 1, .grid = { 64, 1, 1 } };

	gpubpf_allocation_add(NULL, true,
			      &(struct gpubpf_allocation){ now, 64, GPUBPF_ALLOCATION_DEVICE, gpubpf_allocation_number() });
	gpubpf_hook_launch_begin(&l);
	gpubpf_allocation_cut(now - 4096, 4096);
	if (l.twin && !l.arena)
		abort();
	gpubpf_hook_launch_end(&l, GPUBPF_LAUNCHED);
	if (l.twin && l.followed)
		gpubpf_hook_completed(device);
	gpubpf_hook_device_synced();
	hear();
}

static void application(void)
{
	static const char *const names[KERNELS] = { "k0", "k1", "_Z2k0v" };
	struct gpubpf_hook_kernel *kernels[KERNELS];
	struct gpubpf_device_open how = { 0 };
	struct gpubpf_hook_program *program;
	struct gpubpf_hook_device *device;

	gpubpf_hook_device_create(&ops, &how, 0, &device);
	gpubpf_hook_program_create(&ops, NULL, &program);
	for (int i = 0; i < KERNELS; i++)
		gpubpf_hook_kernel_create(program, NULL, names[i], &kernels[i]);
	for (int i = 0; i < 4 * KERNELS; i++) {
		launch(kernels[i % KERNELS], device);
		if (i >= KERNELS) { /* a packet without a request */
			pthread_mutex_lock(&gpubpf_client.lock);
			gpubpf_cond_wait_until(&gpubpf_client.cond, &gpubpf_client.lock, 0);
			pthread_mutex_unlock(&gpubpf_client.lock);
		}
	}
	for (int i = 0; i < KERNELS; i++)
		gpubpf_hook_kernel_destroy(kernels[i]);
	gpubpf_hook_program_destroy(program);
	gpubpf_hook_device_destroy(device);
}

/* Reset the agent's state as in the child of a fork, without the parent's objects. */
static void forget(void)
{
	struct gpubpf_kernel_table *table = gpubpf_client.table;

	before_fork();
	after_fork_child();
	for (size_t i = 0; i < BUCKETS; i++) {
		struct gpubpf_kernel_entry *next;

		for (struct gpubpf_kernel_entry *e = buckets[i]; e; e = next) {
			next = e->next;
			if (!table || (void *)e->shared < (void *)table || (void *)e->shared >= (void *)(table + 1))
				free(e->shared);
			free(e);
		}
		buckets[i] = NULL;
	}
	if (table)
		munmap(table, sizeof(*table));
	gpubpf_client.table = NULL;
	gpubpf_client.seq = 0;
	if (tool >= 0)
		close(tool);
	if (kept_table >= 0)
		close(kept_table);
	tool = kept_table = -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	setenv("GPUBPF_SESSION", "/fuzz", 1);
	bits = data[0];
	input = data + 1;
	input_end = data + size;
	now = 1;
	if (!gpubpf_hook_init(&ops))
		application();
	forget();
	return 0;
}
