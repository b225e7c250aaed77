/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads programs for loaders. The session verifies a program at once, so that the loader gets the verifier's result.
 * The program joins the session when the loader attaches it.
 */
#include "private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/btf.h>

#include "core/wire/kprobe.h"

#define MAX_INSNS 1000000u     /* as in Linux */

/* Returns true if `name`, which bpf(2) may have truncated, stands for the program `whole`. */
static bool same_name(const char *whole, const char *name)
{
	size_t n = strlen(name);

	return !strcmp(whole, name) || (n == BPF_OBJ_NAME_LEN - 1 && !strncmp(whole, name, n));
}

const char *sys_prog_pattern(const struct gpubpf_session *s, const char *name, uint32_t i)
{
	const struct gpubpf_attach *attach;

	for (uint32_t a = 0; (attach = gpubpf_session_attach_at(s, a)); a++)
		if (same_name(attach->prog, name) && !i--)
			return attach->pattern;
	return NULL;
}

/*
 * Returns true for bpftrace's BEGIN and END programs. bpftrace runs them in the Linux kernel when a script starts and
 * ends.
 */
static bool is_bpftrace_builtin(const char *name)
{
	return !strcmp(name, "BEGIN") || !strcmp(name, "END");
}

int sys_prog_is_gpu(struct sys_call *c)
{
	char name[64];
	uint32_t type;

	gpubpf_get_str(c->r, name, sizeof(name));
	type = gpubpf_get_u32(c->r);
	if (c->r->failed)
		return -EPROTO;
	gpubpf_put_u32(c->out,
		       type == BPF_PROG_TYPE_KPROBE && (gpubpf_kprobe_is_gpu(name) || sys_prog_pattern(c->s, name, 0) ||
							(c->s->opts.all_gpu && !is_bpftrace_builtin(name))));
	return 0;
}

/* -- reading the request -- */

static int read_records(struct sys_call *c, struct sys_object *o, size_t each, void **records, uint32_t *n)
{
	size_t size;
	const void *data = gpubpf_get_bytes(c->r, &size);

	if (c->r->failed || size % each || size / each > MAX_INSNS)
		return -EPROTO;
	*records = sys_object_charge(c->s, o, size) ? NULL : malloc(size + 1);
	if (!*records)
		return -ENOMEM;
	if (size)
		memcpy(*records, data, size);
	*n = (uint32_t)(size / each);
	return 0;
}

static int add_map(const struct gpubpf_session *s, struct sys_object *o, uint32_t id, int32_t *index)
{
	uint32_t *grown;

	for (uint32_t i = 0; i < o->prog.nmaps; i++)
		if (o->prog.maps[i] == id) {
			*index = (int32_t)i;
			return 0;
		}
	if (!sys_object_find_kind(s, GPUBPF_BPF_MAP, id))
		return -EBADF;
	if (o->prog.nmaps == GPUBPF_MAX_MAPS)
		return -E2BIG;
	grown = reallocarray(o->prog.maps, o->prog.nmaps + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	o->prog.maps = grown;
	grown[o->prog.nmaps] = id;
	*index = (int32_t)o->prog.nmaps++;
	return 0;
}

/* Replace object ids in map operands of the instructions by indexes into maps[]. */
static int resolve_maps(const struct gpubpf_session *s, struct sys_object *o)
{
	struct bpf_insn *insns = o->prog.raw.insns;
	int err = 0;

	for (uint32_t i = 0; i < o->prog.raw.ninsns && !err; i++) {
		bool wide = insns[i].code == (BPF_LD | BPF_IMM | BPF_DW);

		if (wide && (insns[i].src_reg == BPF_PSEUDO_MAP_FD || insns[i].src_reg == BPF_PSEUDO_MAP_VALUE))
			err = add_map(s, o, (uint32_t)insns[i].imm, &insns[i].imm);
		i += wide;
	}
	return err;
}

/* If bpf(2) has truncated the program's name, take the name of the first function in the BTF. The BTF was checked. */
static void set_full_name(struct sys_object *o, const struct btf *btf)
{
	const struct btf_type *t = btf && o->prog.raw.nfuncs ? btf__type_by_id(btf, o->prog.raw.funcs[0].type_id) : NULL;
	const char *name = t && btf_is_func(t) ? btf__name_by_offset(btf, t->name_off) : NULL;

	if (name && same_name(name, o->prog.name))
		snprintf(o->prog.name, sizeof(o->prog.name), "%s", name);
}

static int read_program(struct sys_call *c, struct sys_object *o)
{
	struct gpubpf_sys_prog *raw = &o->prog.raw;
	struct timespec now;
	int err;

	for (int place = 0; place < SYS_PLACES; place++)
		o->prog.object[place] = -1;
	o->prog.type = gpubpf_get_u32(c->r);
	gpubpf_get_str(c->r, o->prog.name, BPF_OBJ_NAME_LEN);
	err = sys_name_is_valid(o->prog.name) ? 0 : -EINVAL;
	if (!err)
		err = read_records(c, o, sizeof(*raw->insns), (void **)&raw->insns, &raw->ninsns);
	if (!err)
		err = read_records(c, o, sizeof(*raw->funcs), (void **)&raw->funcs, &raw->nfuncs);
	if (!err)
		err = read_records(c, o, sizeof(*raw->lines), (void **)&raw->lines, &raw->nlines);
	o->btf = gpubpf_get_u32(c->r);
	if (!err && (c->r->failed || !raw->ninsns))
		err = -EPROTO;
	if (!err && o->btf && !sys_object_find_kind(c->s, GPUBPF_BPF_BTF, o->btf))
		err = -EBADF;
	if (!err)
		err = resolve_maps(c->s, o);
	clock_gettime(CLOCK_BOOTTIME, &now);
	o->prog.loaded_ns = now.tv_sec * 1000000000ull + now.tv_nsec;
	return err;
}

static void finish_program(struct gpubpf_session *s, struct sys_object *o)
{
	(void)s;
	free(o->prog.raw.insns);
	free(o->prog.raw.funcs);
	free(o->prog.raw.lines);
	free(o->prog.maps);
	free(o->prog.use);
	free(o->prog.inner_use);
}

static void mark_maps(struct gpubpf_session *s, const struct sys_object *o,
		      void (*mark)(struct gpubpf_session *s, uint32_t id))
{
	for (uint32_t i = 0; i < o->prog.nmaps; i++)
		mark(s, o->prog.maps[i]);
}

static const struct sys_object_ops prog_ops = { .finish = finish_program, .mark_references = mark_maps };

/* -- verifying and loading -- */

/* Store how the program uses the map in o->prog.use, or for a prototype in o->prog.inner_use. */
static void store_map_use(struct sys_object *o, const struct sys_closure_map *map, uint32_t use)
{
	for (uint32_t i = 0; i < o->prog.nmaps; i++)
		if (o->prog.maps[i] == map->map->id)
			(map->prototype ? o->prog.inner_use : o->prog.use)[i] = use;
}

static int verify(struct sys_call *c, struct sys_object *o, const struct sys_closure *g, struct gpubpf_loaded *loaded,
		  struct gpubpf_diag *diag)
{
	struct gpubpf_verify_opts opts = { .max_cost = c->s->opts.max_cost, .allow_exit_thread = true };
	int err;

	set_full_name(o, loaded->objects[0].btf);
	o->prog.use = calloc(o->prog.nmaps + 1, sizeof(*o->prog.use));
	o->prog.inner_use = calloc(o->prog.nmaps + 1, sizeof(*o->prog.inner_use));
	err = o->prog.use && o->prog.inner_use ? gpubpf_verify(&loaded->unit, &loaded->unit.progs[0], &opts, diag) :
						 -ENOMEM;
	for (uint32_t i = 0; i < g->nmaps && !err; i++)
		store_map_use(o, &g->maps[i], loaded->unit.progs[0].facts->map_use[i]);
	return err == -EINVAL ? -EACCES : err; /* the Linux verifier also returns -EACCES */
}

/*
 * Verify the program without a place, because the loader names the place only later, when it attaches the program. Then
 * the session verifies the program again.
 */
static int verify_unplaced(struct sys_call *c, struct sys_object *o, struct gpubpf_diag *diag)
{
	struct sys_closure *g = calloc(1, sizeof(*g));
	struct gpubpf_loaded *loaded;
	int err = g ? sys_closure_program(c->s, o, GPUBPF_SITE_ENTRY, "*", g, &loaded, diag) : -ENOMEM;

	if (!err) {
		loaded->unit.progs[0].site = GPUBPF_SITE_NONE;
		err = verify(c, o, g, loaded, diag);
		gpubpf_loaded_destroy(loaded);
	}
	free(g);
	return err;
}

/*
 * Append the Linux verifier's message for an unknown helper to the log. Loaders search the log for this message, and
 * then use another helper.
 */
static void add_unknown_helper(const struct sys_object *o, const struct gpubpf_diag *diag, char *log, size_t size)
{
	const struct bpf_insn *insn = diag->pc < o->prog.raw.ninsns ? &o->prog.raw.insns[diag->pc] : NULL;
	const struct gpubpf_helper *helper = insn ? gpubpf_helper_find((uint32_t)insn->imm) : NULL;
	size_t at = strlen(log);

	if (diag->code == GPUBPF_E_BAD_HELPER && insn && insn->code == (BPF_JMP | BPF_CALL))
		snprintf(log + at, size - at, "\nunknown func bpf_%s#%d", helper ? helper->name : "unknown", insn->imm);
}

int sys_prog_load(struct sys_call *c)
{
	char log[GPUBPF_BPF_LOG_SIZE] = "";
	struct gpubpf_diag diag;
	struct sys_object *o;
	bool read;
	int err;

	gpubpf_diag_init(&diag);
	o = sys_object_new(c->s, GPUBPF_BPF_PROG, &prog_ops, &err);
	if (!o)
		return err;
	err = read_program(c, o);
	read = gpubpf_get_u32(c->r);
	if (!err && c->r->failed)
		err = -EPROTO;
	if (!err)
		err = verify_unplaced(c, o, &diag);
	if (err < 0 && diag.code != GPUBPF_OK)
		gpubpf_diag_format(&diag, log, sizeof(log) - 1);
	if (log[0] && !read)
		gpubpf_session_note(c->s, "program %s is refused: %s%s%s; %s", o->prog.name, diag.where,
				    diag.where[0] ? ": " : "", diag.what, diag.remedy);
	if (log[0])
		add_unknown_helper(o, &diag, log, sizeof(log) - 1);
	if (log[0])
		/* libbpf prints the line "END PROG LOAD LOG" directly after the log */
		snprintf(log + strlen(log), sizeof(log) - strlen(log), "\n");
	gpubpf_put_str(c->out, log);
	return sys_object_answer(c, o, err);
}

/* Returns a BTF object with the same bytes, or NULL. A loader sends the same BTF for many maps and programs. */
static struct sys_object *find_btf(const struct gpubpf_session *s, const void *data, size_t size)
{
	for (uint32_t i = 0; s->loaders && i < s->loaders->n; i++) {
		struct sys_object *o = s->loaders->objects[i];

		if (o->kind == GPUBPF_BPF_BTF && o->btf_data.size == size && !memcmp(o->btf_data.data, data, size))
			return o;
	}
	return NULL;
}

static void finish_btf(struct gpubpf_session *s, struct sys_object *o)
{
	(void)s;
	free(o->btf_data.data);
}

static const struct sys_object_ops btf_ops = { .finish = finish_btf };

static struct sys_object *add_btf(struct gpubpf_session *s, const void *data, size_t size, int *err)
{
	struct sys_object *o = sys_object_new(s, GPUBPF_BPF_BTF, &btf_ops, err);

	if (o && !sys_object_charge(s, o, size) && (o->btf_data.data = malloc(size + 1))) {
		memcpy(o->btf_data.data, data, size);
		o->btf_data.size = size;
		return o;
	}
	if (o) {
		*err = -ENOMEM;
		sys_object_drop(s, o);
	}
	return NULL;
}

int sys_btf_load(struct sys_call *c)
{
	struct sys_object *o;
	size_t size;
	const void *data = gpubpf_get_bytes(c->r, &size);
	int err = 0;

	if (c->r->failed)
		return -EPROTO;
	if (size > GPUBPF_BPF_BTF_MAX)
		return -E2BIG;
	o = find_btf(c->s, data, size);
	if (!o)
		o = add_btf(c->s, data, size, &err);
	c->fd = o ? sys_object_handle(o) : err;
	return c->fd < 0 ? c->fd : 0;
}
