/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loader with rare and with invalid operations. It prints a line for each result that differs from the Linux
 * kernel's.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int wrong;

static void check(const char *what, int is)
{
	if (!is)
		printf("%s: %m\n", what);
	wrong |= !is;
}

static int bpf(int cmd, union bpf_attr *attr)
{
	return (int)syscall(__NR_bpf, cmd, attr, sizeof(*attr));
}

static int make_of(unsigned int type, unsigned int key, unsigned int value, unsigned int n, unsigned int flags)
{
	union bpf_attr attr = { .map_type = type, .key_size = key, .value_size = value, .max_entries = n, .map_flags = flags };

	return bpf(BPF_MAP_CREATE, &attr);
}

static int make(unsigned int type, unsigned int key, unsigned int n, unsigned int flags)
{
	return make_of(type, key, 8, n, flags);
}

static int element(int cmd, int map, const void *key, void *value)
{
	union bpf_attr attr = { .map_fd = map, .key = (unsigned long)key, .value = (unsigned long)value };

	return bpf(cmd, &attr);
}

static int freeze(int map)
{
	union bpf_attr attr = { .map_fd = map };

	return bpf(BPF_MAP_FREEZE, &attr);
}

/* Load a GPU program that uses the map, which moves the map to the session. Returns the program's file descriptor. */
static int load(int map)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map }, { 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K }, { .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_KPROBE, .insns = (unsigned long)insns, .insn_cnt = 4, .license = (unsigned long)"GPL",
		.prog_name = "cuda__wild",
	};

	return bpf(BPF_PROG_LOAD, &attr);
}

static int attach(int prog)
{
	struct perf_event_attr event = { .size = sizeof(event), .kprobe_func = (unsigned long)"cuda__nothing" };
	FILE *f = fopen("/sys/bus/event_source/devices/kprobe/type", "r");
	union bpf_attr attr = { .link_create = { .prog_fd = prog, .attach_type = BPF_PERF_EVENT } };

	if (f && fscanf(f, "%u", &event.type) == 1)
		attr.link_create.target_fd = (int)syscall(SYS_perf_event_open, &event, -1, 0, -1, 0);
	if (f)
		fclose(f);
	return bpf(BPF_LINK_CREATE, &attr);
}

/*
 * Frozen maps that programs cannot write (BPF_F_RDONLY_PROG): a hash table with one key, and an array with several
 * values.
 */
static void constants(void)
{
	int hash = make(BPF_MAP_TYPE_HASH, 4, 1, BPF_F_RDONLY_PROG), array = make(BPF_MAP_TYPE_ARRAY, 4, 4, BPF_F_RDONLY_PROG);
	unsigned int key = 0, last = 3;
	unsigned long long value = 5, is = 0;

	element(BPF_MAP_UPDATE_ELEM, hash, &key, &value);
	element(BPF_MAP_UPDATE_ELEM, array, &last, &value);
	check("maps are frozen", !freeze(hash) && !freeze(array));
	check("a program with a frozen hash is attached", attach(load(hash)) >= 0);
	check("which has its value", !element(BPF_MAP_LOOKUP_ELEM, hash, &key, &is) && is == 5);
	check("one with a frozen array is attached", attach(load(array)) >= 0);
	check("which has its values", !element(BPF_MAP_LOOKUP_ELEM, array, &last, &is) && is == 5);
	check("which are not written to", element(BPF_MAP_UPDATE_ELEM, array, &last, &value) < 0 && errno == EPERM);
}

static void batches(void)
{
	int map = make(BPF_MAP_TYPE_HASH, 16, 8, 0), prog = load(map);
	struct {
		unsigned int place, behind;
	} at = { 0, 77 };
	char keys[8][16] = { { 1 }, { 2 }, { 3 } };
	unsigned long long values[8] = { 1, 2, 3 };
	unsigned int n = 0;
	int ret;
	union bpf_attr attr = {
		.batch = { .map_fd = map, .keys = (unsigned long)keys, .values = (unsigned long)values, .count = 3 },
	};

	check("a program is loaded", prog >= 0);
	check("a batch is put in", !bpf(BPF_MAP_UPDATE_BATCH, &attr) && attr.batch.count == 3);
	attr.batch.out_batch = (unsigned long)&at;
	do { /* the Linux kernel returns a whole bucket per call, so several calls may be necessary */
		attr.batch.count = 8;
		ret = bpf(BPF_MAP_LOOKUP_BATCH, &attr);
		n += attr.batch.count;
		attr.batch.in_batch = (unsigned long)&at;
	} while (!ret);
	check("batches are looked up, to the end", errno == ENOENT && n == 3);
	check("their place has 4 bytes", at.behind == 77);
	attr.batch.keys = 0;
	attr.batch.count = 3;
	check("a batch of no keys is refused", bpf(BPF_MAP_UPDATE_BATCH, &attr) < 0 && errno == EFAULT);
	attr.batch.keys = (unsigned long)keys;
	attr.batch.values = 0;
	check("and one of no values", bpf(BPF_MAP_UPDATE_BATCH, &attr) < 0 && errno == EFAULT);
}

static int shared;

static void look_up_shared(int signal)
{
	unsigned long long value;
	unsigned int key = 0;

	(void)signal;
	element(BPF_MAP_LOOKUP_ELEM, shared, &key, &value);
}

static void *look_up_repeatedly(void *arg)
{
	for (int i = 0; i < 2000; i++)
		look_up_shared(0);
	return arg;
}

/* Signal handlers, threads and forked children make requests while others are in flight. */
static void test_concurrent_requests(void)
{
	struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { { 0, 0 }, { 0, 0 } };
	pthread_t thread;
	int status, well = 1;

	signal(SIGALRM, look_up_shared);
	setitimer(ITIMER_REAL, &often, NULL);
	look_up_repeatedly(NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	pthread_create(&thread, NULL, look_up_repeatedly, NULL);
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();

		if (!child) {
			look_up_shared(0);
			_exit(0);
		}
		well &= waitpid(child, &status, 0) == child && !status;
	}
	pthread_join(thread, NULL);
	check("children ask too", well);
}

/* Detach a program by closing its link, and attach it again at once. */
static void again(void)
{
	int prog = load(shared), link = attach(prog);

	check("a program is attached", link >= 0);
	close(link);
	check("and again", attach(prog) >= 0);
}

/*
 * A process that has a map's file descriptor may lock the file with flock(2); another request for the map then fails.
 */
static void locks(void)
{
	struct bpf_map_info info = { 0 };
	union bpf_attr attr = { .info = { .bpf_fd = shared, .info = (unsigned long)&info, .info_len = sizeof(info) } };

	check("a map tells what it is", !bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) && info.id);
	attr = (union bpf_attr){ .map_id = info.id };
	flock(shared, LOCK_EX);
	check("another is refused meanwhile", bpf(BPF_MAP_GET_FD_BY_ID, &attr) < 0 && errno == EAGAIN);
	flock(shared, LOCK_SH);
	check("and given then", bpf(BPF_MAP_GET_FD_BY_ID, &attr) >= 0);
}

/*
 * The memory of a ring buffer can be mapped as with the Linux kernel, and in no other way. A write to the mapped
 * consumer position harms only the writer's own records.
 */
static void rings(void)
{
	int map = make_of(BPF_MAP_TYPE_RINGBUF, 0, 0, 8192, 0), hash = make(BPF_MAP_TYPE_HASH, 4, 8, 0), perf;
	unsigned int one = 1, value;
	unsigned long *tail, *data;
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0);

	check("a ring's program is loaded", load(map) >= 0 && load(hash) >= 0);
	tail = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	data = mmap(NULL, 4096 + 2 * 8192, PROT_READ, MAP_SHARED, map, 4096);
	check("its memory is mapped", tail != MAP_FAILED && data != MAP_FAILED && !data[0] && !data[512 + 3 * 512]);
	check("no more than there is", mmap(NULL, 4096 + 3 * 8192, PROT_READ, MAP_SHARED, map, 4096) == MAP_FAILED && errno == EINVAL);
	check("and to read", mmap(NULL, 8192, PROT_WRITE, MAP_SHARED, map, 4096) == MAP_FAILED && errno == EPERM);
	check("a hash has none", mmap(NULL, 4096, PROT_READ, MAP_SHARED, hash, 0) == MAP_FAILED && errno == EINVAL);
	check("it can be waited for", !epoll_ctl(epoll, EPOLL_CTL_ADD, map, &event) && !epoll_wait(epoll, &event, 1, 0));
	check("and let go", !epoll_ctl(epoll, EPOLL_CTL_DEL, map, &event));
	*tail = ~0ul;
	check("a ring has no elements", element(BPF_MAP_LOOKUP_ELEM, map, &one, &value) < 0 && errno == 524);
	perf = make_of(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, 2, 0);
	check("an array of buffers is loaded", load(perf) >= 0);
	check("it takes no other descriptor", element(BPF_MAP_UPDATE_ELEM, perf, &one, &hash) < 0 && errno == EBADF);
	check("and has none", element(BPF_MAP_DELETE_ELEM, perf, &one, NULL) < 0 && errno == ENOENT);
	check("no ring of that size", make_of(BPF_MAP_TYPE_RINGBUF, 0, 0, 12288, 0) < 0 && errno == EINVAL);
}

/* Map global data before any program is loaded, as libbpf does since version 1.5. */
static void early(void)
{
	int map = make_of(BPF_MAP_TYPE_ARRAY, 4, 8, 1, BPF_F_MMAPABLE), other;
	unsigned long long *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0), value = 7;
	unsigned int key = 0;

	check("an array is mapped", mapped != MAP_FAILED);
	*mapped = 5;
	check("and attached", attach(load(map)) >= 0);
	check("with what is in it", !element(BPF_MAP_LOOKUP_ELEM, map, &key, &value) && value == 5);
	value = 9;
	check("and is the same memory", !element(BPF_MAP_UPDATE_ELEM, map, &key, &value) && *mapped == 9);
	mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	check("for who maps it now", mapped != MAP_FAILED && *mapped == 9);
	other = memfd_create("shrinks", 0);
	check("what is no map is refused", load(other) < 0);
}

/* If the Linux kernel here lacks kprobes, gpubpf provides this file to processes that have loaded a kprobe program. */
static const char type_of_kprobes[] = "/sys/bus/event_source/devices/kprobe/type";

/* A file name may end at the end of a page, with no mapped page after it. */
static void names(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *name = pages + 4096 - sizeof(type_of_kprobes);

	munmap(pages + 4096, 4096);
	strcpy(name, type_of_kprobes);
	check("a name is read to its end", open(name, O_RDONLY) >= 0);
}

/* A forked child that has not loaded a program itself still finds the file. */
static void children(void)
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(open(type_of_kprobes, O_RDONLY) < 0);
	check("a child has what its parent had", waitpid(child, &status, 0) == child && !status);
}

/* Create maps with flags that only concern how the Linux kernel allocates them. A query must return these flags. */
static void flags(void)
{
	int trie = make_of(BPF_MAP_TYPE_LPM_TRIE, 8, 8, 4, BPF_F_NO_PREALLOC), hash = make_of(BPF_MAP_TYPE_HASH, 4, 8, 4, BPF_F_NO_PREALLOC);
	struct bpf_map_info info = { 0 };
	union bpf_attr attr = { .info = { .bpf_fd = hash, .info = (unsigned long)&info, .info_len = sizeof(info) } };
	unsigned int prefix[2] = { 8, 1 }, address[2] = { 32, 0x100 + 1 };
	unsigned long long value = 5, is = 0;

	check("a trie is loaded", load(trie) >= 0 && load(hash) >= 0);
	check("it takes a prefix", !element(BPF_MAP_UPDATE_ELEM, trie, prefix, &value));
	check("and finds it", !element(BPF_MAP_LOOKUP_ELEM, trie, address, &is) && is == 5);
	check("a hash has its flags", !bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) && info.map_flags == BPF_F_NO_PREALLOC);
}

int main(void)
{
	unsigned long long value = 3;
	unsigned int key = 0;

	shared = make(BPF_MAP_TYPE_ARRAY, 4, 1, 0);
	check("a program is loaded", load(shared) >= 0);
	errno = 77;
	check("an element is put in", !element(BPF_MAP_UPDATE_ELEM, shared, &key, &value) && errno == 77);
	again();
	constants();
	batches();
	rings();
	early();
	flags();
	names();
	children();
	test_concurrent_requests();
	locks();
	if (!wrong)
		printf("all as it should be\n");
	return wrong;
}
