/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: which are for a GPU, and how they go there. */
#include "loader.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_INSNS 1000000u         /* the Linux kernel's */
#define MAX_RECORD 256u            /* bytes */
#define FIRST_OWN_HELPER 501       /* of include/gpubpf/helpers.def */
#define KERNEL_MAPS 1024           /* instructions of a kernel's program that name maps of ours */
#define TRIVIAL 6                  /* instructions of programs by which libbpf learns what the kernel can do */

static atomic_bool loaded;

bool has_programs(void)
{
	return atomic_load(&loaded);
}

static const struct bpf_insn *insns_of(const struct call *c)
{
	return (const struct bpf_insn *)(uintptr_t)c->attr.insns;
}

static bool calls_own_helper(const struct call *c)
{
	const struct bpf_insn *insn = insns_of(c);

	for (uint32_t i = 0; i < c->attr.insn_cnt; i++)
		if (insn[i].code == (BPF_JMP | BPF_CALL) && !insn[i].src_reg && insn[i].imm >= FIRST_OWN_HELPER)
			return true;
	return false;
}

/* One that sets r0, or stores into a value of a map, and ends. */
static bool is_trivial(const struct call *c)
{
	static const uint8_t codes[] = {
		BPF_ALU64 | BPF_MOV | BPF_K, BPF_JMP | BPF_EXIT, BPF_LD | BPF_IMM | BPF_DW, 0, BPF_ST | BPF_MEM | BPF_DW,
	};
	const struct bpf_insn *insn = insns_of(c);

	for (uint32_t i = 0; i < c->attr.insn_cnt && i < TRIVIAL; i++)
		if (!memchr(codes, insn[i].code, sizeof(codes)))
			return false;
	return c->attr.insn_cnt <= TRIVIAL;
}

static void put_name(struct gpubpf_writer *w, const struct call *c)
{
	char name[BPF_OBJ_NAME_LEN];

	memcpy(name, c->attr.prog_name, sizeof(name));
	name[sizeof(name) - 1] = 0;
	gpubpf_put_str(w, name);
}

static bool wanted(const struct call *c)
{
	struct gpubpf_writer w = {0};
	struct answer a;
	bool yes;

	put_name(&w, c);
	gpubpf_put_u32(&w, c->attr.prog_type);
	yes = !ask(GPUBPF_BPF_WANTS, &w, &a) && gpubpf_get_u32(&a.payload.r);
	answer_close(&a);
	return yes;
}

static bool is_for_gpu(const struct call *c)
{
	return c->attr.prog_type == BPF_PROG_TYPE_KPROBE && insns_of(c) && c->attr.insn_cnt &&
	       c->attr.insn_cnt <= MAX_INSNS && (calls_own_helper(c) || wanted(c));
}

/* A descriptor of a map in an instruction, or its place in fd_array, becomes the map's number. */
static int name_map(const struct call *c, struct bpf_insn *insn)
{
	const int *fds = (const int *)(uintptr_t)c->attr.fd_array;
	bool by_place = insn->src_reg == BPF_PSEUDO_MAP_IDX || insn->src_reg == BPF_PSEUDO_MAP_IDX_VALUE;
	bool value = insn->src_reg == BPF_PSEUDO_MAP_VALUE || insn->src_reg == BPF_PSEUDO_MAP_IDX_VALUE;
	int64_t map;

	if (!by_place && insn->src_reg != BPF_PSEUDO_MAP_FD && insn->src_reg != BPF_PSEUDO_MAP_VALUE)
		return 0;
	if (by_place && (!fds || insn->imm < 0))
		return -EPROTO; /* as the kernel has it */
	map = map_taken(by_place ? fds[insn->imm] : insn->imm);
	if (map < 0)
		return (int)map;
	insn->imm = (int32_t)map;
	insn->src_reg = value ? BPF_PSEUDO_MAP_VALUE : BPF_PSEUDO_MAP_FD;
	return 0;
}

static int put_insns(const struct call *c, struct gpubpf_writer *w)
{
	size_t size = c->attr.insn_cnt * sizeof(struct bpf_insn);
	struct bpf_insn *insns = malloc(size + 1);
	int err = insns ? 0 : -ENOMEM;

	if (insns)
		memcpy(insns, insns_of(c), size);
	for (uint32_t i = 0; i < c->attr.insn_cnt && !err; i++)
		if (insns[i].code == (BPF_LD | BPF_IMM | BPF_DW))
			err = name_map(c, &insns[i++]);
	gpubpf_put_bytes(w, insns, err ? 0 : size);
	free(insns);
	return err;
}

/* Records of any size as records of `want` bytes, cut or with zeros behind. */
static int put_records(struct gpubpf_writer *w, uint64_t from, uint32_t n, uint32_t have, uint32_t want)
{
	const char *src = (const char *)(uintptr_t)from;
	char *dst;

	if (!src || !n)
		n = 0;
	else if (have < want || have > MAX_RECORD || n > MAX_INSNS)
		return -EINVAL;
	dst = calloc(n + 1, want);
	for (uint32_t i = 0; dst && i < n; i++)
		memcpy(dst + (size_t)i * want, src + (size_t)i * have, want);
	gpubpf_put_bytes(w, dst, dst ? (size_t)n * want : 0);
	free(dst);
	return dst ? 0 : -ENOMEM;
}

static int put_program(const struct call *c, struct gpubpf_writer *w, int *own_btf)
{
	const union bpf_attr *attr = &c->attr;
	int64_t btf = attr->prog_btf_fd ? btf_taken((int)attr->prog_btf_fd, own_btf) : 0;
	int err = btf < 0 ? (int)btf : 0;

	gpubpf_put_u32(w, attr->prog_type);
	put_name(w, c);
	if (!err)
		err = put_insns(c, w);
	if (!err)
		err = put_records(w, attr->func_info, btf ? attr->func_info_cnt : 0, attr->func_info_rec_size,
				  sizeof(struct bpf_func_info));
	if (!err)
		err = put_records(w, attr->line_info, btf ? attr->line_info_cnt : 0, attr->line_info_rec_size,
				  sizeof(struct bpf_line_info));
	gpubpf_put_u32(w, (uint32_t)btf);
	return err;
}

/* What the session said of the program. */
static void give_log(const struct call *c, struct gpubpf_reader *r)
{
	char *log = (char *)(uintptr_t)c->attr.log_buf;
	size_t size, room = c->attr.log_size;
	const void *text = gpubpf_get_bytes(r, &size);

	if (!c->attr.log_level || !log || !room || r->failed)
		return;
	size = size < room ? size : room - 1;
	memcpy(log, text, size);
	log[size] = 0;
}

static void close_own(int fd)
{
	if (fd >= 0)
		close(fd);
}

static long load(const struct call *c)
{
	struct gpubpf_writer w = {0};
	struct answer a;
	int own_btf = -1, err = put_program(c, &w, &own_btf), fd;

	if (err < 0) {
		gpubpf_writer_finish(&w);
		close_own(own_btf);
		return err;
	}
	err = ask(GPUBPF_BPF_PROG_LOAD, &w, &a);
	close_own(own_btf);
	give_log(c, &a.payload.r);
	fd = a.payload.fd;
	if (!err) {
		a.payload.fd = -1;
		err = fd < 0 ? -EMFILE : fd;
	}
	answer_close(&a);
	return err;
}

/* -- the kernel's programs, which may name maps that have become ours -- */

struct borrowed {
	int fd[KERNEL_MAPS];
	uint32_t n;
};

/* The descriptor that a map's instruction names, -1: it is none. */
static int map_fd_of(const struct call *c, const struct bpf_insn *insn)
{
	const int *fds = (const int *)(uintptr_t)c->attr.fd_array;

	if (insn->code != (BPF_LD | BPF_IMM | BPF_DW))
		return -1;
	if (insn->src_reg == BPF_PSEUDO_MAP_FD || insn->src_reg == BPF_PSEUDO_MAP_VALUE)
		return insn->imm;
	if (insn->src_reg == BPF_PSEUDO_MAP_IDX || insn->src_reg == BPF_PSEUDO_MAP_IDX_VALUE)
		return fds && insn->imm >= 0 ? fds[insn->imm] : -1;
	return -1;
}

static bool names_ours(const struct call *c)
{
	const struct bpf_insn *insn = insns_of(c);

	for (uint32_t i = 0; have_session() && insn && i < c->attr.insn_cnt && c->attr.insn_cnt <= MAX_INSNS; i++)
		if (handle_of(map_fd_of(c, &insn[i]), GPUBPF_BPF_MAP).id)
			return true;
	return false;
}

/* Those of ours that have the kernel's pages, by the kernel's descriptors; what else is ours is the kernel's to refuse. */
static void name_kernel_maps(const struct call *c, struct bpf_insn *insns, struct borrowed *b)
{
	for (uint32_t i = 0; i < c->attr.insn_cnt && b->n < KERNEL_MAPS; i++) {
		int theirs = kernel_array(map_fd_of(c, &insns[i]));
		bool value = insns[i].src_reg == BPF_PSEUDO_MAP_VALUE || insns[i].src_reg == BPF_PSEUDO_MAP_IDX_VALUE;

		if (theirs < 0)
			continue;
		b->fd[b->n++] = insns[i].imm = theirs;
		insns[i].src_reg = value ? BPF_PSEUDO_MAP_VALUE : BPF_PSEUDO_MAP_FD;
	}
}

static long pass_program(struct call *c)
{
	size_t size = c->attr.insn_cnt * sizeof(struct bpf_insn), known = c->size < sizeof(c->attr) ? c->size : sizeof(c->attr);
	struct bpf_insn *insns = names_ours(c) ? malloc(size) : NULL;
	struct borrowed b = {0};
	union bpf_attr attr = c->attr;
	long ret;

	if (!insns)
		return pass(c);
	memcpy(insns, insns_of(c), size);
	name_kernel_maps(c, insns, &b);
	attr.insns = (uintptr_t)insns;
	ret = kernel_bpf(BPF_PROG_LOAD, &attr, known);
	attr.insns = c->attr.insns;
	memcpy(c->user, &attr, known); /* it tells how long its log is */
	while (b.n)
		close(b.fd[--b.n]);
	free(insns);
	return ret;
}

long prog_load(struct call *c)
{
	bool ours = is_for_gpu(c);
	long ret = ours ? load(c) : pass_program(c);

	if (ours && ret >= 0)
		atomic_store(&loaded, true);
	if (!ours && ret == -EPERM && insns_of(c) && is_trivial(c)) {
		ret = load(c);
		return ret == -EOPNOTSUPP ? -EPERM : ret;
	}
	return ret;
}

long prog_test_run(struct call *c)
{
	return handle_of((int)c->attr.test.prog_fd, GPUBPF_BPF_PROG).id ? -524 : pass(c); /* ENOTSUPP, the kernel's alone */
}

/* A map lives as long as what names it, and a session's as long as the session. */
long prog_bind_map(struct call *c)
{
	return handle_of((int)c->attr.prog_bind_map.prog_fd, GPUBPF_BPF_PROG).id ? 0 : pass(c);
}
