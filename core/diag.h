/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's error, returned and never printed: what, where, why, what to do. Every function that can
 * refuse user input fills one. (Our own bugs are asserts, not diagnostics.)
 */
#ifndef GPUBPF_CORE_DIAG_H
#define GPUBPF_CORE_DIAG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPUBPF_NOPC UINT32_MAX

/* errors.def gives each code its identifier, its rule in words, and the usual remedy */
enum gpubpf_error {
	GPUBPF_OK,
#define GPUBPF_ERROR(name, rule, remedy) GPUBPF_E_##name,
#include "errors.def"
	GPUBPF_NERRORS,
};

struct gpubpf_diag {
	enum gpubpf_error code;  /* GPUBPF_OK: nothing was refused */
	uint32_t pc;             /* index of the instruction, or GPUBPF_NOPC */
	uint32_t line;           /* source line from .BTF.ext, 0 if unknown */
	char file[128];          /* source file, "" if unknown */
	char source[160];        /* text of the source line, "" if unknown */
	char where[128];         /* program, section, symbol, map, kernel: what was refused */
	char what[512];          /* one line: what is wrong, with the values seen */
	char remedy[256];        /* one line: what to do; errors.def's text unless the refuser knows better */
	char state[1024];        /* register state at pc, "" if it does not apply */
};

void gpubpf_diag_init(struct gpubpf_diag *diag);

/* Record a refusal: code, instruction (or GPUBPF_NOPC), and `what` as printf text. The first one
 * stays: a later call on a filled diag changes nothing. diag may be NULL. Returns -EINVAL. */
int gpubpf_diag_set(struct gpubpf_diag *diag, enum gpubpf_error code, uint32_t pc,
		    const char *what, ...) __attribute__((format(printf, 4, 5)));
/* Of what is refused as a whole, whichever its instruction: gpubpf_diag_refuse(diag, BAD_ELF, "what", ...) */
#define gpubpf_diag_refuse(diag, error, ...) gpubpf_diag_set(diag, GPUBPF_E_##error, GPUBPF_NOPC, __VA_ARGS__)
void gpubpf_diag_where(struct gpubpf_diag *diag, const char *where, ...)
	__attribute__((format(printf, 2, 3)));
void gpubpf_diag_remedy(struct gpubpf_diag *diag, const char *remedy, ...)
	__attribute__((format(printf, 2, 3)));

/* The whole diagnostic as text, lines separated by '\n', the first line sufficient by itself. */
int gpubpf_diag_format(const struct gpubpf_diag *diag, char *buf, size_t size);
/* Where, if that is an instruction, and what: one line. As snprintf(). */
int gpubpf_diag_brief(const struct gpubpf_diag *diag, char *buf, size_t size);
const char *gpubpf_error_name(enum gpubpf_error code);   /* "UNINIT_REG" */
const char *gpubpf_error_rule(enum gpubpf_error code);
const char *gpubpf_error_remedy(enum gpubpf_error code);

/* Keep the first reason: text in a buffer that is "" until then. Was it that? */
bool gpubpf_reason_set(char *reason, size_t size, const char *fmt, va_list ap) __attribute__((format(printf, 3, 0)));

#endif
