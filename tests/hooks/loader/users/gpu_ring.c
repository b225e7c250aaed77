/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_ring OBJECT COMMAND RECORDS [ended]: runs COMMAND, reads RECORDS records of a GPU_RINGBUF and prints their sum. It
 * reads them as loaders of bpftime do. With "ended" it reads only once.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#define SECONDS 240 /* timeout */
#define RECORD_BYTES 20

typedef int (*poll_fn)(int fd, void *ctx, void (*fn)(const void *record, uint64_t size, void *ctx));

struct seen {
	unsigned long long n, sum, wrong;
};

static void on_record(const void *record, uint64_t size, void *ctx)
{
	const __u64 *r = record;
	struct seen *seen = ctx;

	seen->n++;
	seen->sum += r[0];
	seen->wrong += size != RECORD_BYTES || r[1] != 7;
}

static void print_map(int map)
{
	struct bpf_map_info info = { 0 };
	__u32 size = sizeof(info);

	if (!bpf_obj_get_info_by_fd(map, &info, &size))
		printf("type %u key %u value %u max %u\n", info.type, info.key_size, info.value_size, info.max_entries);
}

static void print_refusals(poll_fn poll_ring, int prog)
{
	int array = bpf_map_create(BPF_MAP_TYPE_ARRAY, "array", 4, 8, 1, NULL);

	printf("no ring: %d %d %d\n", poll_ring(-1, NULL, on_record), poll_ring(array, NULL, on_record),
	       poll_ring(prog, NULL, on_record));
}

int main(int argc, char **argv)
{
	poll_fn poll_ring = (poll_fn)dlsym(RTLD_DEFAULT, "bpftime_syscall_server__poll_gpu_ringbuf_map");
	struct bpf_object *obj = argc > 3 ? bpf_object__open_file(argv[1], NULL) : NULL;
	unsigned long long n = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	time_t end = time(NULL) + SECONDS;
	struct bpf_program *prog;
	struct seen seen = { 0 };
	int map, err = 0;

	if (!obj || bpf_object__load(obj))
		return 2;
	prog = bpf_object__next_program(obj, NULL);
	map = bpf_object__find_map_fd_by_name(obj, "ring");
	if (!bpf_program__attach(prog))
		return 3;
	print_map(map);
	if (!poll_ring) {
		printf("no function\n");
		return system(argv[2]);
	}
	print_refusals(poll_ring, bpf_program__fd(prog));
	if (system(argv[2]) < 0)
		return 4;
	do {
		err = poll_ring(map, &seen, on_record);
		usleep(argc > 4 ? 0 : 1000);
	} while (!err && argc == 4 && seen.n < n && time(NULL) < end);
	printf("records %llu sum %llu wrong %llu error %d\n", seen.n, seen.sum, seen.wrong, err);
	return 0;
}
