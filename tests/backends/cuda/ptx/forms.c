/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx-forms: prints one line per row of isa.def. The line has the row's kind, the opcode with its modifiers, and the
 * reason. The kind "seen" means that the PTX reader reports the instruction's memory accesses. It refuses instructions
 * of the kind "refused". Instructions of the kind "none" access no memory.
 */
#include <stdio.h>

static const struct form {
	const char *what, *opcode, *modifiers, *why;
} forms[] = {
#define PTX_ACCESS(opcode, modifiers, ...) { "seen", opcode, modifiers, "" },
#define PTX_UNSEEN(opcode, modifiers, access, spaces, why) { "refused", opcode, modifiers, why },
#define PTX_NO_ACCESS(opcode, modifiers) { "none", opcode, modifiers, "" },
#include "backends/cuda/ptx/ir/isa.def"
};

int main(void)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		printf("%s %s", forms[i].what, forms[i].opcode);
		for (const char *at = forms[i].modifiers; *at; at++)
			if (*at != ' ')
				putchar(*at);
		printf(" %s\n", forms[i].why);
	}
	return 0;
}
