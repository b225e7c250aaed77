/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify-loops FIGURES OBJECT...: verifies every program of the objects, which are compiled loops of real code, and
 * counts the instructions that the verifier walks. If the running Linux kernel accepts a program
 * (BPF_F_STRICT_ALIGNMENT), gpubpf's verifier must accept it too and walk at most 4 times as many instructions.
 *
 * If bpf(2) is not permitted or the Linux kernel is older than 6.18.44, the file FIGURES supplies the Linux kernel's
 * results. Programs that FIGURES lacks, because another compiler made them, are then skipped. The test does not repeat
 * programs that the Linux kernel refuses according to FIGURES, mostly after a million instructions.
 *
 * verify-loops --record FIGURES OBJECT...: runs the Linux kernel's verifier on all programs and writes FIGURES:
 *
 *   OBJECT PROGRAM INSTRUCTIONS HASH accept|refuse WALKED
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "core/model/diag.h"
#include "core/load/linux/bpf_syscall.h"
#include "core/load/load.h"
#include "core/verify/verify.h"
#include "linux.h"
#include "tests/tap.h"

#define TIMES 4
#define MIN_PROGRAMS 500           /* minimum number of programs that the test compares */
#define MAX_FIGURES 4096

struct figure {
	char object[64], program[64];
	uint32_t ninsns, hash;
	bool accept;
	uint32_t walked;
};

struct loops {
	struct figure figures[MAX_FIGURES];
	uint32_t nfigures;
	int no_kernel;            /* 0, or -errno if the Linux kernel's verifier cannot be used */
	FILE *record;
	uint32_t compared, other, refused; /* numbers of programs */
	double most;              /* largest ratio of gpubpf's walked instructions to the Linux kernel's */
	char most_name[160];
};

struct object {
	char name[64];
	struct bpf_object *obj;
	struct gpubpf_sys sys;
	struct gpubpf_map maps[LINUX_MAX_MAPS];
	const struct gpubpf_sys_map *defs[LINUX_MAX_MAPS];
	uint32_t nmaps;
	struct linux_verifier kernel;
};

static struct loops all;

static bool read_figures(const char *path)
{
	struct figure *f = all.figures;
	char line[256], verdict[16];
	FILE *file = fopen(path, "r");

	if (!file)
		return false;
	while (f < all.figures + MAX_FIGURES && fgets(line, sizeof(line), file))
		if (sscanf(line, "%63s %63s %u %x %15s %u", f->object, f->program, &f->ninsns, &f->hash, verdict,
			   &f->walked) == 6) {
			f->accept = !strcmp(verdict, "accept");
			f++;
		}
	fclose(file);
	all.nfigures = f - all.figures;
	return true;
}

static bool add_map(struct object *o, const struct bpf_map *from)
{
	const struct gpubpf_sys_map *def = gpubpf_sys_map(&o->sys, bpf_map__fd(from));
	struct gpubpf_map *map = &o->maps[o->nmaps];
	void *content;

	if (!def || o->nmaps == LINUX_MAX_MAPS)
		return false;
	o->defs[o->nmaps] = def;
	*map = (struct gpubpf_map){
		.type = gpubpf_map_type_find(def->type), .key_size = def->key_size, .value_size = def->value_size,
		.max_entries = def->max_entries, .map_flags = def->flags, .rdonly = def->frozen,
		.global_data = bpf_map__is_internal(from),
	};
	snprintf(map->name, sizeof(map->name), "%.15s", def->name);
	o->nmaps++;
	if (!map->global_data)
		return map->type != NULL;
	map->init = content = calloc(1, map->value_size);
	return content && pread(bpf_map__fd(from), content, map->value_size, 0) == (ssize_t)map->value_size;
}

/*
 * Open the object with libbpf and read its maps and relocated programs, as libbpf would load them into the Linux
 * kernel.
 */
static bool object_open(struct object *o, const char *path)
{
	const char *name = strrchr(path, '/');
	struct bpf_program *prog;
	struct bpf_map *map;
	bool good = true;
	int err;

	memset(o, 0, sizeof(*o));
	name = name ? name + 1 : path;
	snprintf(o->name, sizeof(o->name), "%.*s", (int)(strlen(name) - 2), name);
	o->obj = bpf_object__open_file(path, NULL);
	if (!o->obj)
		return false;
	bpf_object__for_each_program(prog, o->obj)
		bpf_program__set_type(prog, BPF_PROG_TYPE_KPROBE);
	gpubpf_sys_enter(&o->sys);
	err = bpf_object__load(o->obj);
	gpubpf_sys_leave();
	if (err < 0)
		return false;
	bpf_object__for_each_map(map, o->obj)
		good = good && add_map(o, map);
	return good;
}

static void object_close(struct object *o)
{
	linux_close(&o->kernel);
	for (uint32_t i = 0; i < o->nmaps; i++)
		free((void *)o->maps[i].init);
	bpf_object__close(o->obj);
	gpubpf_sys_finish(&o->sys);
}

/* Replace file descriptors of maps by map indices. Returns false if a descriptor is not that of a map. */
static bool relocate(const struct object *o, struct gpubpf_raw_insn *insns, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		int src = insns[i].regs >> 4;
		uint32_t map = 0;

		if (insns[i].code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		if (src == BPF_PSEUDO_MAP_FD || src == BPF_PSEUDO_MAP_VALUE) {
			while (map < o->nmaps && o->defs[map] != gpubpf_sys_map(&o->sys, insns[i].imm))
				map++;
			if (map == o->nmaps)
				return false;
			insns[i].imm = map;
		}
		i++;
	}
	return true;
}

static void count_insn(void *arg, const struct verifier *v)
{
	++*(uint32_t *)arg;
}

static bool ours(const struct object *o, const struct gpubpf_raw_insn *insns, uint32_t n, uint32_t *walked,
		 struct gpubpf_diag *diag)
{
	struct watch watch = { count_insn, walked, false };
	struct gpubpf_unit unit;
	bool accept;

	gpubpf_diag_init(diag);
	*walked = 0;
	if (gpubpf_unit_raw(insns, n, o->maps, o->nmaps, &unit, diag) < 0)
		return false;
	accept = verify_watched(&unit, unit.progs, NULL, &watch, diag) == 0;
	gpubpf_unit_finish(&unit);
	return accept;
}

static uint32_t hash(const struct gpubpf_raw_insn *insns, uint32_t n)
{
	const uint8_t *bytes = (const uint8_t *)insns;
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n * sizeof(*insns); i++)
		h = (h ^ bytes[i]) * 16777619u;
	return h;
}

static const struct figure *recorded(const struct object *o, const char *program, uint32_t n, uint32_t h)
{
	for (const struct figure *f = all.figures; f < all.figures + all.nfigures; f++)
		if (!strcmp(f->object, o->name) && !strcmp(f->program, program))
			return f->ninsns == n && f->hash == h ? f : NULL;
	return NULL;
}

/*
 * Returns the Linux kernel's result for the program, from the running kernel or from FIGURES, or NULL if it is unknown.
 */
static const struct figure *theirs(const struct object *o, const char *program, const struct gpubpf_raw_insn *insns,
				   uint32_t n)
{
	static struct figure now;
	const struct figure *f = recorded(o, program, n, hash(insns, n));

	if (all.no_kernel || (f && !f->accept))
		return f;
	now = (struct figure){ .ninsns = n, .hash = hash(insns, n) };
	now.accept = linux_walk(&o->kernel, insns, n, &now.walked) == 0;
	return &now;
}

static void compare(const struct object *o, const char *program, const struct gpubpf_raw_insn *insns, uint32_t n)
{
	const struct figure *f = theirs(o, program, insns, n);
	struct gpubpf_diag diag;
	uint32_t walked;
	bool accept;

	if (!f) {
		all.other++;
		return;
	}
	if (all.record)
		fprintf(all.record, "%s %s %u %08x %s %u\n", o->name, program, n, f->hash, f->accept ? "accept" : "refuse",
			f->walked);
	if (!f->accept) {
		all.refused++;
		return;
	}
	accept = ours(o, insns, n, &walked, &diag);
	all.compared++;
	if (!ok(accept && walked <= (uint64_t)TIMES * f->walked, "%s %s: %u instructions walked, by the kernel %u", o->name,
		program, walked, f->walked) && !accept)
		note("%s: %s (at %u)", gpubpf_error_name(diag.code), diag.what, diag.pc);
	if (accept && (double)walked / f->walked > all.most) {
		all.most = (double)walked / f->walked;
		snprintf(all.most_name, sizeof(all.most_name), "%s %s", o->name, program);
	}
}

static void run_object(const char *path)
{
	struct bpf_program *prog;
	struct object o;
	int err;

	if (!ok(object_open(&o, path), "%s is read", path)) {
		object_close(&o);
		return;
	}
	err = all.no_kernel ? 0 : linux_open(&o.kernel, o.maps, o.nmaps);
	if (err < 0)
		all.no_kernel = err;
	bpf_object__for_each_program(prog, o.obj) {
		const struct gpubpf_sys_prog *raw = gpubpf_sys_prog(&o.sys, bpf_program__fd(prog));
		struct gpubpf_raw_insn *insns = (struct gpubpf_raw_insn *)raw->insns;

		if (relocate(&o, insns, raw->ninsns))
			compare(&o, bpf_program__name(prog), insns, raw->ninsns);
		else
			ok(false, "%s: maps of %s", o.name, bpf_program__name(prog));
	}
	object_close(&o);
}

int main(int argc, char **argv)
{
	bool record = argc > 2 && !strcmp(argv[1], "--record");
	const char *figures = argv[argc > 1 ? 1 + record : 0];

	libbpf_set_print(NULL);
	all.no_kernel = linux_is_new() ? 0 : -EOPNOTSUPP;
	ok(record || read_figures(figures), "%s: %u figures", figures, all.nfigures);
	if (record)
		all.record = fopen(figures, "w");
	for (int i = 2 + record; i < argc; i++)
		run_object(argv[i]);
	if (all.record && fclose(all.record))
		ok(false, "%s is written", figures);
	if (all.no_kernel)
		skip("the running kernel's figures", "%s; compared with those that are recorded",
		     all.no_kernel == -EOPNOTSUPP ? "it is older than Linux 6.18.44" : strerror(-all.no_kernel));
	else
		ok(true, "compared with the running kernel");
	note("%u programs compared, %u refused by the kernel, %u of another compiler than the record's", all.compared,
	     all.refused, all.other);
	note("at most %.2f times the kernel's: %s", all.most, all.most_name);
	ok(all.compared >= MIN_PROGRAMS, "%u programs were compared, at least %u", all.compared, MIN_PROGRAMS);
	return done();
}
