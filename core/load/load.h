/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading: .bpf.o files to a unit. libbpf opens and loads each object unmodified. core/load/linux/bpf_syscall.c answers its
 * bpf(2) calls for GPU programs in this process, and returns the relocated instructions, maps and BTF. Nothing is
 * trusted: a hostile file gets a diagnostic.
 */
#ifndef GPUBPF_LOAD_LOAD_H
#define GPUBPF_LOAD_LOAD_H

#include "core/model/prog.h"

struct btf;
struct gpubpf_diag;
struct gpubpf_sys_prog;
struct json_object;

struct gpubpf_attach { /* --attach PROG=PATTERN */
	const char *prog;
	const char *pattern;
};

struct gpubpf_load_image { /* An object in memory. */
	const void *data;  /* NULL: read the file at the object's path */
	size_t size;
};

struct gpubpf_load_value {  /* Global data that replaces the file's content. */
	char *object, *map; /* path of the object, and suffix of the map's name, such as ".rodata" */
	void *data;
	size_t size;
};

struct gpubpf_load_opts {
	const char *const *paths; /* paths of the objects; programs for one kernel run in the order of their
				        * objects */
	uint32_t npaths;
	const struct gpubpf_load_image *images; /* [npaths] contents of the objects; NULL: all are read from files */
	const struct gpubpf_attach *attach;
	uint32_t nattach;
	const struct gpubpf_load_value *values;
	uint32_t nvalues;
	bool all_gpu; /* --gpu: kprobe/ and kretprobe/ programs are for a GPU */
};

struct gpubpf_loaded {
	struct gpubpf_unit unit; /* maps and programs of all objects; facts NULL */
	struct gpubpf_loaded_object {
		char path[256];
		char sha256[65];
		struct btf *btf;  /* NULL if the object has no BTF */
		char (*host)[64]; /* names of programs for the Linux kernel */
		uint32_t nhost;
		void *image; /* the file's bytes */
		size_t size;
	} *objects;
	uint32_t nobjects;
	char (*notes)[400]; /* decisions and warnings: programs left to the Linux kernel, ... */
	uint32_t nnotes;
};

int gpubpf_load(const struct gpubpf_load_opts *opts, struct gpubpf_loaded **loaded, struct gpubpf_diag *diag);
void gpubpf_loaded_object_finish(struct gpubpf_loaded_object *object);
void gpubpf_loaded_destroy(struct gpubpf_loaded *loaded);
/* Adds a line to the notes. */
void gpubpf_load_note(struct gpubpf_loaded *out, const char *text, ...) __attribute__((format(printf, 2, 3)));

/* A program as passed to bpf(2). Its instructions refer to maps by index in struct gpubpf_load_passed. */
struct gpubpf_load_passed_prog {
	char name[64];                      /* name that no other program of the load has */
	uint32_t number;                    /* number of the program, from 1, by which maps of programs refer to it */
	const struct gpubpf_sys_prog *prog; /* core/load/linux/bpf_syscall.h */
};
struct gpubpf_load_passed {
	const char *from; /* the name under which reports list the object */
	const char *pattern;
	enum gpubpf_site site;
	const struct gpubpf_load_passed_prog *progs; /* [nprogs]: the program, then the programs that it may
						      * tail-call */
	uint32_t nprogs;
	const void *btf; /* NULL: none */
	size_t btf_size;
	const struct gpubpf_map *maps;
	uint32_t nmaps;
};
/*
 * Loads one object with the first program of progs, or with only the maps if nprogs is 0. Takes ownership of the maps'
 * targets and init.
 */
int gpubpf_load_passed(const struct gpubpf_load_passed *passed, struct gpubpf_loaded **loaded, struct gpubpf_diag *diag);

/* Creates a unit of one program from raw instructions, for tests. Instructions refer to maps by index. */
int gpubpf_unit_raw(const struct gpubpf_raw_insn *insns, uint32_t n, const struct gpubpf_map *maps, uint32_t nmaps,
		    struct gpubpf_unit *unit, struct gpubpf_diag *diag);
/*
 * Creates a unit of several programs prog0, prog1, ... from raw instructions; each starts where the previous one ends.
 * Programs may tail-call a program that is a map's target.
 */
int gpubpf_unit_raws(const struct gpubpf_raw_insn *insns, uint32_t n, const uint32_t *begin, uint32_t nprogs,
		     const struct gpubpf_map *maps, uint32_t nmaps, struct gpubpf_unit *unit, struct gpubpf_diag *diag);
void gpubpf_unit_finish(struct gpubpf_unit *unit);

/*
 * Names that neither types nor bytes contain. kernel() returns a kernel's name by an id of type gpubpf_kernel; NULL or
 * "": unknown.
 */
struct gpubpf_typed_names {
	const char *(*kernel)(void *ctx, uint64_t id);
	void *ctx;
	bool wide_as_text; /* JSON: integers beyond 2^53 as strings */
	/* Returns the parameters of a kernel, *n of them; NULL: unknown. */
	const struct gpubpf_typed_param *(*params)(void *ctx, uint64_t id, uint32_t *n);
	const char *(*stack)(void *ctx, uint64_t id); /* describes the stack with an id of type gpubpf_stack; the
						       * text is valid until the next call */
	const char *(*stack_numbered)(void *ctx, uint64_t number); /* describes the stack with a number of type
								    * gpubpf_stack_number; the text is valid until
								    * the next call */
};

struct gpubpf_typed_param {
	const char *name, *type; /* "": unknown */
	uint32_t size;           /* bytes; 0: the parameter has no value to show */
	enum gpubpf_typed_how {
		GPUBPF_TYPED_SIGNED,
		GPUBPF_TYPED_UNSIGNED,
		GPUBPF_TYPED_REAL,
		GPUBPF_TYPED_ADDRESS,
		GPUBPF_TYPED_BYTES,
	} how;
};
/* Writes the known part of parameter i's declaration, such as "float *a". */
void gpubpf_typed_declare(const struct gpubpf_typed_param *param, uint32_t i, char *buf, size_t size);

/*
 * core/load/typed/typed.c: writes a key or value through BTF as text ("{ .x = 1 }", 42) or JSON. Type 0 means hex bytes. Text
 * abbreviates runs of zeros, and shows struct gpubpf_name and kernels by name. names may be NULL.
 */
int gpubpf_typed_text(const struct btf *btf, uint32_t type, const struct gpubpf_typed_names *names, const void *data,
		      size_t size, char *buf, size_t room);
struct json_object *gpubpf_typed_json(const struct btf *btf, uint32_t type, const struct gpubpf_typed_names *names,
				      const void *data, size_t size);
/*
 * core/load/typed/read.c: parses words of a command line as a key or value of `size` bytes, by their type (0: bytes).
 * -EINVAL and a reason.
 */
int gpubpf_typed_read(const struct btf *btf, uint32_t type, const char *const *words, uint32_t n, void *data,
		      size_t size, char *why, size_t why_size);
/* Parses members or variables (.name=VALUE ...) of an existing value. The others stay unchanged. */
int gpubpf_typed_change(const struct btf *btf, uint32_t type, const char *const *words, uint32_t n, void *data,
			size_t size, char *why, size_t why_size);
/* Returns the bytes of a value of the type, -1 if it has no size. A ring's records may differ from its value's size. */
int64_t gpubpf_typed_size(const struct btf *btf, uint32_t type);
/* Is the type called `name`, or a typedef of a type called so? For example gpubpf_kernel of <gpubpf/probe.h>. */
bool gpubpf_typed_is(const struct btf *btf, uint32_t type, const char *name);

#endif
