/* SPDX-License-Identifier: Apache-2.0 */
/*
 * switches [COMMAND]: prints the effect of ioctl(2) on probes and buffers of perf_event_open(2), one line each. The
 * probe is a Linux uprobe of this program. With COMMAND it is a probe of the GPU kernel step_one. COMMAND launches that
 * kernel once with 1024 threads.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

#include "probe_event.h"

#define TIMES 1024
#define CPUS 256
#define PAGES 16                   /* data pages of a buffer, enough for all records of a run */
#define RECORD 24                  /* bytes of a record, with its header */

static const char *command;
static int counts, array, ncpus, buffer[CPUS];
static struct perf_event_mmap_page *page[CPUS];

static int open_probe(bool off)
{
	return open_event(command ? "cuda__step_one" : NULL, off);
}

static void open_buffers(bool off)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_BPF_OUTPUT, .sample_type = PERF_SAMPLE_RAW,
		.sample_period = 1, .wakeup_events = 1, .disabled = off,
	};

	for (int i = 0; i < ncpus; i++) {
		buffer[i] = (int)syscall(SYS_perf_event_open, &attr, -1, i, -1, PERF_FLAG_FD_CLOEXEC);
		if (!i && off)
			printf("paused before it is mapped: %s\n", ioctl(buffer[0], PERF_EVENT_IOC_PAUSE_OUTPUT, 1) ? strerror(errno) : "done");
		page[i] = mmap(NULL, (1 + PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, buffer[i], 0);
		if (page[i] == MAP_FAILED || bpf_map_update_elem(array, &i, &buffer[i], 0))
			printf("buffer %d: %s\n", i, strerror(errno));
	}
}

static void close_buffers(void)
{
	for (int i = 0; i < ncpus; i++) {
		munmap(page[i], (1 + PAGES) * 4096);
		close(buffer[i]);
	}
}

/* Load a program that counts and emits a record. Returns its file descriptor. */
static int load(void)
{
	const struct bpf_insn insns[] = {
		{ BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0 },
		{ BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0 }, { BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0 }, { BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -4 },
		{ BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, counts }, { 0 }, { BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem },
		{ BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2, 0 }, { BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, 1 }, { BPF_STX | BPF_ATOMIC | BPF_DW, 0, 1, 0, BPF_ADD },
		{ BPF_ST | BPF_MEM | BPF_DW, 10, 0, -16, 7 }, { BPF_ALU64 | BPF_MOV | BPF_X, 1, 6, 0, 0 },
		{ BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_MAP_FD, 0, array }, { 0 }, { BPF_LD | BPF_IMM | BPF_DW, 3, 0, 0, -1 }, { 0 },
		{ BPF_ALU64 | BPF_MOV | BPF_X, 4, 10, 0, 0 }, { BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, -16 }, { BPF_ALU64 | BPF_MOV | BPF_K, 5, 0, 0, 8 },
		{ BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_perf_event_output }, { BPF_ALU64 | BPF_MOV | BPF_K }, { BPF_JMP | BPF_EXIT },
	};
	static char log[1 << 16];
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .log_buf = log, .log_size = sizeof(log));
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, command ? "cuda__switches" : "switches", "GPL", insns, sizeof(insns) / sizeof(insns[0]), &opts);

	if (fd < 0)
		printf("%s\n", log);
	return fd;
}

/* Start the calls that the program counts. When this returns, all of them have happened; the process may still run. */
static FILE *work(void)
{
	FILE *f = command ? popen(command, "r") : NULL;
	char line[64];

	for (int i = 0; !command && i < TIMES; i++)
		host_step();
	if (command && (!f || !fgets(line, sizeof(line), f)))
		printf("nothing was launched\n");
	return f;
}

static void set_buffers(unsigned long request, unsigned long arg)
{
	for (int i = 0; i < ncpus; i++)
		if (ioctl(buffer[i], request, arg))
			printf("buffer %d, request %lx: %s\n", i, request & 0xff, strerror(errno));
}

static void print_counts(const char *what)
{
	uint64_t n = 0, zero = 0, records = 0;
	uint32_t key = 0;

	for (int i = 0; i < ncpus; i++) {
		records += (__atomic_load_n(&page[i]->data_head, __ATOMIC_ACQUIRE) - page[i]->data_tail) / RECORD;
		page[i]->data_tail = page[i]->data_head;
	}
	bpf_map_lookup_elem(counts, &key, &n);
	bpf_map_update_elem(counts, &key, &zero, 0);
	printf("%s: ran %llu, records %llu\n", what, (unsigned long long)n, (unsigned long long)records);
}

static void run(const char *what, int probe)
{
	FILE *f = work();

	if (probe >= 0)
		ioctl(probe, PERF_EVENT_IOC_DISABLE, 0); /* after this call, all emitted records are in the buffer */
	else
		set_buffers(PERF_EVENT_IOC_DISABLE, 0);
	print_counts(what);
	if (probe < 0)
		set_buffers(PERF_EVENT_IOC_ENABLE, 0);
	if (f)
		pclose(f);
}

static void run_request(const char *what, int fd, unsigned long request, unsigned long arg)
{
	printf("%s: %s\n", what, ioctl(fd, request, arg) ? strerror(errno) : "done");
}

static void run_requests(const char *what, int fd, int prog)
{
	uint32_t query[8] = { 4 };
	uint64_t id = 0;

	printf("-- requests to %s\n", what);
	run_request("set", fd, PERF_EVENT_IOC_SET_BPF, prog);
	run_request("set of no descriptor", fd, PERF_EVENT_IOC_SET_BPF, 999);
	run_request("reset", fd, PERF_EVENT_IOC_RESET, 0);
	run_request("id", fd, PERF_EVENT_IOC_ID, (unsigned long)&id);
	printf("it has %s\n", id ? "one" : "none");
	run_request("query", fd, PERF_EVENT_IOC_QUERY_BPF, (unsigned long)query);
	run_request("enable a group", fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	run_request("none", fd, 0x2499, 0);
}

static void probes(bool off, int prog)
{
	int probe = open_probe(off);

	printf("-- a probe that is opened%s\n", off ? " disabled" : "");
	run_request("set", probe, PERF_EVENT_IOC_SET_BPF, prog);
	run("set", probe);
	run_request("set again", probe, PERF_EVENT_IOC_SET_BPF, prog);
	run_request("enable", probe, PERF_EVENT_IOC_ENABLE, 0);
	run("enabled", probe);
	run_request("disable", probe, PERF_EVENT_IOC_DISABLE, 0);
	run("disabled", probe);
	run_request("pause", probe, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	run_requests("a probe", probe, prog);
	close(probe);
}

static void links(int prog)
{
	int probe = open_probe(false), link = bpf_link_create(prog, probe, BPF_PERF_EVENT, NULL);

	printf("-- a link\n");
	run(link < 0 ? strerror(-link) : "linked", probe);
	run_request("set", probe, PERF_EVENT_IOC_SET_BPF, prog);
	printf("another link: %s\n", strerror(-bpf_link_create(prog, probe, BPF_PERF_EVENT, NULL)));
	close(link);
	run_request("set when it is closed", probe, PERF_EVENT_IOC_SET_BPF, prog);
	printf("a link to what has a program: %s\n", strerror(-bpf_link_create(prog, probe, BPF_PERF_EVENT, NULL)));
	close(probe);
}

static void buffers(int prog)
{
	int probe = open_probe(false);

	printf("-- buffers\n");
	ioctl(probe, PERF_EVENT_IOC_SET_BPF, prog);
	run("open", -1);
	set_buffers(PERF_EVENT_IOC_DISABLE, 0);
	run("disabled", probe);
	set_buffers(PERF_EVENT_IOC_ENABLE, 0);
	run("enabled", probe);
	set_buffers(PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	run("paused", probe);
	set_buffers(PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	set_buffers(PERF_EVENT_IOC_DISABLE, 0);
	set_buffers(PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	set_buffers(PERF_EVENT_IOC_ENABLE, 0);
	run("enabled, and paused", probe);
	run_requests("a buffer", buffer[0], prog);
	close_buffers();
	open_buffers(true);
	run("opened disabled", probe);
	set_buffers(PERF_EVENT_IOC_ENABLE, 0);
	run("and enabled", probe);
	close(probe);
}

int main(int argc, char **argv)
{
	int prog;

	command = argc > 1 ? argv[1] : NULL;
	ncpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	ncpus = ncpus > CPUS ? CPUS : ncpus;
	counts = bpf_map_create(BPF_MAP_TYPE_ARRAY, "counts", 4, 8, 1, NULL);
	array = bpf_map_create(BPF_MAP_TYPE_PERF_EVENT_ARRAY, "array", 4, 4, ncpus, NULL);
	prog = counts < 0 || array < 0 ? -1 : load();
	if (prog < 0)
		return 1;
	open_buffers(false);
	probes(false, prog);
	probes(true, prog);
	links(prog);
	buffers(prog);
	return 0;
}
