/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the results of bpf(2) commands, for comparison between the Linux kernel and a session:
 *
 * `commands enum`: prints the commands in the Linux kernel's BTF, one per line.
 * `commands nothing`: prints the results of 64 commands for invalid descriptors, numbers and attributes.
 * `commands theirs|ours`: prints the result of each command for a map, a program, a link and a perf_event_open(2)
 *   event, all of the kprobe kind, of the Linux kernel (theirs) or of the session (ours).
 * `commands memory`: prints the result of loading a large GPU program in a process that cannot allocate more memory.
 *
 * The results must be equal, apart from the differences in the table.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <sys/resource.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "probe_event.h"

#define MANY_INSNS 900000          /* below the Linux kernel's limit; a copy needs new pages */
#define ATTR 168                   /* bytes, more than in any Linux kernel; unknown members must be zero */

union attr {
	union bpf_attr known;
	unsigned char bytes[ATTR];
	uint32_t words[ATTR / 4];
};

static int list(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, "bpf_cmd", BTF_KIND_ENUM) : -1;
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++) {
		const char *name = btf__name_by_offset(btf, btf_enum(t)[i].name_off);

		/* PROG_RUN is an alias of PROG_TEST_RUN */
		if (!strncmp(name, "BPF_", 4) && strcmp(name, "BPF_PROG_RUN"))
			printf("%d %s\n", btf_enum(t)[i].val, name + 4);
	}
	return !t;
}

static int run_command(int cmd, union attr *attr, unsigned int size)
{
	int ret = (int)syscall(SYS_bpf, cmd, attr, size);

	printf("%d: %s\n", cmd, ret < 0 ? strerror(errno) : "done");
	return ret;
}

static void run_invalid_commands(void)
{
	union attr attr;

	for (int cmd = 0; cmd < 64; cmd++) {
		memset(&attr, 0xff, sizeof(attr));
		run_command(cmd, &attr, 128);
		memset(&attr, 0, sizeof(attr));
		attr.words[0] = attr.words[1] = 1u << 29; /* invalid as a file descriptor, as an id and as a type */
		run_command(cmd, &attr, sizeof(attr.known));
		run_command(cmd, NULL, sizeof(attr.known));
	}
	run_command(-1, &attr, sizeof(attr.known));
	run_command(0x7fffffff, &attr, sizeof(attr.known));
}

/* Returns an attribute for the command that names the existing object; the other members are zero. */
static union attr naming(int cmd, int map, int prog, int link, int perf)
{
	static uint32_t key, out[32], count = 1;
	union attr a = { .words = { 0 } };
	union bpf_attr *attr = &a.known;

	switch (cmd) {
	case BPF_MAP_LOOKUP_ELEM: case BPF_MAP_UPDATE_ELEM: case BPF_MAP_DELETE_ELEM: case BPF_MAP_GET_NEXT_KEY:
	case BPF_MAP_LOOKUP_AND_DELETE_ELEM: case BPF_MAP_FREEZE:
		attr->map_fd = map;
		attr->key = cmd == BPF_MAP_FREEZE ? 0 : (uintptr_t)&key;
		attr->value = cmd == BPF_MAP_FREEZE || cmd == BPF_MAP_DELETE_ELEM ? 0 : (uintptr_t)out;
		break;
	case BPF_MAP_LOOKUP_BATCH: case BPF_MAP_LOOKUP_AND_DELETE_BATCH: case BPF_MAP_UPDATE_BATCH: case BPF_MAP_DELETE_BATCH:
		attr->batch.map_fd = map;
		attr->batch.keys = (uintptr_t)&key;
		attr->batch.values = cmd == BPF_MAP_DELETE_BATCH ? 0 : (uintptr_t)out;
		attr->batch.out_batch = cmd == BPF_MAP_LOOKUP_BATCH ? (uintptr_t)(out + 16) : 0;
		attr->batch.count = count;
		break;
	case BPF_OBJ_PIN:
		attr->pathname = (uintptr_t)"/proc/none";
		attr->bpf_fd = map;
		break;
	case BPF_PROG_ATTACH: case BPF_PROG_DETACH:
		attr->target_fd = perf;
		attr->attach_bpf_fd = prog;
		break;
	case BPF_PROG_TEST_RUN:
		attr->test.prog_fd = prog;
		break;
	case BPF_PROG_QUERY:
		attr->query.target_fd = prog;
		break;
	case BPF_OBJ_GET_INFO_BY_FD:
		attr->info.bpf_fd = prog;
		attr->info.info_len = 64;
		attr->info.info = (uintptr_t)out;
		break;
	case BPF_RAW_TRACEPOINT_OPEN:
		attr->raw_tracepoint.name = (uintptr_t)"sched_switch";
		attr->raw_tracepoint.prog_fd = prog;
		break;
	case BPF_LINK_CREATE:
		attr->link_create.prog_fd = prog;
		attr->link_create.target_fd = perf;
		attr->link_create.attach_type = BPF_PERF_EVENT;
		break;
	case BPF_LINK_UPDATE:
		attr->link_update.link_fd = link;
		attr->link_update.new_prog_fd = prog;
		break;
	case BPF_LINK_DETACH:
		attr->link_detach.link_fd = link;
		break;
	case BPF_ITER_CREATE:
		attr->iter_create.link_fd = link;
		break;
	case BPF_PROG_BIND_MAP:
		attr->prog_bind_map.prog_fd = prog;
		attr->prog_bind_map.map_fd = map;
		break;
	default:
		memset(&a, 0xff, 4); /* other commands create objects, find them by id, or do not exist */
	}
	return a;
}

static int make(const char *prefix, const char *function)
{
	const struct bpf_insn nothing[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K }, { .code = BPF_JMP | BPF_EXIT } };
	struct bpf_insn insns[] = { { BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, 0 }, { 0 }, nothing[0], nothing[1] };
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "array", 4, 8, 1, NULL), prog, perf, link;
	char name[32];

	snprintf(name, sizeof(name), "%scommands", prefix);
	insns[0].imm = map;
	prog = bpf_prog_load(BPF_PROG_TYPE_KPROBE, name, "GPL", insns, 4, NULL);
	perf = open_event(function, false);
	link = bpf_link_create(prog, perf, BPF_PERF_EVENT, NULL);
	if (map < 0 || prog < 0 || perf < 0 || link < 0) {
		printf("map %d, program %d, event %d, link %d: %s\n", map, prog, perf, link, strerror(errno));
		return 1;
	}
	for (int cmd = 0; cmd <= BPF_PROG_BIND_MAP; cmd++) {
		union attr attr = naming(cmd, map, prog, link, perf);

		run_command(cmd, &attr, sizeof(attr.known));
	}
	return 0;
}

/* Limits the address space to the pages that this process has. */
static int forbid_pages(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;
	struct rlimit limit;

	if (!f || fscanf(f, "%lu", &pages) != 1)
		return 1;
	fclose(f);
	limit.rlim_cur = limit.rlim_max = pages * (unsigned long)sysconf(_SC_PAGESIZE);
	return setrlimit(RLIMIT_AS, &limit);
}

static int load_without_memory(void)
{
	static struct bpf_insn insns[MANY_INSNS];
	union attr attr = { .known = { .prog_type = BPF_PROG_TYPE_KPROBE, .insn_cnt = MANY_INSNS,
				       .insns = (uintptr_t)insns, .license = (uintptr_t)"GPL" } };

	strcpy(attr.known.prog_name, "cuda__memory");
	bpf_map_create(BPF_MAP_TYPE_ARRAY, "array", 4, 8, 1, NULL); /* connects to the session */
	if (forbid_pages())
		return 1;
	run_command(BPF_PROG_LOAD, &attr, sizeof(attr.known));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "enum"))
		return list();
	if (!strcmp(argv[1], "memory"))
		return load_without_memory();
	if (strcmp(argv[1], "nothing"))
		return make(strcmp(argv[1], "theirs") ? "cuda__" : "", strcmp(argv[1], "theirs") ? "cuda__step_one" : NULL);
	run_invalid_commands();
	return 0;
}
