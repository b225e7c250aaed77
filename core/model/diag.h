/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's error, which functions return and never print. It names the fault, its place, the rule, and a remedy.
 * Every function that can refuse user input fills one. (Our own bugs are asserts, not diagnostics.)
 */
#ifndef GPUBPF_CORE_DIAG_H
#define GPUBPF_CORE_DIAG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPUBPF_NOPC UINT32_MAX

/* errors.def defines the identifier of each code, its rule in words, and the usual remedy */
enum gpubpf_error {
	GPUBPF_OK,
#define GPUBPF_ERROR(name, rule, remedy) GPUBPF_E_##name,
#include "errors.def"
	GPUBPF_NERRORS,
};

struct gpubpf_diag {
	enum gpubpf_error code; /* GPUBPF_OK: nothing was refused */
	uint32_t pc;            /* index of the instruction, or GPUBPF_NOPC */
	uint32_t line;          /* source line from .BTF.ext, 0 if unknown */
	char file[128];         /* source file, "" if unknown */
	char source[160];       /* text of the source line, "" if unknown */
	char where[128];        /* the refused program, section, symbol, map or kernel */
	char what[512];         /* one line: the fault, with the values found */
	char remedy[256];       /* one line: what to do; errors.def's text unless the caller has a better one */
	char state[1024];       /* register state at pc, "" if it does not apply */
};

void gpubpf_diag_init(struct gpubpf_diag *diag);

/*
 * Records a refusal: code, instruction (or GPUBPF_NOPC), and `what` as printf text. The first refusal stays: a later
 * call on a filled diag changes nothing. diag may be NULL. Returns -EINVAL.
 */
int gpubpf_diag_set(struct gpubpf_diag *diag, enum gpubpf_error code, uint32_t pc, const char *what, ...)
	__attribute__((format(printf, 4, 5)));
/* Refuses a thing as a whole, with no instruction: gpubpf_diag_refuse(diag, BAD_ELF, "what", ...) */
#define gpubpf_diag_refuse(diag, error, ...) gpubpf_diag_set(diag, GPUBPF_E_##error, GPUBPF_NOPC, __VA_ARGS__)
void gpubpf_diag_where(struct gpubpf_diag *diag, const char *where, ...) __attribute__((format(printf, 2, 3)));
void gpubpf_diag_remedy(struct gpubpf_diag *diag, const char *remedy, ...) __attribute__((format(printf, 2, 3)));

/* Formats the whole diagnostic as lines separated by '\n'. The first line suffices alone. Returns as snprintf(). */
int gpubpf_diag_format(const struct gpubpf_diag *diag, char *buf, size_t size);
/* Formats one line: the instruction, if any, and the fault. Returns as snprintf(). */
int gpubpf_diag_brief(const struct gpubpf_diag *diag, char *buf, size_t size);
const char *gpubpf_error_name(enum gpubpf_error code); /* "UNINIT_REG" */
const char *gpubpf_error_rule(enum gpubpf_error code);
const char *gpubpf_error_remedy(enum gpubpf_error code);

/*
 * Stores a reason in the buffer if it still holds "", so the first reason stays. Returns true if this call stored it.
 */
bool gpubpf_reason_set(char *reason, size_t size, const char *fmt, va_list ap) __attribute__((format(printf, 3, 0)));

#endif
