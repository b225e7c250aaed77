/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bridged OBJECT COMMAND N: a loader whose maps are shared by programs of the Linux kernel and of a GPU; the loader
 * does not know this. Prints the results of the programs before, during and after the kernels of COMMAND.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

void probed_function(void);

struct record {
	__u64 time, number, kind;
};
struct both {
	__u64 of_kernel, of_gpu;
};

static struct seen {
	unsigned long long of_kernel, of_gpu, wrong, late;
	__u64 last;
} seen[2];

static unsigned long n, calls;
static atomic_bool ended, called;
static struct bpf_object *obj;

__attribute__((noinline, visibility("default"))) void probed_function(void)
{
	__asm__ volatile("");
}

/*
 * Call the probed function while the command runs, and n times more. Its uprobe pops the values that GPU kernels push.
 */
static void *call(void *arg)
{
	const struct timespec pause = { .tv_nsec = 100000 };

	for (unsigned long after = 0; after < n; after += atomic_load(&ended)) {
		probed_function();
		calls++;
		nanosleep(&pause, NULL);
	}
	atomic_store(&called, true);
	return arg;
}

/* Check that the records of each kind arrive in order, and all records in order of time. */
static int see(struct seen *s, const void *data)
{
	const struct record *r = data;
	unsigned long long *count = r->kind == 1 ? &s->of_kernel : &s->of_gpu;

	s->wrong += r->number != ++*count;
	s->late += r->time < s->last;
	s->last = r->time;
	return 0;
}

static int on_record(void *ctx, void *data, size_t size)
{
	return size < sizeof(struct record) ? 0 : see(ctx, data);
}

static void on_sample(void *ctx, int cpu, void *data, __u32 size)
{
	if (size >= sizeof(struct record))
		see(ctx, data);
}

static int map(const char *name)
{
	return bpf_object__find_map_fd_by_name(obj, name);
}

static unsigned long long read_element(const char *name, __u32 key)
{
	__u64 value = 0;

	if (bpf_map_lookup_elem(map(name), &key, &value))
		return ~0ull;
	return value;
}

static unsigned long long in_all_cpus(void)
{
	__u64 values[4096] = { 0 }, sum = 0;
	__u32 key = 2;

	if (bpf_map_lookup_elem(map("cpu"), &key, values))
		return ~0ull;
	for (int i = 0; i < libbpf_num_possible_cpus(); i++)
		sum += values[i];
	return sum;
}

static void print_sums(const char *when)
{
	printf("%s %llu %llu %llu %llu\n", when, read_element("sums", 0), read_element("table", 1), in_all_cpus(), read_element("recent", 3));
}

/*
 * A map that only one Linux kernel program uses. That program must see the last value that the loader wrote, and the
 * loader must see the last value that the program wrote.
 */
static void step(unsigned long long i)
{
	__u32 key = 7;
	__u64 value = i;

	bpf_map_update_elem(map("asked"), &key, &value, BPF_ANY);
	probed_function();
	calls++;
	printf("asked %llu\n", read_element("asked", 8));
}

static int attach(void)
{
	LIBBPF_OPTS(bpf_uprobe_opts, self, .func_name = "probed_function");
	static const char *const others[] = { "on_raw", "on_tracepoint", "on_function" };

	if (!bpf_program__attach_uprobe_opts(bpf_object__find_program_by_name(obj, "on_host"), -1, "/proc/self/exe", 0, &self))
		return 4;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct bpf_program *p = bpf_object__find_program_by_name(obj, others[i]);

		if (!bpf_program__autoload(p) || !bpf_program__attach(p))
			printf("no %s\n", others[i]);
	}
	return 0;
}

/* Load the object without the programs that this Linux kernel does not support, as other loaders do. */
static int load(const char *path)
{
	obj = bpf_object__open_file(path, NULL);
	if (obj && !libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_TRACING, NULL))
		bpf_program__set_autoload(bpf_object__find_program_by_name(obj, "on_function"), false);
	return !obj || bpf_object__load(obj) ? (errno == EPERM ? 77 : 2) : 0;
}

static void print_values(void)
{
	struct both value = { 0 }, out = { 0 };
	__u32 first = 0, second = 1;
	__u64 next, sum = 0, taken = 0;

	bpf_map_lookup_elem(map("values"), &first, &value);
	bpf_map_lookup_elem(map("values"), &second, &out);
	printf("values %llu %llu\n", value.of_kernel, value.of_gpu);
	while (!bpf_map_lookup_and_delete_elem(map("to_reader"), NULL, &next)) {
		taken++;
		sum += next;
	}
	printf("queues %llu %llu read %llu %llu\n", out.of_kernel, out.of_gpu, taken, sum);
}

static void print_deleted(void)
{
	__u32 key = 7, next, keys = 0;

	bpf_map_delete_elem(map("asked"), &key);
	probed_function();
	calls++;
	printf("deleted %llu %lld\n", read_element("asked", 8), (long long)read_element("asked", 7));
	for (__u32 *last = NULL; !bpf_map_get_next_key(map("asked"), last, &next) && keys < 9; keys++) {
		key = next;
		last = &key;
	}
	printf("keys %u called %d %d %d\n", keys, read_element("sums", 20) + 1 > 3, read_element("sums", 21) + 1 > 3, read_element("sums", 22) + 1 > 3);
}

static void *run(void *command)
{
	if (system(command) < 0)
		perror(command);
	atomic_store(&ended, true);
	return command;
}

static void run_all(char *command, struct ring_buffer *ring, struct perf_buffer *perf)
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, run, command);
	pthread_create(&threads[1], NULL, call, NULL);
	while (!atomic_load(&called))
		if (ring_buffer__poll(ring, 10) < 0 || perf_buffer__poll(perf, 10) < 0)
			break;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

/* Read the last records of the Linux kernel's programs. No earlier records can arrive by then. */
static void read_all(struct ring_buffer *ring, struct perf_buffer *perf)
{
	while (seen[0].of_kernel < calls || seen[1].of_kernel < calls)
		if (ring_buffer__poll(ring, 10) < 0 || perf_buffer__poll(perf, 10) < 0)
			return;
}

int main(int argc, char **argv)
{
	const struct both none = { 0 };
	struct ring_buffer *ring;
	struct perf_buffer *perf;
	int err = argc == 4 ? load(argv[1]) : 1;

	if (err)
		return err;
	n = strtoul(argv[3], NULL, 0);
	for (__u32 key = 0; key < 2; key++)
		bpf_map_update_elem(map("values"), &key, &none, BPF_ANY);
	ring = ring_buffer__new(map("ring"), on_record, &seen[0], NULL);
	perf = perf_buffer__new(map("perf"), 64, on_sample, NULL, &seen[1], NULL);
	err = !ring || !perf ? 3 : attach();
	if (err)
		return err;
	step(5);
	print_sums("before");
	if (!bpf_program__attach(bpf_object__find_program_by_name(obj, "cuda__step")))
		return 5;
	step(6);
	print_sums("attached");
	for (int i = 0; i < 3; i++)
		getppid();
	run_all(argv[2], ring, perf);
	print_sums("after");
	print_values();
	printf("calls %lu\n", calls);
	print_deleted();
	read_all(ring, perf);
	for (int i = 0; i < 2; i++)
		printf("%s %llu %llu wrong %llu late %llu\n", i ? "perf" : "ring", seen[i].of_kernel, seen[i].of_gpu, seen[i].wrong, seen[i].late);
	return 0;
}
