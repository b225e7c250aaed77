/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads .bpf.o files into a unit. Every object is opened and loaded by libbpf, unmodified. For GPU programs,
 * core/load/linux/bpf_syscall.c executes libbpf's bpf(2) calls in this process, and records the relocated instructions,
 * maps and BTF. Input is not trusted: a malicious file is refused with a diagnostic.
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
	const void *data;  /* content of the object; NULL: read the file at the object's path */
	size_t size;
};

struct gpubpf_load_value {  /* Global data that replaces the initial content in the file. */
	char *object, *map; /* path of the object, and suffix of the map's name, such as ".rodata" */
	void *data;
	size_t size;
};

struct gpubpf_load_opts {
	/* [npaths]: paths of the objects; programs for the same GPU kernel run in the order of their objects */
	const char *const *paths;
	uint32_t npaths;
	/* [npaths]: contents of the objects, or NULL to read all objects from files */
	const struct gpubpf_load_image *images;
	const struct gpubpf_attach *attach;
	uint32_t nattach;
	const struct gpubpf_load_value *values;
	uint32_t nvalues;
	const char *clock; /* list of [PROG=]BASE with the clocks of helper 502, or NULL */
	bool all_gpu;      /* --gpu: programs in kprobe/ and kretprobe/ sections are for a GPU */
};

struct gpubpf_loaded {
	struct gpubpf_unit unit; /* maps and programs of all objects; member `facts` is NULL */
	struct gpubpf_loaded_object {
		char path[256];
		char sha256[65];
		struct btf *btf;  /* NULL if the object has no BTF */
		char (*host)[64]; /* [nhost]: names of programs for the Linux kernel */
		uint32_t nhost;
		void *image; /* the file's bytes */
		size_t size;
	} *objects;
	uint32_t nobjects;
	char (*notes)[400]; /* [nnotes]: decisions and warnings, such as programs left to the Linux kernel */
	uint32_t nnotes;
};

int gpubpf_load(const struct gpubpf_load_opts *opts, struct gpubpf_loaded **loaded, struct gpubpf_diag *diag);
void gpubpf_loaded_object_finish(struct gpubpf_loaded_object *object);
void gpubpf_loaded_destroy(struct gpubpf_loaded *loaded);
/* Returns true if each item of the list is monotonic, realtime, PROG=monotonic or PROG=realtime. */
bool gpubpf_clock_is_valid(const char *list);
/* Adds a line to the notes. */
void gpubpf_load_note(struct gpubpf_loaded *out, const char *text, ...) __attribute__((format(printf, 2, 3)));

/* A program as passed to bpf(2). Its instructions refer to maps by their index in struct gpubpf_load_passed. */
struct gpubpf_load_passed_prog {
	char name[64];                      /* name that is unique in the load */
	uint32_t number;                    /* number of the program, from 1; maps of programs refer to it */
	const struct gpubpf_sys_prog *prog; /* struct of core/load/linux/bpf_syscall.h */
};
struct gpubpf_load_passed {
	const char *from; /* name of the object in reports */
	const char *pattern;
	const char *clock; /* as in struct gpubpf_load_opts */
	enum gpubpf_site site;
	/* [nprogs]: the program, then the programs that it may tail-call */
	const struct gpubpf_load_passed_prog *progs;
	uint32_t nprogs;
	const void *btf; /* NULL: none */
	size_t btf_size;
	const struct gpubpf_map *maps;
	uint32_t nmaps;
};
/*
 * Loads one object with the program progs[0], or with only the maps if nprogs is 0. Takes ownership of the members
 * targets and init of the maps.
 */
int gpubpf_load_passed(const struct gpubpf_load_passed *passed, struct gpubpf_loaded **loaded, struct gpubpf_diag *diag);

/* Creates a unit of one program from raw instructions, for tests. Instructions refer to maps by index. */
int gpubpf_unit_raw(const struct gpubpf_raw_insn *insns, uint32_t n, const struct gpubpf_map *maps, uint32_t nmaps,
		    struct gpubpf_unit *unit, struct gpubpf_diag *diag);
/*
 * Creates a unit of several programs prog0, prog1, ... from raw instructions. Program i starts at begin[i] and ends
 * where the next program starts. A program may tail-call programs that are targets of a map.
 */
int gpubpf_unit_raws(const struct gpubpf_raw_insn *insns, uint32_t n, const uint32_t *begin, uint32_t nprogs,
		     const struct gpubpf_map *maps, uint32_t nmaps, struct gpubpf_unit *unit, struct gpubpf_diag *diag);
void gpubpf_unit_finish(struct gpubpf_unit *unit);

/*
 * Functions that return names which neither BTF nor values contain. The function kernel() returns the name of the GPU
 * kernel with an id of type gpubpf_kernel; NULL or "" if unknown.
 */
struct gpubpf_typed_names {
	const char *(*kernel)(void *ctx, uint64_t id);
	void *ctx;
	bool wide_as_text; /* JSON: write integers beyond 2^53 as strings */
	/* Returns the *n parameters of a GPU kernel, or NULL if unknown. */
	const struct gpubpf_typed_param *(*params)(void *ctx, uint64_t id, uint32_t *n);
	/* Returns the text of the stack with an id of type gpubpf_stack. The text is valid until the next call. */
	const char *(*stack)(void *ctx, uint64_t id);
	/*
	 * Returns the text of the stack with a number of type gpubpf_stack_number. The text is valid until the next
	 * call.
	 */
	const char *(*stack_numbered)(void *ctx, uint64_t number);
};

struct gpubpf_typed_param {
	const char *name, *type; /* "": unknown */
	uint32_t size;           /* size in bytes; 0: the parameter has no value to show */
	enum gpubpf_typed_how {
		GPUBPF_TYPED_SIGNED,
		GPUBPF_TYPED_UNSIGNED,
		GPUBPF_TYPED_REAL,
		GPUBPF_TYPED_ADDRESS,
		GPUBPF_TYPED_BYTES,
	} how;
};
/* Writes the known part of the declaration of parameter i, such as "float *a". */
void gpubpf_typed_declare(const struct gpubpf_typed_param *param, uint32_t i, char *buf, size_t size);

/*
 * core/load/typed/typed.c: formats a key or value by its BTF type, as text ("{ .x = 1 }", 42) or JSON. Type 0 means hex
 * bytes. The text abbreviates runs of zeros. It shows a struct gpubpf_name, and the id of a GPU kernel, as a name.
 * `names` may be NULL.
 */
int gpubpf_typed_text(const struct btf *btf, uint32_t type, const struct gpubpf_typed_names *names, const void *data,
		      size_t size, char *buf, size_t room);
struct json_object *gpubpf_typed_json(const struct btf *btf, uint32_t type, const struct gpubpf_typed_names *names,
				      const void *data, size_t size);
/*
 * Finds names that BTF does not contain. The function kernel() stores the id of the GPU kernel with that name and
 * returns 1. If the word is no name, it returns 0. If no kernel or several kernels have the name, it returns -EINVAL
 * with the reason in `why`.
 */
struct gpubpf_typed_lookup {
	void *ctx;
	int (*kernel)(void *ctx, const char *word, uint64_t *id, char *why, size_t why_size);
};

/* The type of a value that words describe. type 0: bytes. names may be NULL. */
struct gpubpf_typed_form {
	const struct btf *btf;
	uint32_t type;
	const struct gpubpf_typed_lookup *names;
};

/*
 * core/load/typed/read.c: parses words of a command line as a key or value of `size` bytes. Accepts the text and the
 * JSON of the functions above. Returns 0, or -EINVAL and a reason.
 */
int gpubpf_typed_read(const struct gpubpf_typed_form *form, const char *const *words, uint32_t n, void *data,
		      size_t size, char *why, size_t why_size);
/*
 * Parses assignments to members or variables (.name=VALUE ...) and applies them to an existing value. Other members
 * stay unchanged.
 */
int gpubpf_typed_change(const struct gpubpf_typed_form *form, const char *const *words, uint32_t n, void *data,
			size_t size, char *why, size_t why_size);
/*
 * Returns the size of the type's values in bytes, or -1 if it has no size. The size of a ring's records may differ from
 * the ring's value_size.
 */
int64_t gpubpf_typed_size(const struct btf *btf, uint32_t type);
/*
 * Returns true if the type, or a typedef in its chain of typedefs, is called `name`, for example gpubpf_kernel of
 * <gpubpf/probe.h>.
 */
bool gpubpf_typed_is(const struct btf *btf, uint32_t type, const char *name);

#endif
