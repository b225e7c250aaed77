/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the results of libbpf's feature probes for the Linux kernel, one per line. The preloaded library must not
 * change them.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct bpf_insn nothing[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K }, { .code = BPF_JMP | BPF_EXIT } };

static int run_command(const char *what, int cmd, union bpf_attr *attr, unsigned int size)
{
	int ret = (int)syscall(__NR_bpf, cmd, attr, size);

	printf("%s: %s\n", what, ret < 0 ? strerror(errno) : "done");
	return ret;
}

static int load(const char *what, unsigned int type, const struct bpf_insn *insns, unsigned int n)
{
	char log[256] = "";
	union bpf_attr attr = {
		.prog_type = type, .insns = (unsigned long)insns, .insn_cnt = n, .license = (unsigned long)"GPL",
		.log_buf = (unsigned long)log, .log_size = sizeof(log), .log_level = 1, .prog_name = "same",
	};

	return run_command(what, BPF_PROG_LOAD, &attr, sizeof(attr));
}

int main(void)
{
	union bpf_attr attr = { .link_create = { .target_fd = -1, .attach_type = BPF_PERF_EVENT } };
	const struct bpf_insn bad[] = { { .code = BPF_JMP | BPF_CALL, .imm = 499 }, nothing[1] };
	char junk[1024];
	int prog = load("a program", BPF_PROG_TYPE_TRACEPOINT, nothing, 2);

	attr.link_create.prog_fd = prog;
	run_command("a link on no descriptor", BPF_LINK_CREATE, &attr, sizeof(attr));
	attr.link_create.target_fd = 0;
	run_command("a link on one that is no event", BPF_LINK_CREATE, &attr, sizeof(attr));
	load("a kprobe", BPF_PROG_TYPE_KPROBE, nothing, 2);
	load("an unknown helper", BPF_PROG_TYPE_KPROBE, bad, 2);
	load("no instruction", BPF_PROG_TYPE_KPROBE, nothing, 0);
	attr = (union bpf_attr){ .map_type = 900, .key_size = 4, .value_size = 8, .max_entries = 1 };
	run_command("a map of no type", BPF_MAP_CREATE, &attr, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	run_command("an array", BPF_MAP_CREATE, &attr, sizeof(attr));
	attr.key_size = 8;
	run_command("an array with such keys", BPF_MAP_CREATE, &attr, sizeof(attr));
	attr = (union bpf_attr){ .map_fd = 0 };
	run_command("an element of standard input", BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr));
	attr.map_fd = 999;
	run_command("an element of no descriptor", BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr));
	attr = (union bpf_attr){ .prog_id = 0x3fffffff };
	run_command("a program of no number", BPF_PROG_GET_FD_BY_ID, &attr, sizeof(attr));
	memset(junk, 0xff, sizeof(junk));
	run_command("what is longer than it may be", BPF_MAP_CREATE, (union bpf_attr *)junk, sizeof(junk));
	run_command("a command that is none", 9999, &attr, sizeof(attr));
	run_command("no pointer", BPF_MAP_CREATE, NULL, sizeof(attr));
	return 0;
}
