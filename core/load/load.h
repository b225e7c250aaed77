/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading: .bpf.o files to a unit. libbpf opens and loads each object unmodified; its bpf(2) calls for
 * GPU programs are answered by core/load/bpf_syscall.c in this process, which hands over the
 * relocated instructions, maps and BTF. Nothing is trusted: a hostile file gets a diagnostic.
 */
#ifndef GPUBPF_LOAD_LOAD_H
#define GPUBPF_LOAD_LOAD_H

#include "core/prog.h"

struct btf;
struct gpubpf_diag;
struct gpubpf_sys_prog;
struct json_object;

struct gpubpf_attach {         /* --attach PROG=PATTERN */
	const char *prog;
	const char *pattern;
};

struct gpubpf_load_image {     /* an object that is in memory */
	const void *data;              /* NULL: it is read from its path */
	size_t size;
};

struct gpubpf_load_value {     /* what global data holds in place of what the file says */
	char *object, *map;            /* the object as it is called, and the end of the map's name, ".rodata" */
	void *data;
	size_t size;
};

struct gpubpf_load_opts {
	const char *const *paths;      /* objects, in order; programs of one kernel run in this order */
	uint32_t npaths;
	const struct gpubpf_load_image *images; /* [npaths]; NULL: all are read */
	const struct gpubpf_attach *attach;
	uint32_t nattach;
	const struct gpubpf_load_value *values;
	uint32_t nvalues;
	bool all_gpu;                  /* --gpu: kprobe/ and kretprobe/ programs are ours */
};

struct gpubpf_loaded {
	struct gpubpf_unit unit;       /* maps and programs of all objects; facts NULL */
	struct gpubpf_loaded_object {
		char path[256];
		char sha256[65];
		struct btf *btf;       /* NULL if none */
		char (*host)[64];      /* programs for the Linux kernel, by name */
		uint32_t nhost;
		void *image;           /* the file's bytes */
		size_t size;
	} *objects;
	uint32_t nobjects;
	char (*notes)[400];            /* what was decided: programs left to the Linux kernel, ...; warnings */
	uint32_t nnotes;
};

int gpubpf_load(const struct gpubpf_load_opts *opts, struct gpubpf_loaded **loaded, struct gpubpf_diag *diag);
void gpubpf_loaded_object_finish(struct gpubpf_loaded_object *object);
void gpubpf_loaded_destroy(struct gpubpf_loaded *loaded);
/* Add a line to the notes. */
void gpubpf_load_note(struct gpubpf_loaded *out, const char *text, ...) __attribute__((format(printf, 2, 3)));

/* A program as bpf(2) is given it, what it may go on in, and the maps that they name by their numbers here. */
struct gpubpf_load_given_prog {
	char name[64];                 /* no other has it */
	uint32_t number;               /* from 1, by which maps of programs have it */
	const struct gpubpf_sys_prog *prog; /* core/load/bpf_syscall.h */
};
struct gpubpf_load_given {
	const char *from;              /* who gave it, for reports */
	const char *pattern;
	enum gpubpf_site site;
	const struct gpubpf_load_given_prog *progs; /* [nprogs]: itself, and the others */
	uint32_t nprogs;
	const void *btf;               /* NULL: none */
	size_t btf_size;
	const struct gpubpf_map *maps;
	uint32_t nmaps;
};
/* One object of it, with the first program, or with the maps alone where there is none. Maps that have targets bring them for
 * good, as init. */
int gpubpf_load_given(const struct gpubpf_load_given *given, struct gpubpf_loaded **loaded, struct gpubpf_diag *diag);

/* A unit of one program from raw instructions, for tests: maps are given, insns refer to them by index. */
int gpubpf_unit_raw(const struct gpubpf_raw_insn *insns, uint32_t n, const struct gpubpf_map *maps, uint32_t nmaps,
		    struct gpubpf_unit *unit, struct gpubpf_diag *diag);
/* Of several, prog0, prog1, ..., each of which begins behind the one before; in one that a map has for a target others go on. */
int gpubpf_unit_raws(const struct gpubpf_raw_insn *insns, uint32_t n, const uint32_t *begin, uint32_t nprogs,
		     const struct gpubpf_map *maps, uint32_t nmaps, struct gpubpf_unit *unit, struct gpubpf_diag *diag);
void gpubpf_unit_finish(struct gpubpf_unit *unit);

/* What types and bytes do not tell: the names of kernels, by the ids of type gpubpf_kernel; NULL or "": nobody's. */
struct gpubpf_typed_names {
	const char *(*kernel)(void *ctx, uint64_t id);
	void *ctx;
	bool wide_as_text;             /* JSON: integers beyond 2^53 as strings */
	/* The parameters of a kernel, *n of them; NULL: not known. */
	const struct gpubpf_typed_param *(*params)(void *ctx, uint64_t id, uint32_t *n);
	const char *(*stack)(void *ctx, uint64_t id); /* of type gpubpf_stack; until it is asked again */
	const char *(*stack_numbered)(void *ctx, uint64_t number); /* of type gpubpf_stack_number, the same way */
};

struct gpubpf_typed_param {
	const char *name, *type;       /* "" unknown */
	uint32_t size;                 /* bytes; 0: it has no value */
	enum gpubpf_typed_how {
		GPUBPF_TYPED_SIGNED, GPUBPF_TYPED_UNSIGNED, GPUBPF_TYPED_REAL, GPUBPF_TYPED_ADDRESS, GPUBPF_TYPED_BYTES,
	} how;
};
/* "float *a": a parameter as it is declared, as far as that is known; i is its number. */
void gpubpf_typed_declare(const struct gpubpf_typed_param *param, uint32_t i, char *buf, size_t size);

/* core/load/typed.c: a key or value as text ("{ .x = 1 }", 42) or JSON through BTF; type 0: hex bytes. Text has runs
 * of zeros in one, and the names of struct gpubpf_name and of kernels as names. names may be NULL. */
int gpubpf_typed_text(const struct btf *btf, uint32_t type, const struct gpubpf_typed_names *names, const void *data,
		      size_t size, char *buf, size_t room);
struct json_object *gpubpf_typed_json(const struct btf *btf, uint32_t type, const struct gpubpf_typed_names *names,
				      const void *data, size_t size);
/* core/load/typed_read.c: words of a command line as a key or value of `size` bytes, by their type (0: as bytes). -EINVAL and
 * why, in words. */
int gpubpf_typed_read(const struct btf *btf, uint32_t type, const char *const *words, uint32_t n, void *data, size_t size,
		      char *why, size_t why_size);
/* The same of members or variables (.name=VALUE ...) of a value that is there: the others stay what they are. */
int gpubpf_typed_change(const struct btf *btf, uint32_t type, const char *const *words, uint32_t n, void *data, size_t size,
			char *why, size_t why_size);
/* Bytes of a value of the type, -1 if it has none: records of a ring need not be of its value's size. */
int64_t gpubpf_typed_size(const struct btf *btf, uint32_t type);
/* True if the type is, or is a typedef of, `name`: gpubpf_kernel of <gpubpf/probe.h>, say. */
bool gpubpf_typed_is(const struct btf *btf, uint32_t type, const char *name);

#endif
