/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the eBPF instructions of a program with their source lines. */
#include "cli.h"

#include <string.h>

#include "core/model/prog.h"

void cli_print_insn(const struct gpubpf_prog *p, uint32_t pc, int width, const struct gpubpf_line **line)
{
	const struct gpubpf_line *at = gpubpf_prog_line(p, pc);
	char text[128];

	if (at && at != *line)
		printf("  ; %s:%u %s\n", at->file, at->line, at->text);
	*line = at;
	gpubpf_insn_format(&p->insns[pc], pc, text, sizeof(text));
	printf("  %5u: %-*s", pc, width, text);
}

void cli_dump_ebpf(const struct gpubpf_prog *p)
{
	const struct gpubpf_line *line = NULL;

	printf("%s (%s):\n", p->name, p->section);
	for (uint32_t pc = 0; pc < p->ninsns; pc++) {
		for (uint32_t f = 1; f < p->nfuncs; f++)
			if (p->funcs[f].first == pc)
				printf("%s:\n", p->funcs[f].name);
		if (p->insns[pc].kind == GPUBPF_INSN_HI)
			continue;
		cli_print_insn(p, pc, 0, &line);
		printf("\n");
	}
}
