/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_tool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/wire/fields.h"
#include "maps/layout.h"

#define ARENA_SIZE 65536
#define PEERS 64
#define MISSING_DEVICE 4711 /* number of a device that does not exist */
#define NOBODY 65534

static struct {
	const struct fake_options *o;
	struct fake_tool *tool;
	struct fake_shared *seen;
	int table, arenas[FAKE_ARENAS];
	uint32_t next_arena;
	struct gpubpf_device_caps caps;
	uint32_t random;
} fake;

static uint32_t roll(void)
{
	fake.random = fake.random * 1664525 + 1013904223;
	return fake.random >> 8;
}

static void send_to(int fd, enum gpubpf_msg type, uint32_t seq, struct gpubpf_writer *w, int with)
{
	gpubpf_msg_send(fd, 0, type, seq, w, &with, with >= 0);
	gpubpf_writer_finish(w);
}

static void welcome(int fd, uint32_t seq)
{
	struct gpubpf_writer w = {0};

	gpubpf_put_u32(&w, fake.seen->hellos++);
	gpubpf_put_u32(&w, fake.o->wait_ms);
	gpubpf_put_u64(&w, fake.o->sample);
	gpubpf_put_u64(&w, fake.o->first);
	gpubpf_put_u32(&w, 0);
	send_to(fd, GPUBPF_MSG_WELCOME, seq, &w, fake.table);
}

static void arena(int fd, struct gpubpf_packet *p)
{
	uint32_t device = gpubpf_get_u32(&p->payload);
	struct gpubpf_writer w = {0};
	struct gpubpf_device_caps caps;
	int memory;

	if (gpubpf_get_caps(&p->payload, &caps))
		fake.caps = caps;
	/* devices that use host memory share one arena; every other device has its own */
	memory = fake.arenas[fake.caps.bits & GPUBPF_CAP_SHARED_ARENA ? 0 : fake.next_arena++ % FAKE_ARENAS];
	gpubpf_put_u32(&w, device);
	gpubpf_put_u64(&w, fake.o->mode == FAKE_NO_ARENA ? 0 : ARENA_SIZE);
	gpubpf_put_u64(&w, 0);
	gpubpf_put_str(&w, fake.o->mode == FAKE_NO_ARENA ? "no memory today" : "");
	send_to(fd, GPUBPF_MSG_ARENA, p->seq, &w, fake.o->mode == FAKE_NO_ARENA ? -1 : memory);
}

uint32_t fake_twin_registers;

struct request {
	uint32_t kind, n;
	char options[4096], ignored[256], names[FAKE_KERNELS][128];
	uint32_t index[FAKE_KERNELS], nparams[FAKE_KERNELS];
	void *source;
	size_t size;
};

static int read_request(struct gpubpf_packet *p, struct request *r)
{
	uint32_t headers;

	gpubpf_get_u32(&p->payload);
	r->kind = gpubpf_get_u32(&p->payload);
	gpubpf_get_str(&p->payload, r->options, sizeof(r->options));
	headers = gpubpf_get_count(&p->payload, 20);
	r->n = gpubpf_get_count(&p->payload, 4);
	for (uint32_t i = 0; i < r->n && i < FAKE_KERNELS; i++) {
		gpubpf_get_str(&p->payload, r->names[i], sizeof(r->names[i]));
		r->index[i] = fake.seen->nnames;
		strcpy(fake.seen->names[fake.seen->nnames++], r->names[i]);
	}
	gpubpf_get_u32(&p->payload);
	gpubpf_get_str(&p->payload, r->ignored, sizeof(r->ignored));
	gpubpf_get_u64(&p->payload);
	for (uint32_t n = gpubpf_get_count(&p->payload, 4); n; n--)
		gpubpf_get_u32(&p->payload);
	gpubpf_get_str(&p->payload, r->ignored, sizeof(r->ignored));
	gpubpf_get_u64(&p->payload);
	fake_twin_registers = gpubpf_get_u32(&p->payload);
	r->size = gpubpf_memfd_size(p->fds[0], GPUBPF_IMAGE_MAX);
	r->source = calloc(1, r->size + 1);
	if (headers || p->payload.failed || pread(p->fds[0], r->source, r->size, 0) != (ssize_t)r->size)
		return -1;
	return r->kind == fake_twin_input_kind ? 0 : -1;
}

static void refuse(int fd, uint32_t seq, const char *reason)
{
	struct gpubpf_writer w = {0};

	gpubpf_put_u32(&w, GPUBPF_IMAGE_NONE);
	gpubpf_put_str(&w, "");
	gpubpf_put_u32(&w, 0);
	gpubpf_put_str(&w, reason);
	gpubpf_put_u64(&w, 0);
	send_to(fd, GPUBPF_MSG_TWIN_DONE, seq, &w, -1);
}

static uint64_t probed(void)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < GPUBPF_KERNEL_TABLE_ROWS; i++)
		n += __atomic_load_n(&fake.tool->table->kernel[i].probed, __ATOMIC_RELAXED);
	return n;
}

static void detach_soon(uint64_t before)
{
	for (int i = 0; i < 600000 && probed() == before; i++)
		usleep(100);
	fake_attach(fake.tool, NULL);
}

static void send_twins(int fd, uint32_t seq, const struct request *r, void *binary, size_t size)
{
	bool list = fake.o->mode == FAKE_LIST;
	uint64_t before = probed();
	struct gpubpf_writer w = {0};
	int image;

	gpubpf_put_u32(&w, fake_twin_output_kind);
	gpubpf_put_str(&w, "");
	gpubpf_put_u32(&w, r->n);
	for (uint32_t i = 0; i < r->n; i++) {
		char twin[160];

		snprintf(twin, sizeof(twin), "gpubpf_twin_%s", r->names[i]);
		gpubpf_put_str(&w, r->names[i]);
		gpubpf_put_u64(&w, r->index[i]);
		gpubpf_put_str(&w, list ? "" : twin);
		gpubpf_put_u32(&w, GPUBPF_TWIN_ARG_ARENA | GPUBPF_TWIN_ARG_LAUNCH | GPUBPF_TWIN_ARG_PID);
		gpubpf_put_u32(&w, r->nparams[i] + (fake.o->mode == FAKE_WRONG_TWIN));
		gpubpf_put_str(&w, "");
	}
	gpubpf_put_str(&w, "");
	gpubpf_put_u64(&w, 1);
	image = list ? -1 : gpubpf_memfd_image("twin", binary, size);
	fake.seen->twins++; /* count before the answer: the application may end right after it */
	send_to(fd, GPUBPF_MSG_TWIN_DONE, seq, &w, image);
	if (image >= 0)
		close(image);
	if (fake.o->fleeting)
		detach_soon(before);
}

/* Send invalid packets derived from the seed, and then a correct answer, which the agent must still accept. */
static void hostile(int fd, uint32_t seq)
{
	unsigned char bytes[4096];
	struct gpubpf_writer w = {0};
	size_t n = roll() % sizeof(bytes);

	for (size_t i = 0; i < n; i++)
		bytes[i] = roll();
	if (fake.o->seed % 3 == 0) {
		(void)!send(fd, bytes, n, MSG_NOSIGNAL);
		return;
	}
	gpubpf_put_u32(&w, fake.o->seed % 3 == 1 ? GPUBPF_IMAGE_OPENCL_BINARY : roll());
	gpubpf_put_str(&w, "");
	gpubpf_put_u32(&w, roll() % 5 ? roll() % 64 : roll());
	for (size_t i = 0; i < n % 64; i++)
		gpubpf_put_u32(&w, roll() % 8);
	send_to(fd, roll() % 12, roll() % 4 ? seq : roll(), &w, roll() % 2 ? fake.table : -1);
}

static void pull_gone(int fd)
{
	struct gpubpf_writer w = {0};

	gpubpf_put_u32(&w, MISSING_DEVICE);
	send_to(fd, GPUBPF_MSG_PULL, 0, &w, -1);
	fake.seen->requests_for_missing++;
}

static void twin(int fd, struct gpubpf_packet *p)
{
	static struct request r;
	void *binary = NULL;
	size_t size = 0;

	memset(&r, 0, sizeof(r));
	if (read_request(p, &r) < 0) {
		refuse(fd, p->seq, "the fake tool takes plain source only");
		return;
	}
	fake.seen->asked++;
	while (fake.seen->hold)
		usleep(1000);
	if (fake.o->mode == FAKE_PROBE)
		pull_gone(fd);
	if (fake.o->mode == FAKE_DIE)
		raise(SIGKILL);
	if (fake.o->mode == FAKE_STOPPED)
		raise(SIGSTOP);
	if (fake.o->mode == FAKE_HOSTILE)
		hostile(fd, p->seq);
	if (fake.o->mode == FAKE_SLOW)
		usleep(fake.o->delay_ms * 1000);
	if (fake.o->mode == FAKE_SILENT || fake.o->mode == FAKE_HOSTILE)
		return;
	if (fake.o->mode == FAKE_REFUSE || fake.seen->refuse) {
		refuse(fd, p->seq, "refused for the test");
		return;
	}
	if (fake.o->mode == FAKE_NO_BINARY)
		send_twins(fd, p->seq, &r, "no binary", 9);
	else if (fake_twin_build(&fake.caps, r.source, r.size, r.options, r.names, r.index, r.nparams, r.n, &binary,
				 &size))
		refuse(fd, p->seq, "the vendor does not build it");
	else
		send_twins(fd, p->seq, &r, binary, size);
	if (fake.o->mode == FAKE_DIE_LATER && !fork()) {
		usleep(fake.o->delay_ms * 1000);
		kill(getppid(), SIGKILL);
		_exit(0);
	}
}

static void handle(int fd, struct gpubpf_packet *p)
{
	switch (p->type) {
	case GPUBPF_MSG_HELLO:
		if (fake.o->mode != FAKE_STALL)
			welcome(fd, p->seq);
		break;
	case GPUBPF_MSG_DEVICE:
		if (fake.o->mode == FAKE_STOPPED_EARLY)
			raise(SIGSTOP);
		arena(fd, p);
		break;
	case GPUBPF_MSG_TWIN:
		twin(fd, p);
		break;
	case GPUBPF_MSG_NOTE:
		fake.seen->notes++;
		gpubpf_get_str(&p->payload, fake.seen->last_note, sizeof(fake.seen->last_note));
		fake.seen->full_notes += strstr(fake.seen->last_note, "are not counted") != NULL;
		break;
	case GPUBPF_MSG_PULLED:
		if (gpubpf_get_u32(&p->payload) == MISSING_DEVICE)
			fake.seen->pulled_gone++;
		else
			fake.seen->pulled++;
		break;
	}
}

static void serve(int listener)
{
	static struct pollfd fds[PEERS];
	static char buf[GPUBPF_MSG_BUF];
	int n = 1;

	fds[0] = (struct pollfd){ listener, POLLIN, 0 };
	for (;;) {
		poll(fds, n, -1);
		if (fds[0].revents && n < PEERS) {
			fds[n++] = (struct pollfd){ accept(listener, NULL, NULL), POLLIN, 0 };
			fake.seen->opened++;
		}
		for (int i = 1; i < n; i++) {
			struct gpubpf_packet p;

			if (!fds[i].revents)
				continue;
			if (gpubpf_msg_recv(fds[i].fd, MSG_DONTWAIT, buf, &p) < 0) {
				close(fds[i].fd);
				fds[i] = fds[--n];
				__atomic_add_fetch(&fake.seen->closed, 1, __ATOMIC_RELEASE);
				continue;
			}
			handle(fds[i].fd, &p);
			gpubpf_msg_close(&p);
		}
	}
}

static int listen_at(struct fake_tool *tool)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(tool->folder, "/tmp/gpubpf-fake-XXXXXX");
	if (!mkdtemp(tool->folder))
		abort();
	snprintf(tool->path, sizeof(tool->path), "%s/session", tool->folder);
	strcpy(addr.sun_path, tool->path);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || (fake.o->other_user && seteuid(NOBODY)) ||
	    listen(fd, 16) || (fake.o->other_user && seteuid(0)))
		abort();
	return fd;
}

/* Lay out one map in the arena: the array of counts. */
static void fill_arena(struct gpubpf_arena_hdr *hdr)
{
	struct gpubpf_map_layout *l = (void *)((char *)hdr + GPUBPF_ARENA_MAPS);

	hdr->magic = GPUBPF_ARENA_MAGIC;
	hdr->version = GPUBPF_ARENA_VERSION;
	hdr->size = hdr->own = hdr->used = ARENA_SIZE;
	hdr->nmaps = 1;
	hdr->maps_off = GPUBPF_ARENA_MAPS;
	*l = (struct gpubpf_map_layout){ .type = 2, .key_size = 4, .value_size = 16, .max_entries = FAKE_KERNELS,
					 .copies = 1, .ctl = FAKE_COUNTS - 2048, .data = FAKE_COUNTS, .stride = 16,
					 .copy_stride = 16 * FAKE_KERNELS, .size = 2048 + 16 * FAKE_KERNELS };
}

static void *map(int fd, size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		abort();
	return at;
}

void fake_plan(struct fake_tool *tool, const char *pattern, const uint32_t *links, uint32_t n)
{
	struct gpubpf_kernel_table *t = tool->table;

	__atomic_store_n(&t->plan, t->plan + 1, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	t->nplan = n;
	for (uint32_t i = 0; i < n; i++) {
		t->entry[i].link = links[i];
		snprintf(t->entry[i].pattern, sizeof(t->entry[i].pattern), "%s", pattern);
	}
	__atomic_store_n(&t->plan, t->plan + 1, __ATOMIC_RELEASE);
}

void fake_attach(struct fake_tool *tool, const char *pattern)
{
	static const uint32_t first[] = { 0 };

	fake_plan(tool, pattern, first, !!pattern);
}

void fake_start(struct fake_tool *tool, const struct fake_options *options)
{
	int fd;

	memset(tool, 0, sizeof(*tool));
	fake.o = options;
	fake.tool = tool;
	fake.random = options->seed;
	fd = listen_at(tool);
	fake.table = gpubpf_memfd_shared("table", sizeof(*tool->table));
	tool->table = map(fake.table, sizeof(*tool->table));
	tool->table->magic = GPUBPF_KERNEL_TABLE_MAGIC;
	tool->table->version = GPUBPF_KERNEL_TABLE_VERSION;
	tool->table->enabled = 1;
	fake_attach(tool, options->pattern);
	for (int i = 0; i < FAKE_ARENAS; i++) {
		fake.arenas[i] = gpubpf_memfd_shared("arena", ARENA_SIZE);
		tool->arenas[i] = map(fake.arenas[i], ARENA_SIZE);
		fill_arena((void *)tool->arenas[i]);
	}
	tool->seen = mmap(NULL, sizeof(*tool->seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fake.seen = tool->seen;
	tool->pid = fork();
	if (tool->pid < 0) { /* kill(2) of -1 would end all processes */
		perror("fork");
		exit(1);
	}
	if (!tool->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(fd);
		_exit(0);
	}
	close(fd);
	close(fake.table);
	for (int i = 0; i < FAKE_ARENAS; i++)
		close(fake.arenas[i]);
}

void fake_wait_until_handled(void)
{
	for (int i = 0; i < 60000 && __atomic_load_n(&fake.seen->closed, __ATOMIC_ACQUIRE) != fake.seen->opened; i++)
		usleep(1000);
}

/* Check that each launch is counted either as probed, or as missed with a reason. */
static void check_accounts(const struct fake_tool *tool)
{
	for (uint32_t i = 0; i < GPUBPF_KERNEL_TABLE_ROWS; i++) {
		const struct gpubpf_kernel_row *k = &tool->table->kernel[i];
		uint64_t counted = k->probed;

		for (int m = 0; m < GPUBPF_MISSES; m++)
			counted += k->missed[m];
		if (k->used != 2 || counted == k->launches)
			continue;
		fprintf(stderr, "%s: of %llu launches %llu are probed or missed for a reason\n", k->name,
			(unsigned long long)k->launches, (unsigned long long)counted);
		exit(1);
	}
}

void fake_stop(struct fake_tool *tool)
{
	kill(tool->pid, SIGKILL);
	waitpid(tool->pid, NULL, 0);
	check_accounts(tool);
	unlink(tool->path);
	rmdir(tool->folder);
	munmap(tool->table, sizeof(*tool->table));
	for (int i = 0; i < FAKE_ARENAS; i++)
		munmap(tool->arenas[i], ARENA_SIZE);
	munmap(tool->seen, sizeof(*tool->seen));
}

struct fake_sum fake_sum(const struct fake_tool *tool, const char *name)
{
	struct fake_sum sum = {0};

	for (uint32_t i = 0; i < GPUBPF_KERNEL_TABLE_ROWS; i++) {
		const struct gpubpf_kernel_row *k = &tool->table->kernel[i];

		if (k->used != 2 || strcmp(k->name, name))
			continue;
		sum.launches += k->launches;
		sum.probed += k->probed;
		for (int m = 0; m < GPUBPF_MISSES; m++)
			sum.missed_by[m] += k->missed[m];
		sum.state = k->state;
		strcpy(sum.reason, k->reason);
	}
	for (int m = 0; m < GPUBPF_MISSES; m++)
		sum.missed += sum.missed_by[m];
	for (uint32_t i = 0; i < tool->seen->nnames; i++) {
		if (strcmp(tool->seen->names[i], name))
			continue;
		for (int a = 0; a < FAKE_ARENAS; a++) {
			const struct fake_count *c = (void *)(tool->arenas[a] + FAKE_COUNTS + i * sizeof(*c));

			sum.entries += c->entries;
			sum.exits += c->exits;
			sum.last_launch |= c->last_launch;
		}
	}
	return sum;
}
