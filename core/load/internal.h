/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of this folder share. load.h is the folder's interface. */
#ifndef GPUBPF_LOAD_INTERNAL_H
#define GPUBPF_LOAD_INTERNAL_H

#include "core/load/linux/bpf_syscall.h"
#include "load.h"

struct bpf_map;
struct bpf_object;
struct bpf_program;

#define GPUBPF_MAX_OBJECT_SIZE (64u << 20)
#define GPUBPF_MAX_PROGS 256  /* maximum programs of a unit */

/* The Linux kernel's symbols, read on the first look-up. */
struct gpubpf_kallsyms {
	bool tried;
	char *text;
	size_t size;
};

/* One object while it is loaded. */
struct gpubpf_loading {
	const struct gpubpf_load_opts *opts;
	struct gpubpf_loaded *out;
	struct gpubpf_diag *diag;
	int index; /* index of the object in the session */
	const char *path;
	void *image; /* the file's bytes */
	size_t size;
	struct bpf_object *obj;
	struct btf *btf;       /* a copy that outlives obj, NULL if none */
	struct gpubpf_sys sys; /* the maps and programs that libbpf created */
	int32_t *unit_map;     /* [sys.nmaps] index in the unit, or GPUBPF_MAP_UNUSED */
	struct gpubpf_types {
		uint32_t key, value;
	} *types; /* [number of maps of obj, in its order] the key and value types of each; libbpf
				   * drops types that the kernel would refuse */
	struct gpubpf_kallsyms kallsyms;
	char (*host)[64]; /* names of the programs left to the Linux kernel */
	uint32_t nhost;
	bool mixed;    /* some programs of the object are left to the Linux kernel */
	bool numbered; /* instructions refer to maps by index in sys.maps, not by descriptor */
};

enum { GPUBPF_MAP_UNUSED = -1 };

/* object.c: loads one object and adds its contents to l->out. */
int gpubpf_object_load(struct gpubpf_loading *l);

/*
 * choose.c: does the object have a map of programs? Then a program without a kernel or place may be a target of tail
 * calls.
 */
bool gpubpf_has_prog_array(const struct bpf_object *obj);
/* choose.c: marks the programs that libbpf should load. */
int gpubpf_object_choose(struct gpubpf_loading *l);
/* Returns the first --attach of a program, NULL if there is none. */
const struct gpubpf_attach *gpubpf_attach_of(const struct gpubpf_loading *l, const struct bpf_program *prog);

/* from_libbpf.c: adds the maps and programs that libbpf loaded to l->out. */
int gpubpf_object_import(struct gpubpf_loading *l);

/* precheck.c: refuses input that libbpf could not handle safely. All that libbpf reads afterwards lies in the image. */
int gpubpf_precheck(const void *image, size_t size, struct gpubpf_diag *diag);

/*
 * btfcheck.c and btfext.c: refuse .BTF and .BTF.ext that libbpf could not handle safely. Call gpubpf_btf_check() first,
 * gpubpf_btf_ext_check() next, gpubpf_btf_check_finish() last.
 */
struct gpubpf_btf_check {
	struct gpubpf_diag *diag;
	const char *strings;
	uint32_t nstrings;             /* bytes of all strings */
	const struct btf_type **types; /* [ntypes + 1] by type id; ids begin at 1 */
	uint32_t ntypes;
};
int gpubpf_btf_check(struct gpubpf_btf_check *c, const void *data, size_t size);
bool gpubpf_btf_has_string(const struct gpubpf_btf_check *c, uint32_t offset);
bool gpubpf_btf_has_kind(const struct gpubpf_btf_check *c, uint32_t id, uint32_t kind);
int gpubpf_btf_ext_check(struct gpubpf_btf_check *c, const void *data, size_t size);
void gpubpf_btf_check_finish(struct gpubpf_btf_check *c);

/* section.c: where the programs of a section run */
enum gpubpf_section_of {
	GPUBPF_SECTION_GPU,   /* on a GPU */
	GPUBPF_SECTION_MAYBE, /* on a GPU or in the Linux kernel: gpubpf_kernel_has_function() decides */
	GPUBPF_SECTION_HOST,  /* in the Linux kernel */
};
struct gpubpf_section {
	enum gpubpf_section_of of;
	enum gpubpf_site site;
	const char *pattern; /* the part of the section's name after the prefix; "" if there is none */
};
bool gpubpf_section_parse(const char *name, struct gpubpf_section *section);
/* Lists the sections that hold GPU programs, for messages; truncated to the buffer. */
void gpubpf_section_list(char *buf, size_t size);
/* Does the running Linux kernel have a function of this name? */
bool gpubpf_kernel_has_function(struct gpubpf_kallsyms *syms, const char *function);
void gpubpf_kallsyms_finish(struct gpubpf_kallsyms *syms);

/* mapdef.c: checks a map as libbpf defined it against the rules of its type. */
int gpubpf_map_define(const struct gpubpf_sys_map *def, const char *name, bool global_data, struct gpubpf_map *map,
		      struct gpubpf_diag *diag);

/* May a map of maps have elements of this type? */
bool gpubpf_map_may_be_inner(const struct gpubpf_map_type *type);
#define GPUBPF_NOT_INNER "elements may be maps with keys, queues, stacks and bloom filters, not maps of maps (as in the Linux kernel), and not " \
	"rings, whose readers find them by name: define these outside of the map"

/* program.c: fills prog's insns, funcs and lines from the arguments of PROG_LOAD. */
int gpubpf_program_import(const struct gpubpf_loading *l, const struct gpubpf_sys_prog *from, struct gpubpf_prog *prog);
/* Finds the functions of a program from the targets of its calls. */
int gpubpf_program_funcs(struct gpubpf_prog *prog, struct gpubpf_diag *diag);
/* Adds the source line of the refused instruction to the diagnostic. */
void gpubpf_program_point_at(const struct gpubpf_prog *prog, struct gpubpf_diag *diag);
void gpubpf_program_finish(struct gpubpf_prog *prog);

/*
 * tail.c: for each program of the unit from `first` on that calls helper 12, adds the programs that it may tail-call as
 * functions. numbers: each program's number in its object.
 */
int gpubpf_tails_link(struct gpubpf_loading *l, uint32_t first, const uint32_t *numbers);

/*
 * additive.c: sets *to to a copy of the program in which additions to per-CPU values are atomic. The caller frees its
 * instructions, also after an error.
 */
int gpubpf_additive_rewrite(const struct gpubpf_map *maps, uint32_t nmaps, const struct gpubpf_sys_prog *from,
			    struct gpubpf_sys_prog *to, struct gpubpf_diag *diag);

/* load.c: gpubpf_libbpf_lock() gives this thread exclusive use of libbpf and records its messages. */
void gpubpf_libbpf_lock(void);
void gpubpf_libbpf_unlock(void);

/* object.c: returns the prefix of libbpf's names for global data: "probe.bpf.o" gives "probe", as in "probe.bss". */
void gpubpf_object_name(const char *path, char *name, size_t size);

/* map types from this number on exist only in gpubpf. The kernel can share the values of SHARED_ARRAY. */
#define GPUBPF_FIRST_OWN_TYPE 1500
#define GPUBPF_SHARED_ARRAY 1504

/* log.c: records libbpf's messages of this thread between begin and end. */
void gpubpf_log_begin(void);
/*
 * Reports the first warning as a diagnostic; `what` if there was none. Returns -EINVAL, or err if descriptors or file
 * size ran out.
 */
int gpubpf_log_refuse(struct gpubpf_diag *diag, const char *what, int err);
/* Reports a system call that failed with err (-errno), and returns err. */
int gpubpf_load_system(struct gpubpf_diag *diag, const char *what, int err);
void gpubpf_log_end(void);

#endif
