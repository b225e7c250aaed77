/* SPDX-License-Identifier: Apache-2.0 */
#include "diag.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *rule, *remedy;
} errors[] = {
	[GPUBPF_OK] = { "OK", "", "" },
#define GPUBPF_ERROR(name, rule, remedy) [GPUBPF_E_##name] = { #name, rule, remedy },
#include "errors.def"
};

void gpubpf_diag_init(struct gpubpf_diag *diag)
{
	memset(diag, 0, sizeof(*diag));
	diag->pc = GPUBPF_NOPC;
}

int gpubpf_diag_set(struct gpubpf_diag *diag, enum gpubpf_error code, uint32_t pc, const char *what, ...)
{
	va_list ap;

	if (!diag || diag->code != GPUBPF_OK)
		return -EINVAL;
	diag->code = code;
	diag->pc = pc;
	va_start(ap, what);
	vsnprintf(diag->what, sizeof(diag->what), what, ap);
	va_end(ap);
	if (!diag->remedy[0])
		snprintf(diag->remedy, sizeof(diag->remedy), "%s", errors[code].remedy);
	return -EINVAL;
}

bool gpubpf_reason_set(char *reason, size_t size, const char *fmt, va_list ap)
{
	if (reason[0])
		return false;
	vsnprintf(reason, size, fmt, ap);
	return true;
}

void gpubpf_diag_where(struct gpubpf_diag *diag, const char *where, ...)
{
	va_list ap;

	va_start(ap, where);
	if (diag)
		gpubpf_reason_set(diag->where, sizeof(diag->where), where, ap);
	va_end(ap);
}

void gpubpf_diag_remedy(struct gpubpf_diag *diag, const char *remedy, ...)
{
	va_list ap;

	if (!diag)
		return;
	va_start(ap, remedy);
	vsnprintf(diag->remedy, sizeof(diag->remedy), remedy, ap);
	va_end(ap);
}

int gpubpf_diag_format(const struct gpubpf_diag *diag, char *buf, size_t size)
{
	char at[64] = "", line[512] = "", rule[256] = "";

	if (diag->pc != GPUBPF_NOPC)
		snprintf(at, sizeof(at), "instruction %u: ", diag->pc);
	if (diag->line)
		snprintf(line, sizeof(line), "\n  at %s:%u: %s", diag->file, diag->line, diag->source);
	if (diag->code != GPUBPF_E_SYSTEM) /* no rule for system calls: the text of the system's error explains more */
		snprintf(rule, sizeof(rule), "\n  rule: %s", errors[diag->code].rule);
	return snprintf(buf, size, "%s%s%s%s%s%s%s%s%s%s", diag->where, diag->where[0] ? ": " : "", at, diag->what,
			line, diag->state[0] ? "\n  state: " : "", diag->state, rule,
			diag->remedy[0] ? "\n  try: " : "", diag->remedy);
}

int gpubpf_diag_brief(const struct gpubpf_diag *diag, char *buf, size_t size)
{
	int n = diag->pc == GPUBPF_NOPC ? snprintf(buf, size, "%s", diag->what) :
					  snprintf(buf, size, "instruction %u: %s", diag->pc, diag->what);

	for (size_t i = 0; i < size && buf[i]; i++)
		if (buf[i] == '\n')
			buf[i] = ' ';
	return n;
}

const char *gpubpf_error_name(enum gpubpf_error code)
{
	return code < GPUBPF_NERRORS ? errors[code].name : "?";
}

const char *gpubpf_error_rule(enum gpubpf_error code)
{
	return code < GPUBPF_NERRORS ? errors[code].rule : "";
}

const char *gpubpf_error_remedy(enum gpubpf_error code)
{
	return code < GPUBPF_NERRORS ? errors[code].remedy : "";
}
