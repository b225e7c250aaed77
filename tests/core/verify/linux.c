/* SPDX-License-Identifier: Apache-2.0 */
#include "linux.h"

#include <bpf/btf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define LD_IMM64 0x18
#define MAX_FUNCTIONS 8
#define LOG_WALK 1 /* log_level: LOG_WALK logs every instruction, LOG_STATS only statistics (BPF_LOG_STATS) */
#define LOG_STATS 4

static int bpf(int cmd, union bpf_attr *attr)
{
	long r = syscall(__NR_bpf, cmd, attr, sizeof(*attr));

	return r < 0 ? -errno : (int)r;
}

static int fill(int fd, const struct gpubpf_map *map)
{
	uint32_t zero = 0;
	union bpf_attr attr;
	int err;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = fd;
	attr.key = (uintptr_t)&zero;
	attr.value = (uintptr_t)map->init;
	err = bpf(BPF_MAP_UPDATE_ELEM, &attr);
	if (err < 0 || !map->rdonly)
		return err;
	memset(&attr, 0, sizeof(attr));
	attr.map_fd = fd;
	return bpf(BPF_MAP_FREEZE, &attr);
}

int linux_open(struct linux_verifier *k, const struct gpubpf_map *maps, uint32_t nmaps)
{
	*k = (struct linux_verifier){ .nmaps = 0 };
	for (uint32_t i = 0; i < nmaps && i < LINUX_MAX_MAPS; i++) {
		union bpf_attr attr;
		int fd;

		memset(&attr, 0, sizeof(attr));
		attr.map_type = maps[i].type->number;
		attr.key_size = maps[i].key_size;
		attr.value_size = maps[i].value_size;
		attr.max_entries = maps[i].max_entries;
		attr.map_flags = maps[i].map_flags;
		attr.map_extra = maps[i].map_extra;
		fd = bpf(BPF_MAP_CREATE, &attr);
		if (fd < 0) {
			linux_close(k);
			return fd;
		}
		k->fds[k->nmaps++] = fd;
		fd = maps[i].init ? fill(fd, &maps[i]) : 0;
		if (fd < 0) {
			linux_close(k);
			return fd;
		}
	}
	return 0;
}

void linux_close(struct linux_verifier *k)
{
	while (k->nmaps)
		close(k->fds[--k->nmaps]);
}

/*
 * Store the start of each function in info, in order. Returns their number, or 0 if the program has no callbacks, since
 * the Linux kernel then needs no types.
 */
static uint32_t find_functions(const struct gpubpf_raw_insn *raw, uint32_t n, struct bpf_func_info *info)
{
	uint32_t found = 0;
	bool called_back = false;

	for (uint32_t at = 0; at < n; at++) {
		bool begins = !at;

		for (uint32_t i = 0; i < n; i += raw[i].code == LD_IMM64 ? 2 : 1) {
			bool back = raw[i].code == LD_IMM64 && raw[i].regs >> 4 == BPF_PSEUDO_FUNC;
			bool call = raw[i].code == (BPF_JMP | BPF_CALL) && raw[i].regs >> 4 == BPF_PSEUDO_CALL;

			begins |= (back || call) && at == i + 1 + (uint32_t)raw[i].imm;
			called_back |= back;
		}
		if (begins && found < MAX_FUNCTIONS)
			info[found++].insn_off = at;
	}
	return called_back ? found : 0;
}

/*
 * Load BTF types for the functions into the Linux kernel. All are static, as callbacks must be. Returns a file
 * descriptor or -errno.
 */
static int load_types(struct bpf_func_info *info, uint32_t n)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED), proto = btf__add_func_proto(btf, number), fd;
	union bpf_attr attr = { .btf_log_level = 0 };
	char name[16];
	uint32_t size;

	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		info[i].type_id = (uint32_t)btf__add_func(btf, name, BTF_FUNC_STATIC, proto);
	}
	attr.btf = (uintptr_t)btf__raw_data(btf, &size);
	attr.btf_size = size;
	fd = bpf(BPF_BTF_LOAD, &attr);
	btf__free(btf);
	return fd;
}

static int load(const struct linux_verifier *k, uint32_t type, const struct gpubpf_raw_insn *raw, uint32_t n, char *log,
		uint32_t size, uint32_t level)
{
	struct gpubpf_raw_insn *insns = malloc(n * sizeof(*insns));
	struct bpf_func_info info[MAX_FUNCTIONS] = {0};
	uint32_t nfuncs = find_functions(raw, n, info);
	int fd, types = nfuncs ? load_types(info, nfuncs) : 0;
	union bpf_attr attr;

	if (!insns)
		return -ENOMEM;
	memcpy(insns, raw, n * sizeof(*insns));
	for (uint32_t i = 0; i + 1 < n; i++) {
		int src = insns[i].regs >> 4;

		if (insns[i].code != LD_IMM64)
			continue;
		if ((src == BPF_PSEUDO_MAP_FD || src == BPF_PSEUDO_MAP_VALUE) && (uint32_t)insns[i].imm < k->nmaps)
			insns[i].imm = k->fds[insns[i].imm];
		i++;
	}
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = type;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = n;
	attr.license = (uintptr_t)"GPL";
	attr.prog_flags = BPF_F_STRICT_ALIGNMENT;
	attr.log_buf = (uintptr_t)log;
	attr.log_size = log ? size : 0;
	attr.log_level = level;
	if (nfuncs) {
		attr.prog_btf_fd = (uint32_t)types;
		attr.func_info = (uintptr_t)info;
		attr.func_info_cnt = nfuncs;
		attr.func_info_rec_size = sizeof(*info);
	}
	fd = bpf(BPF_PROG_LOAD, &attr);
	if (nfuncs && types >= 0)
		close(types);
	free(insns);
	return fd;
}

int linux_load(const struct linux_verifier *k, uint32_t type, const struct gpubpf_raw_insn *raw, uint32_t n)
{
	return load(k, type, raw, n, NULL, 0, 0);
}

static int judge(const struct linux_verifier *k, const struct gpubpf_raw_insn *raw, uint32_t n, char *log, uint32_t size, uint32_t level)
{
	int fd = load(k, BPF_PROG_TYPE_KPROBE, raw, n, log, size, level);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int linux_judge(const struct linux_verifier *k, const struct gpubpf_raw_insn *raw, uint32_t n, char *log, uint32_t size)
{
	return judge(k, raw, n, log, size, log ? LOG_WALK : 0);
}

int linux_walk(const struct linux_verifier *k, const struct gpubpf_raw_insn *raw, uint32_t n, uint32_t *walked)
{
	char log[4096] = "";
	int err = judge(k, raw, n, log, sizeof(log), LOG_STATS);
	const char *line = strstr(log, "processed ");

	*walked = 0;
	if (line)
		sscanf(line, "processed %u insns", walked);
	return err;
}

bool linux_is_new(void)
{
	unsigned int major = 0, minor = 0, patch = 0;
	struct utsname u;

	if (uname(&u) < 0 || sscanf(u.release, "%u.%u.%u", &major, &minor, &patch) < 2)
		return false;
	return major > 6 || (major == 6 && (minor > 18 || (minor == 18 && patch >= 44)));
}
