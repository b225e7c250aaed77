/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A diagnostic: a user's error that a function returns and never prints. It names the fault, the place of the fault,
 * the rule, and a remedy. Every function that can refuse user input fills in a diagnostic. (Bugs of gpubpf are asserts,
 * not diagnostics.)
 */
#ifndef GPUBPF_CORE_DIAG_H
#define GPUBPF_CORE_DIAG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPUBPF_NOPC UINT32_MAX

/* the rows of errors.def: for each code its name, its rule, and the usual remedy */
enum gpubpf_error {
	GPUBPF_OK,
#define GPUBPF_ERROR(name, rule, remedy) GPUBPF_E_##name,
#include "errors.def"
	GPUBPF_NERRORS,
};

struct gpubpf_diag {
	enum gpubpf_error code; /* GPUBPF_OK if nothing was refused */
	uint32_t pc;            /* index of the instruction, or GPUBPF_NOPC */
	uint32_t line;          /* source line from .BTF.ext, 0 if unknown */
	char file[128];         /* source file, "" if unknown */
	char source[160];       /* text of the source line, "" if unknown */
	char where[128];        /* the refused program, section, symbol, map or kernel */
	char what[512];         /* the fault with the values found, as one line */
	/* what to do, as one line; the remedy of errors.def unless the caller set a better one */
	char remedy[256];
	char state[1024]; /* register state at pc; "" if there is no register state */
};

void gpubpf_diag_init(struct gpubpf_diag *diag);

/*
 * Records a refusal: its code, the instruction (or GPUBPF_NOPC), and the fault `what` as printf() text. The first
 * refusal is kept: if diag already has one, a later call changes nothing. diag may be NULL. Returns -EINVAL.
 */
int gpubpf_diag_set(struct gpubpf_diag *diag, enum gpubpf_error code, uint32_t pc, const char *what, ...)
	__attribute__((format(printf, 4, 5)));
/* Records a refusal that belongs to no instruction: gpubpf_diag_refuse(diag, BAD_ELF, "what", ...) */
#define gpubpf_diag_refuse(diag, error, ...) gpubpf_diag_set(diag, GPUBPF_E_##error, GPUBPF_NOPC, __VA_ARGS__)
void gpubpf_diag_where(struct gpubpf_diag *diag, const char *where, ...) __attribute__((format(printf, 2, 3)));
void gpubpf_diag_remedy(struct gpubpf_diag *diag, const char *remedy, ...) __attribute__((format(printf, 2, 3)));

/*
 * Formats the complete diagnostic as lines separated by '\n'. The first line is understandable without the others.
 * Returns like snprintf().
 */
int gpubpf_diag_format(const struct gpubpf_diag *diag, char *buf, size_t size);
/* Formats one line with the fault, and with the instruction if there is one. Returns like snprintf(). */
int gpubpf_diag_brief(const struct gpubpf_diag *diag, char *buf, size_t size);
const char *gpubpf_error_name(enum gpubpf_error code); /* "UNINIT_REG" */
const char *gpubpf_error_rule(enum gpubpf_error code);
const char *gpubpf_error_remedy(enum gpubpf_error code);

/*
 * Stores a reason in the buffer if the buffer holds "", so that the first reason is kept. Returns true if this call
 * stored the reason.
 */
bool gpubpf_reason_set(char *reason, size_t size, const char *fmt, va_list ap) __attribute__((format(printf, 3, 0)));

#endif
