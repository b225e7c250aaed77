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
#define GPUBPF_MAX_PROGS 256  /* maximum number of programs in a unit */
#define GPUBPF_MAX_KFUNCS 256 /* maximum number of kernel functions in an object */
#define GPUBPF_KFUNC_UNKNOWN 4000 /* number of the first kernel function that GPUs do not have */

/* The names of the Linux kernel's functions, read at the first look-up. */
struct gpubpf_kallsyms {
	bool tried;
	char *text;
	size_t size;
};

/* The state while one object is loaded. */
struct gpubpf_loading {
	const struct gpubpf_load_opts *opts;
	struct gpubpf_loaded *out;
	struct gpubpf_diag *diag;
	int index; /* index of the object among the objects of this load */
	const char *path;
	void *image; /* the file's bytes */
	size_t size;
	void *linked; /* copy of the image for libbpf, without external functions */
	/* [nkfuncs]: names of the kernel functions that programs call and that GPUs do not have */
	char kfuncs[GPUBPF_MAX_KFUNCS][64];
	uint32_t nkfuncs;
	struct bpf_object *obj;
	struct btf *btf;       /* copy of the object's BTF, valid after obj is closed; NULL: no BTF */
	struct gpubpf_sys sys; /* the maps and programs that libbpf created */
	int32_t *unit_map;     /* [sys.nmaps]: index of the map in the unit, or GPUBPF_MAP_UNUSED */
	struct gpubpf_types {
		uint32_t key, value;
		/*
	 * [number of maps in obj, same order]: BTF ids of the key and value types. They are recorded early, because
	 * libbpf drops types that the Linux kernel would refuse.
	 */
	} *types;
	struct gpubpf_kallsyms kallsyms;
	char (*host)[64]; /* [nhost]: names of the programs left to the Linux kernel */
	uint32_t nhost;
	bool mixed;    /* at least one program of the object is left to the Linux kernel */
	bool numbered; /* instructions refer to maps by index in sys.maps, not by file descriptor */
};

enum { GPUBPF_MAP_UNUSED = -1 };

/* object.c: loads one object and adds its contents to l->out. */
int gpubpf_object_load(struct gpubpf_loading *l);

/*
 * choose.c: returns true if the object has a map of programs. In such an object, a program whose section names no GPU
 * kernel may be a target of tail calls.
 */
bool gpubpf_has_prog_array(const struct bpf_object *obj);
/* choose.c: selects the programs that libbpf loads. */
int gpubpf_object_choose(struct gpubpf_loading *l);
/* Returns the first --attach option for a program, or NULL. */
const struct gpubpf_attach *gpubpf_attach_of(const struct gpubpf_loading *l, const struct bpf_program *prog);

/* from_libbpf.c: adds to l->out the maps and programs that libbpf loaded. */
int gpubpf_object_import(struct gpubpf_loading *l);

/*
 * precheck.c: refuses input that libbpf could not handle safely. After this check, libbpf reads only bytes inside the
 * image.
 */
int gpubpf_precheck(const void *image, size_t size, struct gpubpf_diag *diag);

/*
 * uncalled.c: adds a note for each function without SEC() that no program calls. The image must have passed
 * gpubpf_precheck().
 */
void gpubpf_note_uncalled(struct gpubpf_loading *l);

/* kfuncs.c: fills l->linked. Returns 0, or -errno and a diagnostic. */
int gpubpf_kfuncs_replace(struct gpubpf_loading *l);
/* Gives calls of the running Linux kernel's functions the numbers of helpers, in a program that was passed to bpf(2). */
/*
 * clock.c: chooses the clock of helper 502 of the program: by the list of struct gpubpf_load_opts, or by the program's
 * types. Without both it is CLOCK_MONOTONIC if `monotonic`, else CLOCK_REALTIME.
 */
int gpubpf_clock_choose(const struct gpubpf_loading *l, struct gpubpf_prog *prog, const char *list, bool monotonic);
void gpubpf_kfuncs_resolve(struct gpubpf_loading *l, struct gpubpf_sys_prog *prog);
/* Returns the number of the helper with this name, or a number from GPUBPF_KFUNC_UNKNOWN on. */
int32_t gpubpf_kfunc_number(struct gpubpf_loading *l, const char *name);

/*
 * btfcheck.c and btfext.c: refuse .BTF and .BTF.ext that libbpf could not handle safely. Call gpubpf_btf_check() first,
 * gpubpf_btf_ext_check() next, gpubpf_btf_check_finish() last.
 */
struct gpubpf_btf_check {
	struct gpubpf_diag *diag;
	const char *strings;
	uint32_t nstrings;             /* bytes of all strings together */
	const struct btf_type **types; /* [ntypes + 1]: types by id; ids begin at 1 */
	uint32_t ntypes;
};
int gpubpf_btf_check(struct gpubpf_btf_check *c, const void *data, size_t size);
bool gpubpf_btf_has_string(const struct gpubpf_btf_check *c, uint32_t offset);
bool gpubpf_btf_has_kind(const struct gpubpf_btf_check *c, uint32_t id, uint32_t kind);
int gpubpf_btf_ext_check(struct gpubpf_btf_check *c, const void *data, size_t size);
void gpubpf_btf_check_finish(struct gpubpf_btf_check *c);

/* section.c: where the programs of a section run */
enum gpubpf_section_of {
	GPUBPF_SECTION_GPU,   /* on a GPU, or at calls of its runtime */
	GPUBPF_SECTION_RUN,   /* on a GPU, in a kernel of gpubpf (core/wire/direct.h) */
	GPUBPF_SECTION_MAYBE, /* on a GPU or in the Linux kernel: gpubpf_kernel_has_function() decides */
	GPUBPF_SECTION_HOST,  /* in the Linux kernel */
};
struct gpubpf_section {
	enum gpubpf_section_of of;
	enum gpubpf_site site;
	enum gpubpf_host_event host; /* 0: the section is not host/EVENT */
	const char *pattern;         /* rest of the section's name after the prefix, or "" */
};
bool gpubpf_section_parse(const char *name, struct gpubpf_section *section);
/* Writes the names of the sections for GPU programs, for messages. The list is truncated to the buffer. */
void gpubpf_section_list(char *buf, size_t size);
/* Returns true if the running Linux kernel has a function of this name. */
bool gpubpf_kernel_has_function(struct gpubpf_kallsyms *syms, const char *function);
void gpubpf_kallsyms_finish(struct gpubpf_kallsyms *syms);

/* mapdef.c: checks a map as libbpf defined it against the rules for its type. */
int gpubpf_map_define(const struct gpubpf_sys_map *def, const char *name, bool global_data, struct gpubpf_map *map,
		      struct gpubpf_diag *diag);

/* Returns true if a map of maps may have elements of this type. */
bool gpubpf_map_may_be_inner(const struct gpubpf_map_type *type);
#define GPUBPF_NOT_INNER "elements may be maps with keys, queues, stacks and bloom filters, not maps of maps (as in the Linux kernel), and not " \
	"rings, whose readers find them by name: define rings outside of the map"

/* program.c: fills prog's insns, funcs and lines from the arguments of PROG_LOAD. */
int gpubpf_program_import(const struct gpubpf_loading *l, const struct gpubpf_sys_prog *from, struct gpubpf_prog *prog);
/* Finds the functions of a program by the targets of its calls. */
int gpubpf_program_funcs(struct gpubpf_prog *prog, struct gpubpf_diag *diag);
/* Adds the source line of the refused instruction to the diagnostic. */
void gpubpf_program_point_at(const struct gpubpf_prog *prog, struct gpubpf_diag *diag);
void gpubpf_program_finish(struct gpubpf_prog *prog);

/*
 * tail.c: handles the programs of the unit from index `first` on. If a program calls helper 12, adds to it the programs
 * that it may tail-call; they become functions of the program. The array numbers[] has each program's number in its
 * object.
 */
int gpubpf_tails_link(struct gpubpf_loading *l, uint32_t first, const uint32_t *numbers);

/*
 * additive.c: stores in *to a copy of the program in which additions to per-CPU values are atomic. The caller frees
 * to->insns, also after an error.
 */
int gpubpf_additive_rewrite(const struct gpubpf_map *maps, uint32_t nmaps, const struct gpubpf_sys_prog *from,
			    struct gpubpf_sys_prog *to, struct gpubpf_diag *diag);

/* load.c: gpubpf_libbpf_lock() gives this thread exclusive use of libbpf and records its messages. */
void gpubpf_libbpf_lock(void);
void gpubpf_libbpf_unlock(void);

/*
 * object.c: returns the prefix that libbpf gives to the names of global data. For example, "probe.bpf.o" gives "probe",
 * as in "probe.bss".
 */
void gpubpf_object_name(const char *path, char *name, size_t size);

/* map types from this number on exist only in gpubpf; the Linux kernel can share the values of a SHARED_ARRAY */
#define GPUBPF_FIRST_OWN_TYPE 1500
#define GPUBPF_SHARED_ARRAY 1504

/* log.c: records the messages that libbpf prints in this thread between begin and end. */
void gpubpf_log_begin(void);
/*
 * Reports libbpf's first warning as a diagnostic, or `what` if libbpf printed no warning. Returns -EINVAL, or err if it
 * says that file descriptors or the file size limit are exhausted.
 */
int gpubpf_log_refuse(struct gpubpf_diag *diag, const char *what, int err);
/* Reports a system call that failed with err (-errno), and returns err. */
int gpubpf_load_system(struct gpubpf_diag *diag, const char *what, int err);
void gpubpf_log_end(void);

#endif
