/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: core/session/*.c core/session/*/*.c core/wire/*.c core/wire/files/*.c core/load/*.c core/load/*/*.c core/verify/*.c core/verify/*/*.c
// SOURCES: maps/*.c maps/host/*.c maps/kinds/*.c
// SOURCES: core/model/*.c core/model/text/*.c core/target.c backends/registry.c core/worker/alike.c core/worker/codec.c core/worker/codec_job.c core/worker/result_cache.c core/worker/spawn.c
// LIBS: -lgpubpf-bpf -lelf -lz -ljson-c -lnettle -lpthread -ldl
/*
 * Sends arbitrary packets from a process, and writes arbitrary bytes to its kernel table. The session must serve or
 * disconnect that process, report its data, and continue to serve other processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/private.h"
#include "core/session/report/private.h"
#include "core/worker/job.h"
#include "core/worker/installed.h"
#include "core/worker/spawn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* kinds of steps: RAW bytes, changes of memory, and from MESSAGE on packets with a valid header */
enum { RAW, TABLE, ARENA, MESSAGE, STEPS = 32 };

static struct gpubpf_session *session;
static char dir[64];
static int kept[64];
static unsigned int nkept;

/*
 * Replacement of the worker's client. Real workers would fork for each input; here every job fails as if its worker
 * died.
 */
struct gpubpf_worker {
	int none;
};

int gpubpf_worker_create(const struct gpubpf_worker_opts *opts, struct gpubpf_worker **worker)
{
	*worker = calloc(1, sizeof(**worker));
	return 0;
}

int gpubpf_worker_find(const char *name, char *path, size_t size)
{
	return -ENOENT;
}

int gpubpf_agent_find(char *path, size_t size)
{
	return -ENOENT;
}

int gpubpf_idle_find(char *path, size_t size)
{
	return -ENOENT;
}

int gpubpf_bpf_preload_find(char *path, size_t size)
{
	return -ENOENT;
}

void gpubpf_worker_destroy(struct gpubpf_worker *worker)
{
	free(worker);
}

/* no cache */
void gpubpf_worker_cache_use(const struct gpubpf_worker *worker, uint64_t *hits, uint64_t *misses)
{
}

void gpubpf_worker_cancel(struct gpubpf_worker *worker)
{
}

void gpubpf_twin_image_finish(struct gpubpf_twin_image *image)
{
}

int gpubpf_worker_emit(struct gpubpf_worker *worker, const char *target, const struct gpubpf_lower_job *job,
		       const struct gpubpf_target_opts *opts, struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	return -EPIPE;
}

/* Returns the kernel k for an image that starts with '_', otherwise an error. */
int gpubpf_worker_inspect(struct gpubpf_worker *worker, const char *target, const struct gpubpf_image *image,
			  const struct gpubpf_device_caps *caps, struct gpubpf_kernel_info **kernels,
			  uint32_t *nkernels, struct gpubpf_diag *diag)
{
	if (!image->size || ((const char *)image->data)[0] != '_')
		return -EPIPE;
	*kernels = calloc(1, sizeof(**kernels));
	strcpy((*kernels)->name, "k");
	*nkernels = 1;
	return 0;
}

int gpubpf_worker_inject(struct gpubpf_worker *worker, const char *target, const struct gpubpf_image *image,
			 const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts,
			 struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	return -EINVAL;
}

int gpubpf_worker_query(struct gpubpf_worker *worker, const char *target, const struct gpubpf_image *image,
			const struct gpubpf_device_caps *caps, struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	return -EINVAL;
}

int gpubpf_worker_build(struct gpubpf_worker *worker, const struct gpubpf_device_caps *caps,
			const struct gpubpf_twin_image *pieces, struct gpubpf_twin_image *out, char *log,
			size_t log_size, struct gpubpf_diag *diag)
{
	return -EINVAL;
}

int gpubpf_worker_assemble(struct gpubpf_worker *starter, const struct gpubpf_assembly *what,
			   struct gpubpf_twin_image *out, char *log, size_t log_size, struct gpubpf_diag *diag)
{
	return -EINVAL;
}

static void remove_dir(void)
{
	rmdir(dir);
}

/* Load a program that can be attached and detached, but not compiled. */
static void load_program(struct gpubpf_loaded *loaded)
{
	struct gpubpf_prog *prog = calloc(1, sizeof(*prog));

	strcpy(prog->name, "p");
	strcpy(prog->section, "gpu/entry/k*");
	strcpy(prog->pattern, "k*");
	/* larger than the struct: gpubpf_facts_destroy() reads the verifier's private data after the struct */
	prog->facts = calloc(1, 4096);
	prog->facts->map_use = calloc(GPUBPF_MAX_MAPS, sizeof(*prog->facts->map_use));
	prog->facts->prints = true;
	loaded->unit.progs = prog;
	loaded->unit.nprogs = 1;
	loaded->objects = calloc(1, sizeof(*loaded->objects));
	loaded->nobjects = 1;
}

/* Load a program, a map and a ring buffer into the session, so that packets can refer to an arena. */
static void load(struct gpubpf_session *s)
{
	static const char *const names[] = { "counts", "ring" };
	static const uint32_t types[] = { 1, 27 };
	struct gpubpf_loaded *loaded = calloc(1, sizeof(*loaded));
	struct gpubpf_diag diag;

	loaded->unit.maps = calloc(2, sizeof(*loaded->unit.maps));
	loaded->unit.nmaps = 2;
	for (int i = 0; i < 2; i++) {
		struct gpubpf_map *m = &loaded->unit.maps[i];

		strcpy(m->name, names[i]);
		m->type = gpubpf_map_type_find(types[i]);
		m->key_size = i ? 0 : 4;
		m->value_size = i ? 0 : 8;
		m->max_entries = i ? 4096 : 16;
	}
	load_program(loaded);
	gpubpf_unit_set_loaded(s, loaded);
	if (gpubpf_unit_open_links(s) < 0 || gpubpf_unit_collect_use(s) < 0 || gpubpf_maps_open(s) < 0)
		abort();
	gpubpf_diag_init(&diag);
	if (gpubpf_arena_open(s, 2, NULL, 0, 0, &diag) < 0)
		abort();
	s->state = GPUBPF_SESSION_LOADED;
}

/* Start a new session for each input, so that a crash depends on that input only. */
static void begin(size_t size)
{
	struct gpubpf_session_opts o = { .sz = sizeof(o), .runtime_dir = dir, .worker_dir = "/nonexistent", .wait_ms = 1 };

	if (!dir[0]) {
		strcpy(dir, "/tmp/fuzz-session-XXXXXX");
		if (!mkdtemp(dir))
			abort();
		atexit(remove_dir);
	}
	session = gpubpf_session__new(&o);
	session->opts.inspect = size & 2;
	load(session);
	if (gpubpf_session__start(session) < 0)
		abort();
}

/* Wait until the builder threads have answered all requests, so that an input always runs in the same way. */
static void wait_for_builders(void)
{
	while (gpubpf_session__pending(session))
		gpubpf_session__poll(session, 1000);
	gpubpf_session__poll(session, 0);
}

static int join(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	strcpy(addr.sun_path, gpubpf_session__path(session));
	if (connect(sock, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		abort();
	return sock;
}

/* Receive the answers. Keep their file descriptors until the input ends, as a loader keeps its objects. */
static void hear(int sock)
{
	static uint8_t buffer[GPUBPF_MSG_BUF];
	struct gpubpf_packet packet;

	while (!gpubpf_msg_recv(sock, MSG_DONTWAIT, buffer, &packet)) {
		if (nkept < sizeof(kept) / sizeof(kept[0]) && packet.nfds)
			kept[nkept++] = gpubpf_msg_take_fd(&packet, packet.nfds - 1);
		gpubpf_msg_close(&packet);
	}
}

static void close_descriptors(void)
{
	while (nkept)
		close(kept[--nkept]);
}

static int descriptor(uint8_t how)
{
	switch (how & 3) {
	case 1:
		return gpubpf_memfd_image("i", "__kernel void k(void) {}", 24);
	case 2:
		return memfd_create("open", MFD_CLOEXEC);
	case 3:
		return open("/dev/null", O_RDWR | O_CLOEXEC);
	default:
		return -1;
	}
}

static void message(int sock, uint16_t type, uint8_t how, const void *data, size_t size)
{
	struct gpubpf_writer w = { .data = (uint8_t *)data, .size = size };
	int fds[2] = { descriptor(how), descriptor(how >> 2) };
	uint32_t n = fds[0] < 0 ? 0 : fds[1] < 0 ? 1 : 2;

	gpubpf_msg_send(sock, MSG_DONTWAIT, type, 7, &w, fds, n);
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void scribble(void *to, size_t room, uint8_t where, const void *data, size_t size)
{
	size_t at = (size_t)where * 64 % room;

	memcpy((char *)to + at, data, size < room - at ? size : room - at);
}

static void step(int sock, uint8_t op, uint8_t how, const uint8_t *data, size_t size)
{
	switch (op % STEPS) {
	case RAW:
		send(sock, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
		break;
	case TABLE:
		scribble(session->report->table, sizeof(*session->report->table), how, data, size);
		break;
	case ARENA:
		scribble(gpubpf_arena_at(session, 0)->base, gpubpf_arena_at(session, 0)->layout.size, how, data, size);
		break;
	default:
		message(sock, op % STEPS - MESSAGE + 1, how, data, size);
	}
	wait_for_builders();
	hear(sock);
}

static void report(size_t size)
{
	struct gpubpf_report_opts opts = { .sz = sizeof(opts), .json = size & 1 };
	static FILE *null;

	if (!null)
		null = fopen("/dev/null", "w");
	gpubpf_session__report(session, null, &opts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t whole = size;
	int sock;

	begin(size);
	sock = join();
	while (size >= 4) {
		size_t n = data[2] | data[3] << 8;

		n = n < size - 4 ? n : size - 4;
		step(sock, data[0], data[1], data + 4, n);
		data += 4 + n;
		size -= 4 + n;
	}
	report(whole);
	close(sock);
	close_descriptors();
	gpubpf_session__poll(session, 0);
	gpubpf_session__free(session);
	return 0;
}
