/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the table of the Linux kernel's helpers and kernel functions, for messages. */
#include <stdio.h>
#include <string.h>

#include "prog.h"

enum verdict { WORKS, USE, NOT };

struct linux_row {
	uint32_t number; /* 0: a kernel function */
	const char *name;
	enum verdict verdict;
	const char *text;
};

static const struct linux_row rows[] = {
#define GPUBPF_LINUX_HELPER(number, name, verdict, text) { number, name, verdict, text },
#define GPUBPF_LINUX_KFUNC(name, verdict, text) { 0, name, verdict, text },
#include "linux_helpers.def"
};

static const struct linux_row *find_row(uint32_t number, const char *kfunc)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (kfunc ? !rows[i].number && !strcmp(rows[i].name, kfunc) : number && rows[i].number == number)
			return &rows[i];
	return NULL;
}

const char *gpubpf_linux_name(uint32_t number)
{
	const struct linux_row *row = find_row(number, NULL);

	return row ? row->name : NULL;
}

bool gpubpf_linux_advice(uint32_t number, const char *kfunc, char *buf, size_t size)
{
	const struct linux_row *row = find_row(number, kfunc);

	if (!row || row->verdict == WORKS)
		return false;
	snprintf(buf, size, row->verdict == USE ? "use %s" : "leave it out: %s", row->text);
	return true;
}
