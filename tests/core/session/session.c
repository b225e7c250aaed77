/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests a session with a simulated agent on its socket. The tests cover the messages about maps and twins, and the
 * state that the session keeps after the agent has left.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "core/session/loaders/private.h"
#include "core/session/report/private.h"
#include "core/session/server/private.h"
#include "core/wire/match.h"
#include "fixture.h"

static ino_t inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0 : st.st_ino;
}

/* -- messages to the agent -- */

static void test_join(void)
{
	struct gpubpf_session *s = start("/nonexistent");
	struct agent a, b;
	struct gpubpf_reader *r = &a.packet.payload;

	agent_connect(&a, s);
	ok(!agent_hello(&a), "HELLO is answered by WELCOME");
	ok(gpubpf_get_u32(r) == 0 && gpubpf_get_u32(r) == 3000, "first process, 3000 ms to wait");
	ok(gpubpf_get_u64(r) == 1 && gpubpf_get_u64(r) == 0, "every launch, no end");
	ok(s->report->table->plan && !(s->report->table->plan & 1) && s->report->table->nplan == 1 && !strcmp(s->report->table->entry[0].pattern, "*"),
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

/* Add n to the value in the arena of one device, as a GPU kernel does. */
static void add_on(struct gpubpf_session *s, uint32_t arena, struct gpubpf_map *map, uint32_t key, uint64_t n)
{
	struct gpubpf_map_view view = gpubpf_arena_view(s, arena, map - gpubpf_session_unit(s)->maps);
	uint64_t value = 0;

	gpubpf_map_lookup(&view, &key, &value);
	value += n;
	gpubpf_map_update(&view, &key, &value, 0);
}

/*
 * A look-up adds up the values of devices with separate arenas. The tool copies initial values to a new device and must
 * not count them twice.
 */
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
	for (uint32_t i = 0; i < gpubpf_arenas_count(s); i++) {
		add_on(s, i, counts, 1, 20 + i);
		add_on(s, i, counts, 2, i);
		add_on(s, i, hits, 0, 100 * i);
	}
	ok(gpubpf_arenas_count(s) == (first ? 3 : 4) && value_of(counts, 1) == (first ? 63 : 86), "a look-up adds up over devices: %llu",
	   (unsigned long long)value_of(counts, 1));
	ok(value_of(counts, 2) == (first ? 33 : 36) && value_of(hits, 0) == (first ? 307 : 607),
	   "onto what was there: %llu, %llu", (unsigned long long)value_of(counts, 2),
	   (unsigned long long)value_of(hits, 0));
	agent_close(&a);
	gpubpf_session__free(s);
}

/*
 * A map with a value per multiprocessor. A look-up returns the tool's value first, and then the values of each device
 * with separate memory.
 */
static void test_split(void)
{
	bool refused = true;
	uint32_t notes = 0;
	struct gpubpf_session *s = start("/nonexistent");
	struct gpubpf_map *split = gpubpf_session__find_map_by_name(s, "split");
	size_t own = gpubpf_map__user_value_size(split), all;
	uint64_t *values = calloc(1, 3 * own + 3 * 4 * sizeof(*values));
	uint32_t key = 1;
	struct agent a;

	values[0] = 5;
	ok(!gpubpf_map__update_elem(split, &key, sizeof(key), values, own, 0), "a value a multiprocessor is put in");
	agent_connect(&a, s);
	agent_hello(&a);
	for (uint32_t i = 0; i < 3; i++)
		agent_device(&a, i, 0);
	all = gpubpf_map__user_value_size(split);
	ok(gpubpf_arenas_count(s) == 4 && all == own + 3 * 4 * sizeof(*values), "three devices of four each bring as many values: %zu, %zu", own, all);
	for (uint32_t i = 1; i < gpubpf_arenas_count(s); i++) {
		struct gpubpf_map_view view = gpubpf_arena_view(s, i, gpubpf_map_index(split));
		uint64_t of_device[4] = { 0, 0, 10 * i, 10 * i + 1 };

		gpubpf_map_update(&view, &key, of_device, 0);
	}
	ok(gpubpf_map__lookup_elem(split, &key, sizeof(key), values, own, 0) == -EINVAL, "the size of before is not theirs");
	ok(!gpubpf_map__lookup_elem(split, &key, sizeof(key), values, all, 0) && values[0] == 5 && values[own / 8 + 2] == 10 &&
	   values[own / 8 + 4 + 3] == 21 && values[own / 8 + 8 + 2] == 30, "a look-up gives all: %llu, %llu, %llu",
	   (unsigned long long)values[own / 8 + 2], (unsigned long long)values[own / 8 + 7], (unsigned long long)values[own / 8 + 10]);
	while (gpubpf_session_note_at(s, notes))
		notes++;
	for (int i = 0; i < 2; i++)
		refused &= sys_value_lookup(s, split, gpubpf_map__lookup_elem, &key, sizeof(key), values, 0) == -E2BIG &&
			   sys_value_check_batch(s, split) == -EOPNOTSUPP;
	ok(refused && gpubpf_session_note_at(s, notes + 1) && !gpubpf_session_note_at(s, notes + 2) && strstr(gpubpf_session_note_at(s, notes), "map split: look-ups by loaders are refused (E2BIG)") &&
	   strstr(gpubpf_session_note_at(s, notes + 1), "map split: batches are refused (EOPNOTSUPP)"), "loaders have no room for them, which is told once");
	free(values);
	agent_close(&a);
	gpubpf_session__free(s);
}

/*
 * An object joins after devices have their arenas. Each arena gets a segment for the object's maps. The segment is used
 * from the first attachment on, and then starts with the current content of the maps.
 */
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
	hdr = gpubpf_arena_at(s, 1)->base;
	used = hdr->used;
	ok(gpubpf_arenas_count(s) == 2 && !gpubpf_session__add_object(s, joins), "an object joins: %s", gpubpf_session__error(s));
	later = gpubpf_session__find_map_by_name(s, "later");
	settings = gpubpf_session__find_map_by_name(s, "settings");
	ok(later && settings && hdr->nmaps == gpubpf_session_unit(s)->nmaps && hdr->used == used && hdr->used < hdr->size,
	   "its maps are in a device's arena, which does not use them");
	ok(value_of(gpubpf_session__find_map_by_name(s, "joins.data"), 0) == 1000 && value_of(later, 0) == 0,
	   "they begin as the object says");
	gpubpf_map__update_elem(settings, &key, sizeof(key), &setting, sizeof(setting), 0);
	while ((prog = gpubpf_session__next_program(s, prog)) && strcmp(gpubpf_prog__name(prog), "joined"))
		n++;
	ok(prog && n == 1 && gpubpf_program__attach(prog) && hdr->used == gpubpf_arena_at(s, 1)->layout.used && hdr->used > used,
	   "attached, it does");
	add_on(s, 1, later, 0, 3);
	add_on(s, 0, later, 0, 4);
	ok(value_of(later, 0) == 7, "a look-up adds up");
	view = gpubpf_arena_view(s, 1, settings - gpubpf_session_unit(s)->maps);
	ok(!gpubpf_map_lookup(&view, &key, &got) && got == 5, "what was put in before came to the device");
	agent_device(&a, 2, 0);
	ok(gpubpf_arenas_count(s) == 3 && ((struct gpubpf_arena_hdr *)gpubpf_arena_at(s, 2)->base)->used == gpubpf_arena_at(s, 2)->layout.used &&
	   value_of(later, 0) == 7, "a device that comes later has all of it");
	agent_close(&a);
	gpubpf_session__free(s);
}

static uint32_t element_on(struct gpubpf_session *s, uint32_t arena, const char *name, uint32_t key)
{
	struct gpubpf_map_view view = gpubpf_arena_view(s, arena, gpubpf_map_index(gpubpf_session__find_map_by_name(s, name)));
	uint32_t number = 0;

	gpubpf_map_lookup(&view, &key, &number);
	return number;
}

/* The arena of a new device has the current inner maps: initial ones that were deleted before are absent. */
static void test_elements(uint32_t first)
{
	struct gpubpf_session *s = start_with(nested, "/nonexistent");
	struct gpubpf_map *slots = gpubpf_session__find_map_by_name(s, "slots"), *keyed = gpubpf_session__find_map_by_name(s, "keyed");
	uint32_t key = 0, other = 7, second = gpubpf_map__number(gpubpf_session__find_map_by_name(s, "second")), last;
	struct agent a;

	ok(element_on(s, 0, "slots", 0) && element_on(s, 0, "slots", 1) == second && element_on(s, 0, "keyed", 0), "elements of `.values`");
	ok(!gpubpf_map__delete_elem(slots, &key, sizeof(key), 0) && !gpubpf_map__delete_elem(keyed, &key, sizeof(key), 0) &&
	   !gpubpf_map__update_elem(keyed, &other, sizeof(other), &second, sizeof(second), 0), "are taken out, and another put in");
	agent_connect(&a, s);
	agent_hello(&a);
	for (uint32_t i = 0; i < 2; i++)
		agent_device(&a, i, i ? 0 : first);
	last = gpubpf_arenas_count(s) - 1;
	ok(!element_on(s, last, "slots", 0) && element_on(s, last, "slots", 1) == second, "of an array that is all: %u, %u",
	   element_on(s, last, "slots", 0), element_on(s, last, "slots", 1));
	ok(!element_on(s, last, "keyed", 0) && element_on(s, last, "keyed", 7) == second, "and of a hash table: %u, %u",
	   element_on(s, last, "keyed", 0), element_on(s, last, "keyed", 7));
	ok(!strstr(notes, "not all"), "nothing is left out: %s", notes);
	agent_close(&a);
	gpubpf_session__free(s);
}

static const struct gpubpf_prog *program_of(const struct gpubpf_session *s, const char *name)
{
	const struct gpubpf_prog *prog = NULL;

	while ((prog = gpubpf_session__next_program(s, prog)) && strcmp(gpubpf_prog__name(prog), name))
		;
	return prog;
}

/*
 * The slots of a program array hold numbers of programs, and a program of another place is refused. A program that is
 * only a tail call's target can be attached to a kernel.
 */
static void test_slots(void)
{
	struct gpubpf_session *s = start_with(nested, "/nonexistent");
	struct gpubpf_map *jumps = gpubpf_session__find_map_by_name(s, "jumps");
	const struct gpubpf_prog *one = program_of(s, "one"), *two = program_of(s, "two"), *nest = program_of(s, "nest");
	struct gpubpf_attach_opts to = { .sz = sizeof(to), .pattern = "k" };
	uint32_t key = 1, bad[] = { 0, 3, 256, UINT32_MAX }, first, second;
	struct agent a;

	if (!ok(one && two && nest && jumps, "the programs are there"))
		return;
	first = gpubpf_prog__number(one);
	second = gpubpf_prog__number(two);
	ok(first && second && first != second && !gpubpf_prog__number(nest), "numbers of what may stand there: %u, %u, %u", first, second,
	   gpubpf_prog__number(nest));
	ok(element_on(s, 0, "jumps", 0) == first && !element_on(s, 0, "jumps", 1), "slots of `.values`");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(gpubpf_map__update_elem(jumps, &key, sizeof(key), &bad[i], sizeof(bad[i]), 0) == -EINVAL, "%u is refused", bad[i]);
	ok(!gpubpf_map__update_elem(jumps, &key, sizeof(key), &second, sizeof(second), 0), "one that may is put in");
	key = 0;
	ok(!gpubpf_map__delete_elem(jumps, &key, sizeof(key), 0), "and another taken out");
	agent_connect(&a, s);
	agent_hello(&a);
	agent_device(&a, 0, 0);
	agent_device(&a, 1, 0);
	ok(!element_on(s, gpubpf_arenas_count(s) - 1, "jumps", 0) && element_on(s, gpubpf_arenas_count(s) - 1, "jumps", 1) == second, "as a device has it that comes");
	ok(!gpubpf_program__attach(one) && gpubpf_program__attach_opts(one, &to), "what names no kernel is attached to one that is named");
	agent_close(&a);
	gpubpf_session__free(s);
}

/*
 * Maps of maps join a session that has a similar map with a replica per multiprocessor. That map keeps its replicas,
 * and therefore cannot become an inner map.
 */
static void test_alike(void)
{
	struct gpubpf_session *s = start("/nonexistent");
	struct gpubpf_map *counts = gpubpf_session__find_map_by_name(s, "counts"), *slots;
	uint32_t key = 0, number = gpubpf_map__number(counts);
	struct agent a;

	agent_connect(&a, s);
	agent_hello(&a);
	agent_device(&a, 0, 0);
	agent_device(&a, 1, 0);
	ok(!gpubpf_session__add_object(s, nested), "maps of maps join: %s", gpubpf_session__error(s));
	for (uint32_t i = 1; i < gpubpf_arenas_count(s); i++)
		add_on(s, i, counts, 0, 10 * i);
	ok(value_of(counts, 0) == 30, "what looks like an element is added up as before: %llu", (unsigned long long)value_of(counts, 0));
	slots = gpubpf_session__find_map_by_name(s, "slots");
	if (ok(slots != NULL, "the maps are there")) {
		ok(gpubpf_map__update_elem(slots, &key, sizeof(key), &number, sizeof(number), 0) == -EINVAL, "but cannot be one");
		number = gpubpf_map__number(gpubpf_session__find_map_by_name(s, "second"));
		ok(!gpubpf_map__update_elem(slots, &key, sizeof(key), &number, sizeof(number), 0), "others can");
	}
	agent_close(&a);
	gpubpf_session__free(s);
}

/* -- impossible twins -- */

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
	agent_request_twin(&a, 0, GPUBPF_IMAGE_OPENCL_BINARY, "k", image);
	t = agent_twin(&a, 2000);
	ok(!t.failed && !t.n && strstr(t.reason, "a vendor's binary, and its source is unknown"), "a binary without source: %s", t.reason);
	agent_request_twin(&a, 0, GPUBPF_IMAGE_OPENCL_C, "k", image);
	t = agent_twin(&a, 2000);
	ok(!t.failed && !t.n && t.reason[0], "no workers: %s", t.reason);
	agent_request_twin(&a, 0, GPUBPF_IMAGE_OPENCL_C, "k", open_fd);
	t = agent_twin(&a, 2000);
	ok(!t.failed && !t.n && strstr(t.reason, "sealed"), "an image that can still change: %s", t.reason);
	agent_request_twin(&a, 0, GPUBPF_IMAGE_OPENCL_C, "k", -1);
	t = agent_twin(&a, 2000);
	ok(!t.failed && !t.n && t.reason[0], "no image at all: %s", t.reason);
	ok(gpubpf_session__pending(s) == 0, "nothing is pending");
	agent_close(&a);
	close(image);
	close(open_fd);
	gpubpf_session__free(s);
}

/* The end of the session must not wait for a worker that has not answered. */
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
	agent_request_twin(&a, 0, GPUBPF_IMAGE_OPENCL_C, "k", image);
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

/* -- state that the session keeps after an agent has ended -- */

static void send_keep(struct agent *a, enum gpubpf_keep what, int fd)
{
	struct gpubpf_writer w = {0};

	gpubpf_put_u32(&w, 0);
	gpubpf_put_u32(&w, what);
	agent_send(a, GPUBPF_MSG_KEEP, &w, &fd, fd >= 0);
}

/*
 * A device fails twice, and reading its memory takes long: the session reads the memory once and serves others
 * meanwhile.
 */
static void test_rescue(void)
{
	struct gpubpf_session *s = start(getenv("GPUBPF_TEST_SLOW_WORKERS"));
	struct agent a, b;
	int memory[2][2];

	agent_connect(&a, s);
	agent_hello(&a);
	agent_device(&a, 0, 0);
	for (int i = 0; i < 2 && !pipe(memory[i]); i++) {
		send_keep(&a, GPUBPF_KEEP, memory[i][0]);
		send_keep(&a, GPUBPF_KEEP_BROKEN, -1);
		close(memory[i][0]);
	}
	agent_connect(&b, s);
	ok(!agent_hello(&b) && s->server->rescues, "while a device's memory is read, others are served");
	close(memory[0][1]);
	for (int i = 0; i < 2000 && s->server->rescues; i++)
		gpubpf_session__poll(s, 5);
	ok(!s->server->rescues && strstr(notes, "read from the device's memory"), "it is read once, however often it breaks");
	close(memory[1][1]);
	agent_close(&a);
	agent_close(&b);
	gpubpf_session__free(s);
}

static void test_cookies(void)
{
	struct gpubpf_session *s = start("/nonexistent");
	const struct gpubpf_prog *prog = gpubpf_session__next_program(s, NULL);
	struct gpubpf_attach_opts opts = { .sz = sizeof(opts), .pattern = "cookies", .cookie = 5 };
	struct gpubpf_link *five = gpubpf_program__attach_opts(prog, &opts), *six;

	opts.cookie = 6;
	six = gpubpf_program__attach_opts(prog, &opts);
	ok(five && six && gpubpf_link__program(five)->cookie == 5 && gpubpf_link__program(six)->cookie == 6,
	   "a program is attached twice to a kernel, with two cookies: %s", gpubpf_session__error(s));
	ok(!gpubpf_program__attach_opts(prog, &opts) && errno == EEXIST, "but only once with each cookie");
	gpubpf_session__free(s);
}

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
		agent_request_twin(&a, 0, GPUBPF_IMAGE_OPENCL_C, name[i], image);
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
	ok(!strcmp(gpubpf_kernel_display_name(s, 2, true), "void gather<float, 4>(float const*, float*, int)") &&
	   !strcmp(gpubpf_kernel_display_name(s, 2, false), "_Z6gatherIfLi4EEvPKfPfi") &&
	   !strcmp(gpubpf_kernel_display_name(s, 0, true), name[0]), "C++ names as C++ has them, where that is asked for");
	close(image);
	gpubpf_session__free(s);
}

/*
 * Look up an eighth of all kernel names, from the first-th on. Lowers *least to the CPU time if that is less. Sets
 * *found to false if a name has another number.
 */
static void look_up(struct gpubpf_session *s, uint32_t first, bool *found, uint64_t *least)
{
	struct timespec from, to;
	uint64_t took;
	char name[32];

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	for (uint32_t i = first; i < first + GPUBPF_MAX_KERNEL_IDS / 8; i++) {
		snprintf(name, sizeof(name), "kernel_%u", i);
		*found &= gpubpf_kernel_id(s, name) == i && !strcmp(gpubpf_kernel_full_name(s, i), name);
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	took = (to.tv_sec - from.tv_sec) * 1000000000ull + to.tv_nsec - from.tv_nsec;
	*least = took < *least ? took : *least;
}

/* A session has many kernel names, which peers send. Looking up the last ones must cost as much as the first ones. */
static void test_names(void)
{
	struct gpubpf_session *s = start(NULL);
	uint64_t first = UINT64_MAX, last = UINT64_MAX;
	bool in_order = true;
	char name[32];

	for (uint32_t i = 0; i < GPUBPF_MAX_KERNEL_IDS; i++) {
		snprintf(name, sizeof(name), "kernel_%u", i);
		in_order &= gpubpf_kernel_id(s, name) == i;
	}
	ok(in_order, "kernels are numbered as they come");
	for (int i = 0; i < 5; i++) { /* take the minimum: other processes evict the caches */
		look_up(s, 0, &in_order, &first);
		look_up(s, GPUBPF_MAX_KERNEL_IDS - GPUBPF_MAX_KERNEL_IDS / 8, &in_order, &last);
	}
	ok(in_order, "and found again");
	ok(!strcmp(gpubpf_session__kernel_name(s, 7), "kernel_7") && !gpubpf_session__kernel_name(s, UINT32_MAX),
	   "a name by its id, for programs");
	ok(gpubpf_kernel_id(s, "one more") == UINT32_MAX && !gpubpf_kernel_full_name(s, UINT32_MAX)[0], "up to a limit");
	ok(last < 6 * first, "the last ones in %.1f ms, the first in %.1f", last / 1e6, first / 1e6);
	gpubpf_session__free(s);
}

int main(int argc, char **argv)
{
	if (!fixture(argc, argv))
		return 1;
	test_join();
	test_arenas();
	test_sum(0);
	test_sum(GPUBPF_CAP_SHARED_ARENA);
	test_segments();
	test_elements(0);
	test_elements(GPUBPF_CAP_SHARED_ARENA);
	test_slots();
	test_alike();
	test_split();
	test_refusals();
	if (getenv("GPUBPF_TEST_SLOW_WORKERS")) {
		test_stop();
		test_rescue();
	}
	test_cookies();
	test_whole_names();
	test_names();
	rmdir(dir);
	return done();
}
