/* SPDX-License-Identifier: Apache-2.0 */
/* ptx-forms: prints each row of isa.def: "seen", "refused" or "none", the opcode with its modifiers, the reason. */
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
