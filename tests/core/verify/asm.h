/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An assembler for test programs. Its syntax is that of the Linux kernel's verifier log, which gpubpf_insn_format()
 * writes too, with labels, and with names of helpers and maps.
 */
#ifndef GPUBPF_TESTS_VERIFY_ASM_H
#define GPUBPF_TESTS_VERIFY_ASM_H

#include "core/model/insn.h"
#include "core/model/prog.h"

#define ASM_MAX 4096

struct assembly {
	struct gpubpf_raw_insn insns[ASM_MAX];
	uint32_t n;
	const struct gpubpf_map *maps;
	uint32_t nmaps;
	struct {
		char name[32];
		uint32_t at;
	} labels[256], uses[512];
	uint32_t nlabels, nuses;
	char error[160];
};

/*
 * Assemble a line: an instruction, a label ("name:"), "hex" and raw bytes, or nothing. Returns false and sets error on
 * failure.
 */
bool asm_line(struct assembly *a, const char *line);
/* Resolves labels. */
bool asm_finish(struct assembly *a);

#endif
