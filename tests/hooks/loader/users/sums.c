/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums OBJECT COMMAND N: while the GPU kernels of COMMAND add to a word, this program calls a function with a Linux
 * uprobe N times, and a thread adds N times. Prints the final value.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

void probed_function(void);

static unsigned long n;

__attribute__((noinline, visibility("default"))) void probed_function(void)
{
	__asm__ volatile("");
}

static void *call(void *arg)
{
	for (unsigned long i = 0; i < n; i++)
		probed_function();
	return arg;
}

static void *add(void *word)
{
	for (unsigned long i = 0; i < n; i++)
		__atomic_fetch_add((__u64 *)word, 1, __ATOMIC_RELAXED);
	return word;
}

static int attach(struct bpf_object *obj)
{
	LIBBPF_OPTS(bpf_uprobe_opts, self, .func_name = "probed_function");

	if (!bpf_program__attach(bpf_object__find_program_by_name(obj, "cuda__add")))
		return 3;
	return bpf_program__attach_uprobe_opts(bpf_object__find_program_by_name(obj, "on_host"), -1, "/proc/self/exe", 0, &self) ? 0 : 4;
}

int main(int argc, char **argv)
{
	struct bpf_object *obj = bpf_object__open_file(argv[1], NULL);
	__u64 *word, looked_up = 0;
	pthread_t threads[2];
	__u32 key = 0;
	int map, err;

	n = strtoul(argv[3], NULL, 0);
	if (!obj || bpf_object__load(obj))
		return errno == EPERM ? 77 : 2;
	err = attach(obj);
	map = bpf_object__find_map_fd_by_name(obj, "sum");
	word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (err || word == MAP_FAILED)
		return err ? err : 5;
	pthread_create(&threads[0], NULL, call, NULL);
	pthread_create(&threads[1], NULL, add, word);
	err = system(argv[2]);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	bpf_map_lookup_elem(map, &key, &looked_up);
	printf("sum %llu %llu\n", *word, looked_up);
	return err < 0;
}
