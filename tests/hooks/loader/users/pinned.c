/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pinned DIR COMMAND: pins maps in a BPF file system before a GPU program uses them. Other processes of the session
 * open a map by its pin, by the pin's new name and by the Linux kernel's id. A second loader continues to count. One
 * process maps a ring buffer before the GPU program is loaded, and a third process maps the ring buffer afterwards.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include <bpf/libbpf.h>

#include "putting.h"

#define TIMEOUT_S 200

static char path[3][256], moved[256];
static unsigned long records;

static int make(enum bpf_map_type type, int i, const char *dir)
{
	bool ring = type == BPF_MAP_TYPE_RINGBUF;
	char name[8];
	int fd;

	snprintf(name, sizeof(name), "p%d", i);
	snprintf(path[i], sizeof(path[i]), "%s/p%d", dir, i);
	fd = bpf_map_create(type, name, ring ? 0 : 4, ring ? 0 : 8, ring ? 1 << 16 : 4, NULL);
	if (fd < 0 || bpf_obj_pin(fd, path[i]) < 0)
		exit(77);
	return fd;
}

static uint32_t number_of(int fd)
{
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &size) < 0 ? 0 : info.id;
}

static unsigned long long read_value(int fd)
{
	uint32_t key = 0;
	__u64 value = 0;

	if (fd < 0 || bpf_map_lookup_elem(fd, &key, &value))
		return ~0ull;
	close(fd);
	return value;
}

/* Load and attach a GPU program that uses the maps. Returns the program's file descriptor. */
static int attach_counter(const int *maps, uint32_t n)
{
	struct code c = { .n = 0 };
	int prog;

	add_begin(&c, 0);
	add_map_store(&c, BPF_MAP_TYPE_ARRAY, maps[0]);
	for (uint32_t i = 1; i < n; i++)
		add_map_store(&c, BPF_MAP_TYPE_RINGBUF, maps[i]);
	prog = load_code(&c, "cuda__count");
	return prog < 0 ? prog : attach_at(NULL, prog);
}

static int on_record(void *ctx, void *data, size_t size)
{
	(void)ctx, (void)data;
	records += size == 8;
	return 0;
}

static void pass_on(int fd)
{
	if (write(fd, "", 1) != 1)
		exit(1);
}

static void wait_for(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		exit(1);
}

/*
 * Map the pinned ring buffer, before (early) or after the parent has loaded a GPU program. Read until all records have
 * arrived.
 */
static void read_ring(const char *pin, bool early, int ready, int loaded, unsigned long all)
{
	struct ring_buffer *rb = NULL;
	int fd = bpf_obj_get(pin);
	time_t until;

	if (early)
		rb = ring_buffer__new(fd, on_record, NULL, NULL);
	pass_on(ready);
	wait_for(loaded);
	if (!rb)
		rb = ring_buffer__new(fd, on_record, NULL, NULL);
	pass_on(ready);
	for (until = time(NULL) + TIMEOUT_S; records < all && time(NULL) < until;)
		ring_buffer__poll(rb, 20);
	printf("%s reader %lu\n", early ? "early" : "late", records);
	exit(0);
}

struct reader {
	int ready[2], loaded[2];
	pid_t pid;
};

static void start(struct reader *r, const char *pin, bool early, unsigned long all)
{
	if (pipe(r->ready) || pipe(r->loaded))
		exit(1);
	fflush(stdout);
	r->pid = fork();
	if (!r->pid)
		read_ring(pin, early, r->ready[1], r->loaded[0], all);
	wait_for(r->ready[0]);
}

/* Print the map's value from a child process that opens the map by its pin and by its id. */
static void print_pinned_value(const char *what, const char *pin, uint32_t id)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		printf("%s %llu\n", what, read_value(pin ? bpf_obj_get(pin) : bpf_map_get_fd_by_id(id)));
		exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void run_second(const char *command)
{
	int map = bpf_obj_get(moved);
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		int event = attach_counter(&map, 1), status = event < 0 ? -1 : system(command);

		printf("second %s %llu\n", status < 0 ? "failed" : "counts", read_value(map));
		exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	unsigned long all = argc > 3 ? strtoul(argv[3], NULL, 0) : 0;
	int maps[3] = { make(BPF_MAP_TYPE_ARRAY, 0, argv[1]), make(BPF_MAP_TYPE_RINGBUF, 1, argv[1]), make(BPF_MAP_TYPE_RINGBUF, 2, argv[1]) };
	uint32_t number = number_of(maps[0]);
	struct reader readers[2];
	int event;

	for (int i = 0; i < 2; i++)
		start(&readers[i], path[1 + i], !i, all);
	event = attach_counter(maps, 3);
	for (int i = 0; i < 2; i++) {
		pass_on(readers[i].loaded[1]);
		wait_for(readers[i].ready[0]);
	}
	if (event < 0 || system(argv[2]) < 0)
		return 1;
	for (int i = 0; i < 2; i++)
		waitpid(readers[i].pid, NULL, 0);
	print_pinned_value("pin", path[0], 0);
	snprintf(moved, sizeof(moved), "%s/moved", argv[1]);
	if (rename(path[0], moved))
		return 1;
	print_pinned_value("renamed", moved, 0);
	print_pinned_value("number", NULL, number);
	close(event);
	run_second(argv[2]);
	printf("unpinned %d\n", unlink(moved) || bpf_obj_get(moved) >= 0 || errno != ENOENT);
	for (int i = 1; i < 3; i++)
		unlink(path[i]);
	return 0;
}
