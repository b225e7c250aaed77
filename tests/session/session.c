/* SPDX-License-Identifier: Apache-2.0 */
/* The session with a fake agent on its socket: what it answers, and that no peer can do it harm. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "peer.h"
#include "core/wire/match.h"
#include "tests/tap.h"

static char dir[64];
static const char *object, *joins;
static char notes[4096];

static void on_note(void *ctx, const char *text)
{
	strncat(notes, text, sizeof(notes) - strlen(notes) - 2);
	strcat(notes, "\n");
}

static struct gpubpf_session *start(const char *workers)
{
	struct gpubpf_session_opts o = {
		.sz = sizeof(o), .runtime_dir = dir, .worker_dir = workers, .wait_ms = 3000, .note = on_note,
	};
	struct gpubpf_session *s = gpubpf_session__new(&o);

	notes[0] = 0;
	gpubpf_session__add_object(s, object);
	if (gpubpf_session__load(s) < 0 || gpubpf_session__start(s) < 0)
		note("%s", gpubpf_session__error(s));
	return s;
}

static ino_t inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0 : st.st_ino;
}

/* -- what an agent is told -- */

static void test_join(void)
{
	struct gpubpf_session *s = start("/nonexistent");
	struct agent a, b;
	struct gpubpf_reader *r = &a.packet.payload;

	agent_connect(&a, s);
	ok(!agent_hello(&a), "HELLO is answered by WELCOME");
	ok(gpubpf_get_u32(r) == 0 && gpubpf_get_u32(r) == 3000, "first process, 3000 ms to wait");
	ok(gpubpf_get_u64(r) == 1 && gpubpf_get_u64(r) == 0, "every launch, no end");
	ok(s->table->plan && !(s->table->plan & 1) && s->table->nplan == 1 && !strcmp(s->table->entry[0].pattern, "*"),
	   "what is attached is in the kernel table");
	ok(a.packet.nfds == 1 && gpubpf_memfd_size(a.packet.fds[0], sizeof(struct gpubpf_kernel_table)) ==
	   sizeof(struct gpubpf_kernel_table), "the kernel table is a sealed memfd of its size");
	gpubpf_msg_close(&a.packet);
	agent_connect(&b, s);
	agent_hello(&b);
	ok(gpubpf_get_u32(&b.packet.payload) == 1, "another process is number 1");
	gpubpf_msg_close(&b.packet);
	ok(gpubpf_session__processes(s) == 2, "two processes have joined");
	agent_close(&a);
	agent_close(&b);
	gpubpf_session__free(s);
}

static void test_arenas(void)
{
	struct gpubpf_session *s = start("/nonexistent");
	struct agent a, b;
	const struct gpubpf_arena_hdr *hdr;
	uint64_t size, hash;
	ino_t shared;

	agent_connect(&a, s);
	agent_hello(&a);
	ok(!agent_device(&a, 3, GPUBPF_CAP_SHARED_ARENA), "DEVICE is answered by ARENA");
	ok(gpubpf_get_u32(&a.packet.payload) == 3, "for the same device");
	size = gpubpf_get_u64(&a.packet.payload);
	hash = gpubpf_get_u64(&a.packet.payload);
	hdr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, a.packet.fds[0], 0);
	ok(hdr != MAP_FAILED && hdr->magic == GPUBPF_ARENA_MAGIC && hdr->size == size && hdr->layout_hash == hash,
	   "the arena is mapped and says the same");
	ok(ftruncate(a.packet.fds[0], 4096) < 0, "nobody can shrink it");
	shared = inode(a.packet.fds[0]);
	agent_device(&a, 4, GPUBPF_CAP_SHARED_ARENA);
	ok(inode(a.packet.fds[0]) == shared, "another host-memory device of the process shares it");
	agent_connect(&b, s);
	agent_hello(&b);
	agent_device(&b, 0, GPUBPF_CAP_SHARED_ARENA);
	ok(inode(b.packet.fds[0]) == shared, "and one of another process");
	agent_device(&b, 1, 0);
	ok(b.packet.nfds && inode(b.packet.fds[0]) != shared, "a device with memory of its own gets one of its own");
	ok(gpubpf_session__devices(s) == 4, "four devices");
	agent_close(&a);
	agent_close(&b);
	gpubpf_session__free(s);
}

static uint64_t value_of(struct gpubpf_map *map, uint32_t key)
{
	uint64_t value = 0;

	gpubpf_map__lookup_elem(map, &key, sizeof(key), &value, sizeof(value), 0);
	return value;
}

/* What a device's kernels would do. */
static void add_on(struct gpubpf_session *s, uint32_t arena, struct gpubpf_map *map, uint32_t key, uint64_t n)
{
	struct gpubpf_map_view view = gpubpf_arena_view(s, arena, map - s->loaded->unit.maps);
	uint64_t value = 0;

	gpubpf_map_lookup(&view, &key, &value);
	value += n;
	gpubpf_map_update(&view, &key, &value, 0);
}

/* Counts of devices with arenas of their own are added up by the tool's side. What they begin with they have from
 * there, and is no count of theirs. */
static void test_sum(uint64_t first)
{
	struct gpubpf_session *s = start("/nonexistent");
	struct gpubpf_map *counts = gpubpf_session__find_map_by_name(s, "counts");
	struct gpubpf_map *hits = gpubpf_session__find_map_by_name(s, "session.data");
	uint32_t key = 2;
	struct agent a;

	gpubpf_map__update_elem(counts, &key, sizeof(key), &(uint64_t){ 30 }, sizeof(uint64_t), 0);
	ok(value_of(counts, 2) == 30 && value_of(hits, 0) == 7, "what was put in, and an initial value, before any device");
	agent_connect(&a, s);
	agent_hello(&a);
	for (uint32_t i = 0; i < 3; i++)
		agent_device(&a, i, i ? 0 : first);
	ok(value_of(counts, 2) == 30 && value_of(hits, 0) == 7, "and the same with three: %llu, %llu",
	   (unsigned long long)value_of(counts, 2), (unsigned long long)value_of(hits, 0));
	for (uint32_t i = 0; i < s->narenas; i++) {
		add_on(s, i, counts, 1, 20 + i);
		add_on(s, i, counts, 2, i);
		add_on(s, i, hits, 0, 100 * i);
	}
	ok(s->narenas == (first ? 3 : 4) && value_of(counts, 1) == (first ? 63 : 86), "a look-up adds up over devices: %llu",
	   (unsigned long long)value_of(counts, 1));
	ok(value_of(counts, 2) == (first ? 33 : 36) && value_of(hits, 0) == (first ? 307 : 607),
	   "onto what was there: %llu, %llu", (unsigned long long)value_of(counts, 2),
	   (unsigned long long)value_of(hits, 0));
	agent_close(&a);
	gpubpf_session__free(s);
}

/* An object joins when devices have their arenas: a segment in each, which they may use from the first attachment on, with
 * what was put in until then. */
static void test_segments(void)
{
	struct gpubpf_session *s = start("/nonexistent");
	const struct gpubpf_prog *prog = NULL;
	struct gpubpf_map *later, *settings;
	const struct gpubpf_arena_hdr *hdr;
	uint64_t used, setting = 5, got = 0;
	struct gpubpf_map_view view;
	uint32_t key = 0, n = 0;
	struct agent a;

	agent_connect(&a, s);
	agent_hello(&a);
	agent_device(&a, 0, GPUBPF_CAP_SHARED_ARENA);
	agent_device(&a, 1, 0);
	hdr = s->arenas[1].base;
	used = hdr->used;
	ok(s->narenas == 2 && !gpubpf_session__add_object(s, joins), "an object joins: %s", gpubpf_session__error(s));
	later = gpubpf_session__find_map_by_name(s, "later");
	settings = gpubpf_session__find_map_by_name(s, "settings");
	ok(later && settings && hdr->nmaps == s->loaded->unit.nmaps && hdr->used == used && hdr->used < hdr->size,
	   "its maps are in a device's arena, which does not use them");
	ok(value_of(gpubpf_session__find_map_by_name(s, "joins.data"), 0) == 1000 && value_of(later, 0) == 0,
	   "they begin as the object says");
	gpubpf_map__update_elem(settings, &key, sizeof(key), &setting, sizeof(setting), 0);
	while ((prog = gpubpf_session__next_program(s, prog)) && strcmp(gpubpf_prog__name(prog), "joined"))
		n++;
	ok(prog && n == 1 && gpubpf_program__attach(prog) && hdr->used == s->arenas[1].layout.used && hdr->used > used,
	   "attached, it does");
	add_on(s, 1, later, 0, 3);
	add_on(s, 0, later, 0, 4);
	ok(value_of(later, 0) == 7, "a look-up adds up");
	view = gpubpf_arena_view(s, 1, settings - s->loaded->unit.maps);
	ok(!gpubpf_map_lookup(&view, &key, &got) && got == 5, "what was put in before came to the device");
	agent_device(&a, 2, 0);
	ok(s->narenas == 3 && ((struct gpubpf_arena_hdr *)s->arenas[2].base)->used == s->arenas[2].layout.used &&
	   value_of(later, 0) == 7, "a device that comes later has all of it");
	agent_close(&a);
	gpubpf_session__free(s);
}

/* -- twins that cannot be -- */

static void test_refusals(void)
{
	static const char source[] = "__kernel void k(__global int *p) { p[get_global_id(0)]++; }";
	struct gpubpf_session *s = start("/nonexistent");
	int image = gpubpf_memfd_image("t", source, strlen(source)), open_fd = memfd_create("t", MFD_CLOEXEC);
	struct twin_answer t;
	struct agent a;

	agent_connect(&a, s);
	agent_hello(&a);
	agent_device(&a, 0, GPUBPF_CAP_SHARED_ARENA);
	agent_ask_twin(&a, 0, GPUBPF_IMAGE_OPENCL_BINARY, "k", image);
	t = agent_twin(&a, 2000);
	ok(!t.failed && !t.n && strstr(t.reason, "vendor binary"), "a binary without source: %s", t.reason);
	agent_ask_twin(&a, 0, GPUBPF_IMAGE_OPENCL_C, "k", image);
	t = agent_twin(&a, 2000);
	ok(!t.failed && !t.n && t.reason[0], "no workers: %s", t.reason);
	agent_ask_twin(&a, 0, GPUBPF_IMAGE_OPENCL_C, "k", open_fd);
	t = agent_twin(&a, 2000);
	ok(!t.failed && !t.n && strstr(t.reason, "sealed"), "an image that can still change: %s", t.reason);
	agent_ask_twin(&a, 0, GPUBPF_IMAGE_OPENCL_C, "k", -1);
	t = agent_twin(&a, 2000);
	ok(!t.failed && !t.n && t.reason[0], "no image at all: %s", t.reason);
	ok(gpubpf_session__pending(s) == 0, "nothing is pending");
	agent_close(&a);
	close(image);
	close(open_fd);
	gpubpf_session__free(s);
}

/* A request in flight must not keep the session from ending. */
static void test_stop(void)
{
	static const char source[] = "__kernel void k(__global int *p) { p[get_global_id(0)]++; }";
	struct gpubpf_session *s = start(getenv("GPUBPF_TEST_SLOW_WORKERS"));
	int image = gpubpf_memfd_image("t", source, strlen(source));
	uint64_t before;
	struct agent a;

	agent_connect(&a, s);
	agent_hello(&a);
	agent_device(&a, 0, GPUBPF_CAP_SHARED_ARENA);
	agent_ask_twin(&a, 0, GPUBPF_IMAGE_OPENCL_C, "k", image);
	for (int i = 0; i < 20; i++)
		gpubpf_session__poll(s, 10);
	ok(gpubpf_session__pending(s) == 1, "a twin is being made by a worker that never answers");
	before = gpubpf_now_ns();
	gpubpf_session__stop(s);
	ok(gpubpf_now_ns() - before < 1500000000ull, "stopping does not wait for it: %llu ms",
	   (unsigned long long)(gpubpf_now_ns() - before) / 1000000);
	close(a.sock);
	close(image);
	gpubpf_session__free(s);
}

/* -- hostile peers -- */

static void raw(struct agent *a, const void *data, size_t size)
{
	send(a->sock, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void bad_magic(struct agent *a)
{
	struct gpubpf_msg_hdr h = { .magic = 0x1234, .major = GPUBPF_MSG_MAJOR, .type = GPUBPF_MSG_NOTE };

	raw(a, &h, sizeof(h));
}

static void bad_major(struct agent *a)
{
	struct gpubpf_msg_hdr h = { .magic = GPUBPF_MSG_MAGIC, .major = 77, .type = GPUBPF_MSG_NOTE };

	raw(a, &h, sizeof(h));
}

static void bad_length(struct agent *a)
{
	struct gpubpf_msg_hdr h = { GPUBPF_MSG_MAGIC, GPUBPF_MSG_MAJOR, 0, GPUBPF_MSG_NOTE, 4000, 1 };

	raw(a, &h, sizeof(h));
}

static void surplus(struct agent *a)
{
	struct {
		struct gpubpf_msg_hdr h;
		uint64_t more;
	} packet = { { GPUBPF_MSG_MAGIC, GPUBPF_MSG_MAJOR, 0, 999, 0, 1 }, 0 }; /* of a type that is passed over */

	raw(a, &packet, sizeof(packet));
}

static void short_packet(struct agent *a)
{
	raw(a, "abc", 3);
}

static void huge_packet(struct agent *a)
{
	char *data = calloc(1, 100000);

	raw(a, data, 100000);
	free(data);
}

static void second_hello(struct agent *a)
{
	struct gpubpf_writer w = {0};

	gpubpf_put_u32(&w, 1);
	agent_send(a, GPUBPF_MSG_HELLO, &w, NULL, 0);
}

static void wrong_way(struct agent *a)
{
	struct gpubpf_writer w = {0};

	agent_send(a, GPUBPF_MSG_TWIN_DONE, &w, NULL, 0);
}

static void unknown_device(struct agent *a)
{
	agent_ask_twin(a, 99, GPUBPF_IMAGE_OPENCL_C, "k", -1);
}

static void cut_device(struct agent *a)
{
	struct gpubpf_writer w = {0};

	gpubpf_put_u32(&w, 0);
	gpubpf_put_u32(&w, 5000); /* bytes that are not there */
	agent_send(a, GPUBPF_MSG_DEVICE, &w, NULL, 0);
}

/* Capabilities whose nth byte from the front is another: 0 is the length of the first string. */
static void wrong_caps(struct agent *a, size_t cut, size_t at, uint8_t byte)
{
	struct gpubpf_device_caps caps = { .name = "fake", .backend = "opencl", .clock = GPUBPF_CLOCK_TSC };
	struct gpubpf_writer w = {0};

	gpubpf_put_u32(&w, 0);
	gpubpf_put_caps(&w, &caps);
	w.data[4 + at] = byte;
	w.size -= cut;
	agent_send(a, GPUBPF_MSG_DEVICE, &w, NULL, 0);
}

static void short_caps(struct agent *a)
{
	wrong_caps(a, 1, 0, sizeof("opencl") - 1);
}

static void long_string(struct agent *a)
{
	wrong_caps(a, 0, 0, 16); /* as many bytes as there is room for, and no end */
}

static void nul_in_string(struct agent *a)
{
	wrong_caps(a, 0, 4, 0);
}

static void unknown_clock(struct agent *a)
{
	/* behind backend, name, driver, arch and bits */
	wrong_caps(a, 0, 4 + 6 + 4 + 4 + 4 + 4 + 8, GPUBPF_CLOCK_REALTIME + 1);
}

static void many_kernels(struct agent *a)
{
	struct gpubpf_writer w = {0};

	agent_device(a, 0, GPUBPF_CAP_SHARED_ARENA);
	gpubpf_put_u32(&w, 0);
	gpubpf_put_u32(&w, GPUBPF_IMAGE_OPENCL_C);
	gpubpf_put_str(&w, "");
	gpubpf_put_u32(&w, 0);
	gpubpf_put_u32(&w, 0xffffffff);
	agent_send(a, GPUBPF_MSG_TWIN, &w, NULL, 0);
}

static void bad_kind(struct agent *a)
{
	agent_device(a, 0, GPUBPF_CAP_SHARED_ARENA);
	agent_ask_twin(a, 0, 12345, "k", -1);
}

static void nul_in_caps(struct agent *a)
{
	struct gpubpf_writer w = {0};

	gpubpf_put_bytes(&w, "a\0b", 3);
	agent_send(a, GPUBPF_MSG_NOTE, &w, NULL, 0);
}

static void too_many_devices(struct agent *a)
{
	for (uint32_t i = 0; i <= GPUBPF_MAX_DEVICES; i++)
		if (agent_device(a, i, GPUBPF_CAP_SHARED_ARENA) < 0)
			return;
}

static void same_device(struct agent *a)
{
	agent_device(a, 0, GPUBPF_CAP_SHARED_ARENA);
	agent_device(a, 0, GPUBPF_CAP_SHARED_ARENA);
}

static const struct hostile {
	const char *name;
	void (*say)(struct agent *a);
} hostile[] = {
	{ "a wrong magic", bad_magic },
	{ "another major version", bad_major },
	{ "a length that lies", bad_length },
	{ "bytes behind what the length says", surplus },
	{ "a packet shorter than its header", short_packet },
	{ "a packet larger than any", huge_packet },
	{ "a second HELLO", second_hello },
	{ "an answer that only a tool gives", wrong_way },
	{ "a twin for a device that it never told of", unknown_device },
	{ "capabilities cut short", cut_device },
	{ "capabilities cut at their end", short_caps },
	{ "capabilities with a string that is too long", long_string },
	{ "capabilities with a NUL in a string", nul_in_caps },
	{ "capabilities with a clock that nobody knows", unknown_clock },
	{ "four billion kernels", many_kernels },
	{ "an image of no known kind", bad_kind },
	{ "a string with NUL inside", nul_in_string },
	{ "too many devices", too_many_devices },
	{ "the same device twice", same_device },
};

static void test_hostile(void)
{
	struct gpubpf_session *s = start("/nonexistent");
	struct agent good, bad;
	struct gpubpf_writer w = {0};

	agent_connect(&good, s);
	agent_hello(&good);
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		int err;

		agent_connect(&bad, s);
		agent_hello(&bad);
		hostile[i].say(&bad);
		err = agent_wait(&bad, GPUBPF_MSG_PULL, 1000);
		ok(err == -EPIPE, "%s ends the connection (%d)", hostile[i].name, err);
		close(bad.sock);
	}
	ok(strstr(notes, "broke the session's protocol"), "the user is told once");
	ok(!agent_device(&good, 1, GPUBPF_CAP_SHARED_ARENA), "a well-behaved program is still served");
	gpubpf_put_str(&w, "evil \033[31m text");
	agent_send(&good, GPUBPF_MSG_NOTE, &w, NULL, 0);
	gpubpf_session__poll(s, 50);
	ok(strstr(notes, "evil ?[31m text"), "escape sequences do not reach the terminal");
	agent_send(&good, 999, &(struct gpubpf_writer){0}, NULL, 0);
	ok(agent_device(&good, 2, GPUBPF_CAP_SHARED_ARENA) == 0, "a message of a newer minor version is ignored");
	agent_close(&good);
	gpubpf_session__free(s);
}

static void keep(struct agent *a, enum gpubpf_keep what, int fd)
{
	struct gpubpf_writer w = {0};

	gpubpf_put_u32(&w, 0);
	gpubpf_put_u32(&w, what);
	agent_send(a, GPUBPF_MSG_KEEP, &w, &fd, fd >= 0);
}

/* A device that breaks again and again, and takes its time to be read. */
static void test_rescue(void)
{
	struct gpubpf_session *s = start(getenv("GPUBPF_TEST_SLOW_WORKERS"));
	struct agent a, b;
	int memory[2][2];

	agent_connect(&a, s);
	agent_hello(&a);
	agent_device(&a, 0, 0);
	for (int i = 0; i < 2 && !pipe(memory[i]); i++) {
		keep(&a, GPUBPF_KEEP, memory[i][0]);
		keep(&a, GPUBPF_KEEP_BROKEN, -1);
		close(memory[i][0]);
	}
	agent_connect(&b, s);
	ok(!agent_hello(&b) && s->rescues, "while a device's memory is read, others are served");
	close(memory[0][1]);
	for (int i = 0; i < 2000 && s->rescues; i++)
		gpubpf_session__poll(s, 5);
	ok(!s->rescues && strstr(notes, "read from the device's memory"), "it is read once, however often it breaks");
	close(memory[1][1]);
	agent_close(&a);
	agent_close(&b);
	gpubpf_session__free(s);
}

static void test_crowd(void)
{
	struct gpubpf_session *s = start("/nonexistent");
	struct agent *a = calloc(GPUBPF_MAX_PEERS + 1, sizeof(*a));
	int joined = 0;

	for (int i = 0; i <= GPUBPF_MAX_PEERS; i++) {
		agent_connect(&a[i], s);
		joined += agent_hello(&a[i]) == 0;
		if (a[i].packet.nfds)
			gpubpf_msg_close(&a[i].packet);
	}
	ok(joined == GPUBPF_MAX_PEERS, "%d processes are served at a time, one more is turned away", joined);
	for (int i = 0; i <= GPUBPF_MAX_PEERS; i++)
		close(a[i].sock);
	for (int i = 0; i < 20; i++)
		gpubpf_session__poll(s, 1);
	ok(s->npeers == 0, "all are gone again");
	free(a);
	gpubpf_session__free(s);
}

/* No descriptor more than there are now; 0: as before. */
static void limit_files(bool on)
{
	static struct rlimit before;
	struct rlimit limit;

	if (on) {
		getrlimit(RLIMIT_NOFILE, &before);
		limit = (struct rlimit){ dup(0), before.rlim_max };
		close(limit.rlim_cur);
	}
	setrlimit(RLIMIT_NOFILE, on ? &limit : &before);
}

static void test_files(void)
{
	struct gpubpf_session *s = start("/nonexistent");
	int image = gpubpf_memfd_image("t", "x", 1), err;
	struct twin_answer t;
	struct agent a, b;
	struct pollfd p = { .fd = s->listener, .events = POLLIN };

	agent_connect(&a, s);
	agent_hello(&a);
	gpubpf_msg_close(&a.packet);
	agent_device(&a, 0, GPUBPF_CAP_SHARED_ARENA);
	gpubpf_msg_close(&a.packet);
	agent_connect(&b, s);
	limit_files(true);
	agent_ask_twin(&a, 0, GPUBPF_IMAGE_OPENCL_C, "k", image);
	t = agent_twin(&a, 2000);
	ok(!t.failed && strstr(t.reason, "did not arrive"), "an image without a descriptor for it: %s", t.reason);
	err = agent_wait(&b, GPUBPF_MSG_WELCOME, 1000);
	ok(err == -EPIPE && strstr(notes, "goes on unprobed"), "no descriptor for another process: it is turned away (%d)",
	   err);
	ok(!poll(&p, 1, 0), "and nobody is left who would keep the loop busy");
	limit_files(false);
	close(b.sock);
	agent_connect(&b, s);
	ok(!agent_hello(&b), "the next one is served");
	agent_close(&b);
	agent_close(&a);
	close(image);
	gpubpf_session__free(s);
}

/* -- the kernel table is writable by every process -- */

static void test_table(void)
{
	struct gpubpf_session *s = start("/nonexistent");
	struct gpubpf_kernel_stats st = { .sz = sizeof(st) };
	struct gpubpf_kernel_row *row = &s->table->kernel[7];
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	memset(row, 0xff, sizeof(*row));
	row->used = 2;
	row->state = 4711;
	memset(row->name, 'A', sizeof(row->name));
	row->name[3] = '\n';
	s->table->nkernels = 0xffffffff;
	ok(!gpubpf_session__kernel(s, 0, &st), "a row of nonsense is read");
	ok(strlen(st.name) == sizeof(row->name) - 1 && st.name[3] == '?' && st.dim == 3,
	   "its strings end, its numbers are bounded");
	ok(gpubpf_session__kernel(s, 1, &st) == -ENOENT, "no other row is taken for a kernel");
	ok(!gpubpf_session__report(s, out, NULL), "the report is written");
	fclose(out);
	free(text);
	gpubpf_session__free(s);
}

/* -- other tools -- */

static void *ask(void *path)
{
	char why[256], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct gpubpf_writer w = {0};
	int err;

	gpubpf_put_str(&w, "");
	err = gpubpf_query_ask(path, GPUBPF_QUERY_DUMP, GPUBPF_QUERY_JSON, &w, out, why, sizeof(why));

	fclose(out);
	if (err < 0)
		note("%s", why);
	return err < 0 ? NULL : text;
}

/* Answer PULLs for device 1; 0 is one that never says anything again. How many came for it. */
static uint32_t answer_pulls(struct agent *a)
{
	uint32_t n = 0, device;

	while (!gpubpf_msg_recv(a->sock, MSG_DONTWAIT, a->buffer, &a->packet)) {
		struct gpubpf_writer w = {0};

		if (a->packet.type != GPUBPF_MSG_PULL || (device = gpubpf_get_u32(&a->packet.payload)) != 1)
			continue;
		n++;
		gpubpf_put_u32(&w, device);
		agent_send(a, GPUBPF_MSG_PULLED, &w, NULL, 0);
	}
	return n;
}

static char *ask_while_serving(struct gpubpf_session *s, struct agent *a, uint32_t *pulls)
{
	pthread_t thread;
	void *text = NULL;
	bool done = false;

	pthread_create(&thread, NULL, ask, (void *)gpubpf_session__path(s));
	for (int i = 0; i < 4000 && !done; i++) {
		gpubpf_session__poll(s, 5);
		if (a)
			*pulls += answer_pulls(a);
		done = !pthread_tryjoin_np(thread, &text);
	}
	return text;
}

static void test_query(void)
{
	struct gpubpf_session *s = start("/nonexistent");
	uint32_t pulls[2] = { 0 };
	char path[300], *text;
	struct agent a;

	text = ask_while_serving(s, NULL, NULL);
	ok(text && strstr(text, "\"maps\""), "a running session answers another tool");
	free(text);
	agent_connect(&a, s);
	agent_hello(&a);
	agent_device(&a, 0, 0);
	agent_device(&a, 1, 0);
	for (int i = 0; i < 2; i++) {
		text = ask_while_serving(s, &a, &pulls[i]);
		ok(text != NULL, "even when a device never sends its mirror");
		free(text);
	}
	ok(pulls[0] && pulls[1], "and the other device is asked for its mirror each time: %u, %u", pulls[0], pulls[1]);
	ok(gpubpf_newest_session(dir, path, sizeof(path)) == 1 && !strcmp(path, gpubpf_session__path(s)),
	   "the newest session is found");
	agent_close(&a);
	gpubpf_session__free(s);
	ok(gpubpf_newest_session(dir, path, sizeof(path)) == -ENOENT, "and not after its end");
}

struct attach_query {
	const char *session, *path, *prog;
	int n, err;
};

static void *ask_attach(void *arg)
{
	struct attach_query *q = arg;
	struct gpubpf_writer w = {0};
	FILE *null = fopen("/dev/null", "w");
	char why[4096];

	gpubpf_put_str(&w, q->path);
	gpubpf_put_u32(&w, q->n);
	for (int i = 0; i < q->n && i < 1; i++) {
		gpubpf_put_str(&w, q->prog);
		gpubpf_put_str(&w, "");
	}
	q->err = gpubpf_query_ask(q->session, GPUBPF_QUERY_ATTACH, 0, &w, null, why, sizeof(why));
	fclose(null);
	return NULL;
}

static int attached(struct gpubpf_session *s, const char *path, const char *prog, int n)
{
	struct attach_query q = { gpubpf_session__path(s), path, prog, n, 1 };
	pthread_t thread;
	bool done = false;

	pthread_create(&thread, NULL, ask_attach, &q);
	for (int i = 0; i < 4000 && !done; i++) {
		gpubpf_session__poll(s, 5);
		done = !pthread_tryjoin_np(thread, NULL);
	}
	return q.err;
}

/* Whatever another tool names, it is an object that joins or the session is as it was. */
static void test_attach_queries(void)
{
	struct gpubpf_session *s = start("/nonexistent");
	uint32_t nmaps = s->loaded->unit.nmaps;
	char fifo[128];

	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	ok(!mkfifo(fifo, 0600) && attached(s, fifo, "joined", 1) < 0, "a pipe that nobody writes to");
	unlink(fifo);
	ok(attached(s, "/dev/zero", "joined", 1) < 0 && attached(s, dir, "joined", 1) < 0, "a device and a folder");
	ok(attached(s, "session.bpf.o", "count", 1) < 0 && strstr(notes, "broke the session's protocol"), "a path that is not whole");
	ok(attached(s, joins, "joined", 5000) < 0, "more programs than there can be links");
	ok(s->loaded->unit.nmaps == nmaps, "none of them has joined");
	ok(attached(s, joins, "joined", 2) < 0 && gpubpf_session__next_link(s, NULL) &&
	   !gpubpf_session__next_link(s, gpubpf_session__next_link(s, NULL)), "a list that is too short: none is attached");
	ok(!attached(s, joins, "", 0) && !attached(s, joins, "", 0), "all of an object, and again");
	gpubpf_session__free(s);
}

static void test_killed(void)
{
	char path[300];
	int ready[2];
	pid_t pid;

	if (pipe(ready) < 0)
		return;
	pid = fork();
	if (!pid) {
		struct gpubpf_session *s = start("/nonexistent");

		if (write(ready[1], gpubpf_session__path(s), strlen(gpubpf_session__path(s)) + 1) < 0)
			_exit(1);
		pause();
	}
	ok(read(ready[0], path, sizeof(path)) > 0 && !access(path, F_OK), "a tool has a socket");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ok(!access(path, F_OK), "killed, it leaves the socket behind");
	ok(gpubpf_newest_session(dir, path, sizeof(path)) == -ENOENT, "nobody takes it for a session");
	ok(access(path, F_OK) < 0, "and it is cleaned away");
}

static void test_folder(void)
{
	struct gpubpf_session_opts o = { .sz = sizeof(o) };
	struct gpubpf_session *s;
	char open_dir[80];

	snprintf(open_dir, sizeof(open_dir), "%s/open", dir);
	mkdir(open_dir, 0755);
	o.runtime_dir = open_dir;
	s = gpubpf_session__new(&o);
	gpubpf_session__load(s);
	ok(gpubpf_session__start(s) == -EPERM && strstr(gpubpf_session__error(s), "0700"),
	   "a folder that others can read is refused: %s", gpubpf_session__error(s));
	gpubpf_session__free(s);
	rmdir(open_dir);
}

/* In a folder that others may write, they can move ours away and put another in its place. */
static void test_folder_above(void)
{
	static const mode_t modes[] = { 0777, 0770, 01777, 0755 };
	struct gpubpf_session_opts o = { .sz = sizeof(o) };
	char above[80], below[90];

	snprintf(above, sizeof(above), "%s/above", dir);
	snprintf(below, sizeof(below), "%s/own", above);
	mkdir(above, 0700);
	o.runtime_dir = below;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct gpubpf_session *s = gpubpf_session__new(&o);
		bool safe = i >= 2;
		int err;

		chmod(above, modes[i]);
		gpubpf_session__load(s);
		err = gpubpf_session__start(s);
		ok(safe ? !err : err == -EPERM && strstr(gpubpf_session__error(s), "chmod go-w"), "a parent of mode %o: %s",
		   (unsigned int)modes[i], safe ? "taken" : gpubpf_session__error(s));
		gpubpf_session__free(s);
		rmdir(below);
	}
	if (!chown(above, 65534, -1)) { /* root's alone, and where that is a user */
		struct gpubpf_session *s = gpubpf_session__new(&o);

		gpubpf_session__load(s);
		ok(gpubpf_session__start(s) == -EPERM, "a parent of user 65534: %s", gpubpf_session__error(s));
		gpubpf_session__free(s);
		rmdir(below);
	}
	rmdir(above);
}

/* Kernels of templates differ behind their first 255 bytes. */
static void test_whole_names(void)
{
	static const char source[] = "__kernel void k(__global int *p) { p[get_global_id(0)]++; }";
	struct gpubpf_session *s = start("/nonexistent");
	int image = gpubpf_memfd_image("t", source, strlen(source));
	char name[2][401];
	struct agent a;
	struct gpubpf_attach_opts opts = { .sz = sizeof(opts), .pattern = name[0] };
	const struct gpubpf_prog *prog;
	struct gpubpf_link *link;
	bool kept;

	agent_connect(&a, s);
	agent_hello(&a);
	agent_device(&a, 0, GPUBPF_CAP_SHARED_ARENA);
	for (int i = 0; i < 2; i++) {
		memset(name[i], 'k', 400);
		name[i][350] = '0' + i;
		name[i][400] = 0;
		agent_ask_twin(&a, 0, GPUBPF_IMAGE_OPENCL_C, name[i], image);
		agent_twin(&a, 2000);
	}
	link = gpubpf_program__attach_opts(gpubpf_session__next_program(s, NULL), &opts);
	prog = link ? gpubpf_link__program(link) : NULL;
	ok(prog && gpubpf_pattern_matches(gpubpf_prog__pattern(prog), name[0]) &&
	   !gpubpf_pattern_matches(gpubpf_prog__pattern(prog), name[1]), "one of them can be named: %s", gpubpf_session__error(s));
	kept = !strcmp(gpubpf_session__kernel_name(s, 0), name[0]) && !strcmp(gpubpf_session__kernel_name(s, 1), name[1]);
	agent_close(&a);
	gpubpf_session__stop(s);
	ok(kept && !strcmp(gpubpf_session__kernel_name(s, 1), name[1]), "kernels with long names are two, after the end too");
	gpubpf_kernel_id(s, "_Z6gatherIfLi4EEvPKfPfi");
	ok(!strcmp(gpubpf_kernel_shown(s, 2, true), "void gather<float, 4>(float const*, float*, int)") &&
	   !strcmp(gpubpf_kernel_shown(s, 2, false), "_Z6gatherIfLi4EEvPKfPfi") &&
	   !strcmp(gpubpf_kernel_shown(s, 0, true), name[0]), "C++ names as C++ has them, where that is asked for");
	close(image);
	gpubpf_session__free(s);
}

/* The processor's time for looking up an eighth of the names that there may be, from the first-th on. */
static uint64_t look_up_time(struct gpubpf_session *s, uint32_t first, bool *found)
{
	struct timespec from, to;
	char name[32];

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	for (uint32_t i = first; i < first + GPUBPF_MAX_KERNEL_IDS / 8; i++) {
		snprintf(name, sizeof(name), "kernel_%u", i);
		*found &= gpubpf_kernel_id(s, name) == i && !strcmp(gpubpf_kernel_named(s, i), name);
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	return (to.tv_sec - from.tv_sec) * 1000000000ull + to.tv_nsec - from.tv_nsec;
}

/* Names come from peers: the last of many costs what the first did. */
static void test_names(void)
{
	struct gpubpf_session *s = start(NULL);
	uint64_t first, last;
	bool in_order = true;
	char name[32];

	for (uint32_t i = 0; i < GPUBPF_MAX_KERNEL_IDS; i++) {
		snprintf(name, sizeof(name), "kernel_%u", i);
		in_order &= gpubpf_kernel_id(s, name) == i;
	}
	ok(in_order, "kernels are numbered as they come");
	first = look_up_time(s, 0, &in_order);
	last = look_up_time(s, GPUBPF_MAX_KERNEL_IDS - GPUBPF_MAX_KERNEL_IDS / 8, &in_order);
	ok(in_order, "and found again");
	ok(!strcmp(gpubpf_session__kernel_name(s, 7), "kernel_7") && !gpubpf_session__kernel_name(s, UINT32_MAX),
	   "a name by its id, for programs");
	ok(gpubpf_kernel_id(s, "one more") == UINT32_MAX && !gpubpf_kernel_named(s, UINT32_MAX)[0], "up to a limit");
	ok(last < 6 * first, "the last ones in %.1f ms, the first in %.1f", last / 1e6, first / 1e6);
	gpubpf_session__free(s);
}

int main(int argc, char **argv)
{
	object = argc > 1 ? argv[1] : "";
	joins = argc > 2 ? argv[2] : "";
	snprintf(dir, sizeof(dir), "/tmp/gpubpf-test-XXXXXX");
	if (!mkdtemp(dir))
		return 1;
	test_join();
	test_arenas();
	test_sum(0);
	test_sum(GPUBPF_CAP_SHARED_ARENA);
	test_segments();
	test_refusals();
	if (getenv("GPUBPF_TEST_SLOW_WORKERS"))
		test_stop();
	if (getenv("GPUBPF_TEST_SLOW_WORKERS"))
		test_rescue();
	test_hostile();
	test_crowd();
	test_files();
	test_table();
	test_query();
	test_attach_queries();
	test_killed();
	test_folder();
	test_folder_above();
	test_whole_names();
	test_names();
	rmdir(dir);
	return done();
}
