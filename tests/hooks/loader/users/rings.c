/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rings OBJECT COMMAND RECORDS [ended]: a typical libbpf loader. It reads RECORDS records from a ring buffer and from
 * perf buffers with epoll(7) while COMMAND runs, and prints their sums. Some buffers are too small for all records at
 * once. With "ended" it polls the ring buffer only once, without waiting, after COMMAND has ended.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#define SECONDS 240 /* timeout */

struct record {
	__u64 number, kind;
};

static struct seen {
	unsigned long long n, sum, wrong, lost;
} seen[2];

static void see(int which, const struct record *r, size_t size)
{
	seen[which].n++;
	seen[which].sum += r->number;
	seen[which].wrong += size < sizeof(*r) || r->kind != which + 1ull;
}

static int on_record(void *ctx, void *data, size_t size)
{
	see(0, data, size);
	return 0;
}

static void on_sample(void *ctx, int cpu, void *data, __u32 size)
{
	see(1, data, size);
}

static void on_lost(void *ctx, int cpu, __u64 n)
{
	seen[1].lost += n;
}

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ll + ts.tv_nsec / 1000000;
}

static int read_all(struct ring_buffer *ring, struct perf_buffer *perf, unsigned long long n)
{
	long long end = now_ms() + 1000 * SECONDS;
	int waits = 0;

	while ((seen[0].n < n || seen[1].n < n) && now_ms() < end) {
		if (ring_buffer__poll(ring, 5) < 0 || perf_buffer__poll(perf, 5) < 0)
			return -1;
		waits++;
	}
	return waits;
}

static int read_after(struct ring_buffer *ring, const char *command)
{
	int status = system(command);

	ring_buffer__consume(ring);
	printf("ring %llu at the end\n", seen[0].n);
	return status;
}

int main(int argc, char **argv)
{
	struct bpf_object *obj = argc > 3 ? bpf_object__open_file(argv[1], NULL) : NULL;
	struct ring_buffer *ring;
	struct perf_buffer *perf;
	struct bpf_program *prog;
	long long began;
	FILE *command;
	int waits;

	if (!obj || bpf_object__load(obj))
		return 2;
	ring = ring_buffer__new(bpf_object__find_map_fd_by_name(obj, "ring"), on_record, NULL, NULL);
	perf = perf_buffer__new(bpf_object__find_map_fd_by_name(obj, "perf"), 1, on_sample, on_lost, NULL, NULL);
	if (!ring || !perf)
		return 3;
	bpf_object__for_each_program(prog, obj)
		if (!bpf_program__attach(prog))
			return 4;
	if (argc > 4)
		return read_after(ring, argv[2]) < 0;
	command = popen(argv[2], "r");
	began = now_ms();
	waits = read_all(ring, perf, strtoull(argv[3], NULL, 10));
	if (ring_buffer__poll(ring, 0) || perf_buffer__poll(perf, 0))
		printf("more came\n");
	for (int i = 0; i < 2; i++)
		printf("%s %llu sum %llu wrong %llu lost %llu\n", i ? "perf" : "ring", seen[i].n, seen[i].sum, seen[i].wrong,
		       seen[i].lost);
	fprintf(stderr, "waits %d in %lld ms\n", waits, now_ms() - began);
	perf_buffer__free(perf);
	ring_buffer__free(ring);
	bpf_object__close(obj);
	return command ? pclose(command) : 5;
}
