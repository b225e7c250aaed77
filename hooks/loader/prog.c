/* SPDX-License-Identifier: Apache-2.0 */
/* Commands on BPF programs. Decides which programs are for a GPU; the session loads these programs. */
#include "loader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_INSNS 1000000u         /* the Linux kernel's limit of instructions */
#define MAX_RECORD_SIZE 256u       /* bytes */
#define MAX_LOG_SIZE (16u << 20)   /* maximum bytes of log that a loader receives, as in libbpf */
#define LICENSE_MAX 128            /* bytes of the license that the Linux kernel reads */
#define FIRST_OWN_HELPER 501       /* number of gpubpf's first helper in include/gpubpf/helpers.def */
#define LAST_OWN_HELPER 999        /* last number reserved for gpubpf; libbpf uses 195896080 for unresolved calls */
#define MAX_KERNEL_MAPS 1024       /* limit of map references in a kernel program */
#define MAX_TRIVIAL_INSNS 6        /* instructions of a program with which libbpf tests kernel features */

/*
 * A BPF_PROG_LOAD call with copies of its inputs. The decision whether the program is for a GPU and the request use the
 * same copies, since the caller may change the originals.
 */
struct program {
	struct call *c;
	struct bpf_insn *insns; /* [n] instructions */
	uint32_t n;
};

static bool calls_own_helper(const struct program *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (p->insns[i].code == (BPF_JMP | BPF_CALL) && !p->insns[i].src_reg &&
		    p->insns[i].imm >= FIRST_OWN_HELPER && p->insns[i].imm <= LAST_OWN_HELPER)
			return true;
	return false;
}

/*
 * Returns true if the program only sets r0 or stores to a map value, and exits. libbpf loads such programs to test
 * features of the Linux kernel.
 */
static bool is_trivial(const struct program *p)
{
	static const uint8_t codes[] = {
		BPF_ALU64 | BPF_MOV | BPF_K, BPF_JMP | BPF_EXIT, BPF_LD | BPF_IMM | BPF_DW, 0,
		BPF_ST | BPF_MEM | BPF_DW,
	};

	for (uint32_t i = 0; i < p->n && i < MAX_TRIVIAL_INSNS; i++)
		if (!memchr(codes, p->insns[i].code, sizeof(codes)))
			return false;
	return p->n <= MAX_TRIVIAL_INSNS;
}

static void put_name(struct gpubpf_writer *w, const struct call *c)
{
	char name[BPF_OBJ_NAME_LEN];

	memcpy(name, c->attr.prog_name, sizeof(name));
	name[sizeof(name) - 1] = 0;
	gpubpf_put_str(w, name);
}

/* Returns 1 if the session wants the program, 0 if it does not or if there is no session, or a negative errno value. */
static int session_wants(const struct call *c)
{
	struct gpubpf_writer w = { 0 };
	struct answer a;
	int ret;

	put_name(&w, c);
	gpubpf_put_u32(&w, c->attr.prog_type);
	ret = ask(GPUBPF_BPF_PROG_IS_GPU, &w, &a);
	if (!ret)
		ret = gpubpf_get_u32(&a.payload.r) != 0;
	answer_close(&a);
	return ret == -EOPNOTSUPP ? 0 : ret;
}

/* Returns 1, 0 or a negative errno value: without an answer, the Linux kernel must not get a program for a GPU. */
static int is_for_gpu(const struct program *p)
{
	if (p->c->attr.prog_type != BPF_PROG_TYPE_KPROBE)
		return 0;
	return calls_own_helper(p) ? 1 : session_wants(p->c);
}

/* -- map references in instructions -- */

static bool names_map(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW) &&
	       (insn->src_reg == BPF_PSEUDO_MAP_FD || insn->src_reg == BPF_PSEUDO_MAP_VALUE ||
		insn->src_reg == BPF_PSEUDO_MAP_IDX || insn->src_reg == BPF_PSEUDO_MAP_IDX_VALUE);
}

/*
 * Read the map descriptor of an instruction, from the instruction or from fd_array. Returns 0, -EPROTO as the Linux
 * kernel does, or -EFAULT.
 */
static int map_fd_of(const struct call *c, const struct bpf_insn *insn, int *fd)
{
	*fd = insn->imm;
	if (insn->src_reg == BPF_PSEUDO_MAP_FD || insn->src_reg == BPF_PSEUDO_MAP_VALUE)
		return 0;
	if (!c->attr.fd_array || insn->imm < 0)
		return -EPROTO;
	return caller_read(fd, c->attr.fd_array + (uint64_t)insn->imm * sizeof(*fd), sizeof(*fd));
}

static void set_map(struct bpf_insn *insn, int32_t map)
{
	bool value = insn->src_reg == BPF_PSEUDO_MAP_VALUE || insn->src_reg == BPF_PSEUDO_MAP_IDX_VALUE;

	insn->imm = map;
	insn->src_reg = value ? BPF_PSEUDO_MAP_VALUE : BPF_PSEUDO_MAP_FD;
}

/*
 * Replace the map descriptors in instructions by the session's map numbers. The session adopts kernel maps among them.
 */
static int replace_map_fds(const struct program *p)
{
	int64_t map;
	int fd, err;

	for (uint32_t i = 0; i < p->n; i++) {
		if (!names_map(&p->insns[i]))
			continue;
		err = map_fd_of(p->c, &p->insns[i], &fd);
		map = err ? err : map_taken(fd);
		if (map < 0)
			return (int)map;
		set_map(&p->insns[i], (int32_t)map);
		i++;
	}
	return 0;
}

/* -- GPU programs -- */

/*
 * Write the caller's n records of `have` bytes (func_info or line_info) as records of `want` bytes. Longer records are
 * truncated.
 */
static int put_records(struct gpubpf_writer *w, uint64_t from, uint32_t n, uint32_t have, uint32_t want)
{
	char *dst, *src = NULL;
	int err = 0;

	if (!from || !n)
		n = 0;
	else if (have < want || have > MAX_RECORD_SIZE || n > MAX_INSNS)
		return -EINVAL;
	if (n && !(src = copied(from, (size_t)n * have, &err)))
		return err;
	dst = calloc(n + 1, want);
	for (uint32_t i = 0; dst && i < n; i++)
		memcpy(dst + (size_t)i * want, src + (size_t)i * have, want);
	gpubpf_put_bytes(w, dst, dst ? (size_t)n * want : 0);
	free(src);
	free(dst);
	return dst ? 0 : -ENOMEM;
}

static int put_program(const struct program *p, struct gpubpf_writer *w, int *own_btf)
{
	const union bpf_attr *attr = &p->c->attr;
	int64_t btf = attr->prog_btf_fd ? btf_adopt((int)attr->prog_btf_fd, own_btf) : 0;
	int err = btf < 0 ? (int)btf : replace_map_fds(p);

	gpubpf_put_u32(w, attr->prog_type);
	put_name(w, p->c);
	gpubpf_put_bytes(w, p->insns, p->n * sizeof(*p->insns));
	if (!err)
		err = put_records(w, attr->func_info, btf ? attr->func_info_cnt : 0, attr->func_info_rec_size,
				  sizeof(struct bpf_func_info));
	if (!err)
		err = put_records(w, attr->line_info, btf ? attr->line_info_cnt : 0, attr->line_info_rec_size,
				  sizeof(struct bpf_line_info));
	gpubpf_put_u32(w, (uint32_t)btf);
	gpubpf_put_u32(w, attr->log_level && attr->log_buf && attr->log_size);
	return err;
}

/* Copy the log of the session's verifier to the caller. */
static void copy_log_out(const struct call *c, struct gpubpf_reader *r)
{
	size_t size, room = c->attr.log_size;
	const void *text = gpubpf_get_bytes(r, &size);

	if (!c->attr.log_level || !c->attr.log_buf || !room || r->failed)
		return;
	size = size < room ? size : room - 1;
	if (!caller_write(c->attr.log_buf, text, size))
		caller_write(c->attr.log_buf + size, "", 1);
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

static long load_session_program(const struct program *p)
{
	struct gpubpf_writer w = { 0 };
	struct answer a;
	int own_btf = -1, err = put_program(p, &w, &own_btf), fd;

	if (err < 0) {
		gpubpf_writer_finish(&w);
		close_if_open(own_btf);
		return err;
	}
	err = ask(GPUBPF_BPF_PROG_LOAD, &w, &a);
	close_if_open(own_btf);
	copy_log_out(p->c, &a.payload.r);
	fd = a.payload.fd;
	if (!err) {
		a.payload.fd = -1;
		err = fd < 0 ? -EMFILE : fd;
	}
	answer_close(&a);
	return err;
}

/* -- kernel programs, which may refer to adopted maps -- */

struct borrowed {
	int fd[MAX_KERNEL_MAPS];   /* descriptors of this process, which must be closed */
	int lent[MAX_KERNEL_MAPS]; /* descriptors borrowed from the caller, which must be returned */
	uint32_t n, nlent;
};

static bool uses_session_map(const struct program *p)
{
	int fd;

	for (uint32_t i = 0; have_session() && i < p->n; i++)
		if (names_map(&p->insns[i]) && !map_fd_of(p->c, &p->insns[i], &fd) && handle_of(fd, GPUBPF_BPF_MAP).id)
			return true;
	return false;
}

static bool calls_pop(const struct program *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (p->insns[i].code == (BPF_JMP | BPF_CALL) && !p->insns[i].src_reg &&
		    (p->insns[i].imm == BPF_FUNC_map_pop_elem || p->insns[i].imm == BPF_FUNC_map_peek_elem))
			return true;
	return false;
}

/* Report to the session which queues the kernel program pops. GPU programs must then push to the kernel's queue. */
static void report_consumers(const struct program *p)
{
	int fd;

	for (uint32_t i = 0; have_session() && calls_pop(p) && i < p->n; i++)
		if (names_map(&p->insns[i]) && !map_fd_of(p->c, &p->insns[i], &fd))
			note_map_consumer(fd);
}

/*
 * Replace session maps in the instructions by the kernel maps that the session shares for them. The Linux kernel
 * refuses session maps that have no such kernel map.
 */
static void replace_session_maps(const struct program *p, struct borrowed *b)
{
	for (uint32_t i = 0; i < p->n && b->n < MAX_KERNEL_MAPS && b->nlent < MAX_KERNEL_MAPS; i++) {
		struct bpf_insn *insn = &p->insns[i];
		int fd, theirs;

		if (!names_map(insn) || map_fd_of(p->c, insn, &fd) < 0)
			continue;
		theirs = kernel_map_of_session(fd);
		if (theirs >= 0)
			b->fd[b->n++] = theirs;
		else if ((theirs = caller_borrow(fd)) >= 0)
			b->lent[b->nlent++] = theirs;
		if (theirs >= 0)
			set_map(insn, theirs);
	}
}

/*
 * Number of attribute bytes that this code knows and passes to the Linux kernel. Unknown members may be pointers or
 * descriptors of the caller, and the kernel would treat them as pointers or descriptors of this process. The last known
 * member is the log's true size, which the kernel writes.
 */
#define KNOWN_ATTR_SIZE (FIELD_END(core_relo_rec_size) + sizeof(uint32_t))

/* Copies, in this process, of the caller's data that an attribute points to. */
struct copies {
	char license[LICENSE_MAX];
	void *part[4];
	int fd[2];
	uint32_t nparts, nfds;
};

static int copy_part(struct copies *copies, __u64 *pointer, size_t size)
{
	int err = 0;

	if (!*pointer || !size) {
		*pointer = 0;
		return 0;
	}
	if (size > GPUBPF_BPF_MAX)
		return -E2BIG;
	copies->part[copies->nparts] = copied(*pointer, size, &err);
	*pointer = (uintptr_t)copies->part[copies->nparts];
	copies->nparts += !err;
	return err;
}

static int copy_log(struct copies *copies, union bpf_attr *attr)
{
	void *log;

	if (!attr->log_buf || !attr->log_size)
		return attr->log_buf || attr->log_size ? -EINVAL : 0; /* the Linux kernel returns the same error */
	attr->log_size = attr->log_size < MAX_LOG_SIZE ? attr->log_size : MAX_LOG_SIZE;
	log = calloc(1, attr->log_size);
	attr->log_buf = (uintptr_t)log;
	if (log)
		copies->part[copies->nparts++] = log;
	return log ? 0 : -ENOMEM;
}

static int copy_fd(struct copies *copies, __u32 *fd)
{
	int own = *fd ? caller_borrow((int)*fd) : 0;

	if (own > 0)
		*fd = (uint32_t)(copies->fd[copies->nfds++] = own);
	return own < 0 ? own : 0;
}

/*
 * Returns true if the program calls functions of Linux kernel modules, which use indexes into fd_array. This code does
 * not pass fd_array, and refuses such programs.
 */
static bool calls_modules(const struct program *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (p->insns[i].code == (BPF_JMP | BPF_CALL) && p->insns[i].src_reg == BPF_PSEUDO_KFUNC_CALL &&
		    p->insns[i].off)
			return true;
	return false;
}

static int copy_program(const struct program *p, union bpf_attr *attr, struct copies *copies)
{
	int err = calls_modules(p) ? -EINVAL : caller_text(copies->license, attr->license, LICENSE_MAX);

	attr->license = (uintptr_t)copies->license;
	attr->insns = (uintptr_t)p->insns;
	attr->fd_array = 0;
	err = err ? err : copy_fd(copies, &attr->prog_btf_fd);
	err = err ? err : copy_fd(copies, &attr->attach_btf_obj_fd);
	err = err ? err : copy_part(copies, &attr->func_info, (size_t)attr->func_info_cnt * attr->func_info_rec_size);
	err = err ? err : copy_part(copies, &attr->line_info, (size_t)attr->line_info_cnt * attr->line_info_rec_size);
	err = err ? err : copy_part(copies, &attr->core_relos, (size_t)attr->core_relo_cnt * attr->core_relo_rec_size);
	return err ? err : copy_log(copies, attr);
}

/*
 * Copy the log and its true size to the caller. The Linux kernel writes the size after the members that the headers
 * declare.
 */
static void copy_result_out(const struct call *c, union bpf_attr attr, size_t known)
{
	const char *log = (const char *)(uintptr_t)attr.log_buf;
	const union bpf_attr *asked = &c->attr;

	if (log && asked->log_buf && log[0])
		caller_write(asked->log_buf, log, strnlen(log, attr.log_size - 1) + 1);
	attr.log_size = asked->log_size;
	attr.insns = asked->insns;
	attr.license = asked->license;
	attr.fd_array = asked->fd_array;
	attr.prog_btf_fd = asked->prog_btf_fd;
	attr.attach_btf_obj_fd = asked->attach_btf_obj_fd;
	attr.func_info = asked->func_info;
	attr.line_info = asked->line_info;
	attr.core_relos = asked->core_relos;
	attr.log_buf = asked->log_buf;
	caller_write(c->user, &attr, known);
}

static long load_with_kernel_maps(const struct program *asked)
{
	size_t known = asked->c->size < KNOWN_ATTR_SIZE ? asked->c->size : KNOWN_ATTR_SIZE;
	struct program p = { asked->c, malloc(asked->n * sizeof(*p.insns)), asked->n };
	union bpf_attr attr = asked->c->attr;
	struct copies copies = { 0 };
	struct borrowed b = { 0 };
	long ret;

	if (!p.insns)
		return -ENOMEM;
	memcpy(p.insns, asked->insns, p.n * sizeof(*p.insns));
	replace_session_maps(&p, &b);
	ret = copy_program(&p, &attr, &copies); /* copies all data that the attribute points to */
	if (!ret) {
		ret = kernel_bpf(BPF_PROG_LOAD, &attr, known);
		copy_result_out(p.c, attr, known);
	}
	free(p.insns);
	while (copies.nparts)
		free(copies.part[--copies.nparts]);
	while (copies.nfds)
		caller_return_fd(copies.fd[--copies.nfds]);
	while (b.nlent)
		caller_return_fd(b.lent[--b.nlent]);
	while (b.n)
		close(b.fd[--b.n]);
	return ret;
}

/* -- GPU and kernel programs -- */

static long load_program(const struct program *p)
{
	int ours = is_for_gpu(p);
	bool trivial = is_trivial(p);
	long ret, fallback;

	if (ours < 0)
		return ours;
	if (!ours)
		report_consumers(p);
	ret = ours ? load_session_program(p) : uses_session_map(p) ? load_with_kernel_maps(p) : pass(p->c);

	if (ours && ret >= 0)
		atomic_store(&caller_state()->loaded, true);
	if (ours || ret != -EPERM || !trivial)
		return ret;
	fallback = load_session_program(p);
	return fallback == -EOPNOTSUPP ? -EPERM : fallback;
}

long prog_load(struct call *c)
{
	struct program p = { .c = c, .n = c->attr.insn_cnt };
	int err = -EINVAL;
	long ret;

	if (c->attr.insns && p.n && p.n <= MAX_INSNS)
		p.insns = copied(c->attr.insns, p.n * sizeof(*p.insns), &err);
	if (!p.insns && err == -ENOMEM)
		return err; /* the program may be for a GPU */
	if (!p.insns)
		return pass(c); /* the Linux kernel refuses a program whose instructions are unreadable or too many */
	ret = load_program(&p);
	free(p.insns);
	return ret;
}

/*
 * Has no effect on a session program. The command extends the life of a map, but session maps live as long as the
 * session.
 */
long prog_bind_map(struct call *c)
{
	return handle_of((int)c->attr.prog_bind_map.prog_fd, GPUBPF_BPF_PROG).id ? 0 : pass(c);
}
