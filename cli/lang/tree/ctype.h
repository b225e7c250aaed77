/* SPDX-License-Identifier: Apache-2.0 */
/* Types of C, and numbers that are printed as texts. */
#ifndef GPUBPF_CLI_LANG_TREE_CTYPE_H
#define GPUBPF_CLI_LANG_TREE_CTYPE_H

#include <stdbool.h>
#include <stdint.h>

/* numbers that are printed as texts */
enum lang_label {
	LANG_LABEL_ERROR,
	LANG_LABEL_USER,
	LANG_LABEL_KERNEL_SYMBOL,
	LANG_LABEL_IP4,
	LANG_LABEL_IP6, /* of a buffer of 16 bytes */
	LANG_LABEL_MAC, /* six bytes, the first in the low bits */
	LANG_LABEL_SYSCALL,
	LANG_LABEL_CGROUP,
	LANG_LABEL_FUNCTION, /* of a list with one frame: the function of a program */
};

enum lang_ctype_kind { LANG_C_INT, LANG_C_POINTER, LANG_C_RECORD, LANG_C_ARRAY };

/* a type of C: what an address points to, or the type of a member */
struct lang_ctype {
	enum lang_ctype_kind kind;
	bool is_signed, is_bool, is_char, is_enum;
	uint32_t bytes;                   /* 0: void, or a struct that is only declared */
	const struct lang_ctype *of;      /* the target of a pointer, or the element of an array */
	uint32_t n;                       /* for an array: number of elements */
	const struct lang_record *record; /* for a struct or union */
	uint32_t btf;                     /* for a pointer of the Linux kernel: BTF id of its target, if `of` is NULL */
};

struct lang_member {
	struct lang_member *next;
	const char *name; /* "": an anonymous struct or union, whose members belong to the outer one */
	const struct lang_ctype *type;
	uint32_t at;        /* offset in bytes */
	uint32_t bit, bits; /* first bit and width of a bit-field in the number there, or 0 and 0 */
};

/* a struct or union of the text, or of the Linux kernel's BTF */
struct lang_record {
	struct lang_record *next;
	const char *name; /* "struct pair" */
	uint32_t align;
	bool is_known; /* the members are known */
	uint32_t btf;  /* BTF id; 0: a type of the text */
	struct lang_ctype type;
	struct lang_member *members;
};

#endif
