/* SPDX-License-Identifier: Apache-2.0 */
/*
 * places NAME[+OFFSET|/LENGTH] COMMAND [ret|clock|access|cookie]: attaches a GPU program to a kprobe of that name. With
 * /LENGTH the name is its first byte, repeated LENGTH times. Prints the program's count while COMMAND runs, or why it
 * is not attached. With `clock` it also prints the base of helper 502 (the GPU's timer). With `access` the program
 * reads the size of an access. With `cookie` a link with a cookie attaches the program, which stores the cookie.
 */
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "gpubpf/ctx.h"
#include "putting.h"

#define HELPER_GLOBALTIMER 502
#define COOKIE 0x123456789abcull
#define NEAR_S 600

static char function[10000];
static uint64_t offset;

static void name_function(const char *text)
{
	const char *plus = strchr(text, '+'), *slash = strchr(text, '/');
	size_t n = plus ? (size_t)(plus - text) : slash ? (size_t)atoi(slash + 1) : strlen(text);

	for (size_t i = 0; i < n && i < sizeof(function) - 1; i++)
		function[i] = slash ? text[0] : text[i];
	offset = plus ? strtoull(plus + 1, NULL, 0) : 0;
}

static int attach_named(int prog, bool returns, bool has_cookie)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = type_of("kprobe"), .config = returns, .config1 = (uintptr_t)function, .config2 = offset,
	};
	int event = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = COOKIE);

	if (event >= 0 && has_cookie)
		return bpf_link_create(prog, event, BPF_PERF_EVENT, &opts);
	return event < 0 || ioctl(event, PERF_EVENT_IOC_SET_BPF, prog) < 0 ? -errno : event;
}

static void add_result(struct code *c, int map, int helper)
{
	add_call(c, helper);
	add(c, BPF_STX | BPF_MEM | BPF_DW, 10, 0, -8, 0);
	add_map(c, map);
	add_address(c, 2, -16);
	add_address(c, 3, -8);
	add_set(c, 4, BPF_ANY);
	add_call(c, BPF_FUNC_map_update_elem);
}

static void print_result(const char *how, __u64 value)
{
	long long ahead = (long long)(value / 1000000000ull) - (long long)time(NULL);

	if (!strcmp(how, "clock"))
		printf("clock %s\n", llabs(ahead) < NEAR_S ? "since 1970" : "of another base");
	else if (!strcmp(how, "cookie"))
		printf("cookie %#llx\n", (unsigned long long)value);
	else
		printf("counted %llu\n", (unsigned long long)value);
}

int main(int argc, char **argv)
{
	const char *how = argc > 3 ? argv[3] : "";
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "n", 4, 8, 1, NULL), prog, event;
	int ring = bpf_map_create(1527 /* GPU_RINGBUF */, "gpu_ring", 0, 16, 10, NULL);
	struct code c = { .n = 0 };
	uint32_t key = 0;
	__u64 value = 0;

	printf("GPU_RINGBUF: %s\n", ring < 0 ? strerror(errno) : "made");
	name_function(argv[1]);
	if (!strcmp(how, "access"))
		add(&c, BPF_LDX | BPF_MEM | BPF_W, 0, 1, offsetof(struct gpubpf_ctx, mem.bytes), 0);
	add_begin(&c, 0);
	if (!strcmp(how, "clock"))
		add_result(&c, map, HELPER_GLOBALTIMER);
	else if (!strcmp(how, "cookie"))
		add_result(&c, map, BPF_FUNC_get_attach_cookie);
	else
		add_map_store(&c, BPF_MAP_TYPE_ARRAY, map);
	prog = load_code(&c, "cuda__count");
	event = prog < 0 ? prog : attach_named(prog, !strcmp(how, "ret"), !strcmp(how, "cookie"));
	printf("%s\n", event < 0 ? strerror(-event) : "attached");
	if (event < 0)
		return 0;
	fflush(stdout);
	if (system(argv[2]) < 0 || bpf_map_lookup_elem(map, &key, &value))
		return 1;
	print_result(how, value);
	return 0;
}
