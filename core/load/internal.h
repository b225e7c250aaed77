/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share; load.h is the folder's interface. */
#ifndef GPUBPF_LOAD_INTERNAL_H
#define GPUBPF_LOAD_INTERNAL_H

#include "bpf_syscall.h"
#include "load.h"

struct bpf_map;
struct bpf_object;
struct bpf_program;

#define GPUBPF_MAX_OBJECT_SIZE (64u << 20)
#define GPUBPF_MAX_PROGS 256  /* of a unit */

/* the Linux kernel's symbols, read when first asked for */
struct gpubpf_kallsyms {
	bool tried;
	char *text;
	size_t size;
};

/* one object on its way from file to unit */
struct gpubpf_loading {
	const struct gpubpf_load_opts *opts;
	struct gpubpf_loaded *out;
	struct gpubpf_diag *diag;
	int index;                /* of the object */
	const char *path;
	void *image;              /* the file's bytes */
	size_t size;
	struct bpf_object *obj;
	struct btf *btf;          /* a copy that outlives obj, NULL if none */
	struct gpubpf_sys sys;    /* what libbpf created */
	int32_t *unit_map;        /* [sys.nmaps] index in the unit, or GPUBPF_MAP_LEFT */
	struct gpubpf_types {
		uint32_t key, value;
	} *types;                 /* of each map of obj, in order: libbpf forgets them where the kernel would not take them */
	struct gpubpf_kallsyms kallsyms;
	char (*host)[64];         /* these, by name */
	uint32_t nhost;
	bool mixed;               /* some programs of the object are left to the Linux kernel */
	bool numbered;            /* instructions name maps by their place in sys.maps, not by descriptor */
};

enum { GPUBPF_MAP_LEFT = -1 };

/* object.c: load one object and add what it holds to l->out. */
int gpubpf_object_load(struct gpubpf_loading *l);

/* choose.c: a program that is for no kernel, or no place, may be one that others go on in. */
bool gpubpf_has_prog_array(const struct bpf_object *obj);
/* choose.c: tell libbpf which programs to load. */
int gpubpf_object_choose(struct gpubpf_loading *l);
/* The first --attach of a program, NULL if none. */
const struct gpubpf_attach *gpubpf_attach_of(const struct gpubpf_loading *l, const struct bpf_program *prog);

/* from_libbpf.c: add what libbpf loaded to l->out. */
int gpubpf_object_take(struct gpubpf_loading *l);

/* precheck.c: refuse what libbpf could not survive. Everything that it reads afterwards lies in the image. */
int gpubpf_precheck(const void *image, size_t size, struct gpubpf_diag *diag);

/* btfcheck.c, btfext.c: the same for .BTF and .BTF.ext; the first before the second, then finish. */
struct gpubpf_btf_check {
	struct gpubpf_diag *diag;
	const char *strings;
	uint32_t nstrings;                /* bytes */
	const struct btf_type **types;    /* by id, from 1 */
	uint32_t ntypes;
};
int gpubpf_btf_check(struct gpubpf_btf_check *c, const void *data, size_t size);
bool gpubpf_btf_has_string(const struct gpubpf_btf_check *c, uint32_t offset);
bool gpubpf_btf_has_kind(const struct gpubpf_btf_check *c, uint32_t id, uint32_t kind);
int gpubpf_btf_ext_check(struct gpubpf_btf_check *c, const void *data, size_t size);
void gpubpf_btf_check_finish(struct gpubpf_btf_check *c);

/* section.c */
enum gpubpf_section_of {
	GPUBPF_SECTION_GPU,    /* ours */
	GPUBPF_SECTION_MAYBE,  /* ours or the Linux kernel's: gpubpf_kernel_has() decides */
	GPUBPF_SECTION_HOST,   /* the Linux kernel's */
};
struct gpubpf_section {
	enum gpubpf_section_of of;
	enum gpubpf_site site;
	const char *pattern; /* inside the section's name; "" if nothing is named */
};
bool gpubpf_section_parse(const char *name, struct gpubpf_section *section);
/* Sections that hold GPU programs, as many as there is room for, for messages. */
void gpubpf_section_list(char *buf, size_t size);
/* True if the running Linux kernel has a function of this name. */
bool gpubpf_kernel_has(struct gpubpf_kallsyms *syms, const char *function);
void gpubpf_kallsyms_finish(struct gpubpf_kallsyms *syms);

/* mapdef.c: a map as libbpf defined it, checked against its type's rules. */
int gpubpf_map_define(const struct gpubpf_sys_map *def, const char *name, bool global_data,
		      struct gpubpf_map *map, struct gpubpf_diag *diag);

/* May elements of maps of maps be of the type? */
bool gpubpf_map_may_be_inner(const struct gpubpf_map_type *type);
#define GPUBPF_NOT_INNER "elements may be maps with keys, queues, stacks and bloom filters, not maps of maps (as in the Linux kernel), and not " \
	"rings, whose readers are found by their names: define these as maps by themselves"

/* program.c: fill prog's insns, funcs and lines from what PROG_LOAD got. */
int gpubpf_program_take(const struct gpubpf_loading *l, const struct gpubpf_sys_prog *from,
			struct gpubpf_prog *prog);
/* Functions of a program by the targets of its calls. */
int gpubpf_program_funcs(struct gpubpf_prog *prog, struct gpubpf_diag *diag);
/* The source line of the refused instruction, in the diagnostic. */
void gpubpf_program_point_at(const struct gpubpf_prog *prog, struct gpubpf_diag *diag);
void gpubpf_program_finish(struct gpubpf_prog *prog);

/* tail.c: make each program of the unit from `first` on that calls helper 12 one with those that it may come to. numbers:
 * of each in its object. */
int gpubpf_tails_link(struct gpubpf_loading *l, uint32_t first, const uint32_t *numbers);

/* additive.c: *to becomes a program of its own (its instructions to be freed, also of an error), in which what is added to values
 * a CPU is added atomically. */
int gpubpf_additive_rewrite(const struct gpubpf_map *maps, uint32_t nmaps, const struct gpubpf_sys_prog *from, struct gpubpf_sys_prog *to,
			    struct gpubpf_diag *diag);

/* load.c: libbpf is this thread's alone, and its messages are kept, until */
void gpubpf_libbpf_lock(void);
void gpubpf_libbpf_unlock(void);

/* object.c: what libbpf calls global data after: "probe.bpf.o" gives "probe", and "probe.bss". */
void gpubpf_object_name(const char *path, char *name, size_t size);

/* map types that the Linux kernel does not have; of these the arrays that it is to share */
#define GPUBPF_FIRST_OWN_TYPE 1500
#define GPUBPF_SHARED_ARRAY 1504

/* log.c: libbpf's messages of this thread between begin and end. */
void gpubpf_log_begin(void);
/* The first warning as a diagnostic; `what` if there was none. Returns -EINVAL, or err of want of files. */
int gpubpf_log_refuse(struct gpubpf_diag *diag, const char *what, int err);
/* A system call failed with err, -errno, which it returns. */
int gpubpf_load_system(struct gpubpf_diag *diag, const char *what, int err);
void gpubpf_log_end(void);

#endif
