/* SPDX-License-Identifier: Apache-2.0 */
#include "patch.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static uint32_t max(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

bool hip_patch_read_pair(struct hip_patch *patch, const char *text)
{
	unsigned first, last;
	char end;

	if (sscanf(text, " s[%u:%u%c", &first, &last, &end) == 3 && last == first + 1 && end == ']' && last < 110) {
		snprintf(patch->reg[0], sizeof(patch->reg[0]), "s%u", first);
		snprintf(patch->reg[1], sizeof(patch->reg[1]), "s%u", last);
		return true;
	}
	if (strncmp(text, " vcc", 4))
		return false;
	strcpy(patch->reg[0], "vcc_lo");
	strcpy(patch->reg[1], "vcc_hi");
	return true;
}

static void record_register(struct hip_code *code, struct hip_reg reg)
{
	uint32_t *end = reg.file == 'a' ? &code->accum : reg.file == 'v' ? &code->vector : &code->scalar;

	if (reg.file != 's' || reg.first < HIP_VCC)
		*end = max(*end, reg.first + reg.n);
}

void hip_code_record_registers(struct hip_code *code, const char *name, const char *operands)
{
	struct hip_reg reg;

	for (const char *at = operands; *at; at++)
		if (!isalnum(at[-1]) && at[-1] != '_' && hip_reg_read(at, &reg))
			record_register(code, reg);
	code->special |= strstr(operands, "flat_scratch") || strstr(operands, "xnack_mask");
	code->matrix |= !strncmp(name, "v_mfma_", 7) || !strncmp(name, "v_smfma", 7) || !strncmp(name, "v_wmma_", 7) ||
			!strncmp(name, "v_swmma", 7);
}

/* Parses the register, EXEC or M0 at the start of the text. Returns false if there is none. */
static bool read_register(const char *text, struct hip_reg *reg)
{
	if (!strncmp(text, "exec", 4)) {
		*reg = (struct hip_reg){ 'e', text[4] == '_' && text[5] == 'h', text[4] == '_' ? 1 : 2 };
		return true;
	}
	*reg = (struct hip_reg){ 'm', 0, 1 };
	return (!strncmp(text, "m0", 2) && !isalnum(text[2])) || hip_reg_read(text, reg);
}

void hip_patch_describe(struct hip_patch *patch, const char *name, const char *operands)
{
	uint32_t n = 0;

	snprintf(patch->name, sizeof(patch->name), "%.31s", name);
	for (const char *at = operands; *at && n < HIP_MAX_REGISTERS; at++)
		if (!isalnum(at[-1]) && at[-1] != '_' && read_register(at, &patch->registers[n]))
			n++;
	if (n < HIP_MAX_REGISTERS)
		patch->registers[n] = (struct hip_reg){ 0 };
}

struct hip_patch *hip_patch_at(const struct hip_code *code, uint32_t off)
{
	uint32_t from = 0, to = code->npatches;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (code->patches[middle].off < off)
			from = middle + 1;
		else
			to = middle;
	}
	return from < code->npatches && code->patches[from].off == off ? &code->patches[from] : NULL;
}

bool hip_patch_is_site(const struct hip_patch *patch, uint32_t i, enum gpubpf_site kind)
{
	const struct gpubpf_place_kind *k = gpubpf_place_kind(kind);

	if (kind == GPUBPF_SITE_CALL)
		return !i && patch->begins_function;
	if (kind == GPUBPF_SITE_CALL_EXIT)
		return !i && (patch->kind == HIP_PATCH_RETURN || patch->kind == HIP_PATCH_TAIL);
	if (gpubpf_place_has_name(kind))
		return !i && (kind == GPUBPF_SITE_INSN ? patch->is_insn_place :
			      kind == GPUBPF_SITE_LINE ? patch->file != NULL :
							 patch->mark != NULL);
	if (patch->kind == HIP_PATCH_BARRIER)
		return !i && (kind == GPUBPF_SITE_BARRIER || kind == GPUBPF_SITE_BARRIER_EXIT);
	if (patch->kind == HIP_PATCH_BRANCH || patch->kind == HIP_PATCH_NARROW_EXEC)
		return !i && kind == GPUBPF_SITE_BRANCH;
	return patch->kind == HIP_PATCH_ACCESS && i < patch->naccesses && k->spaces & patch->access[i].spaces &&
	       k->accesses >> patch->access[i].access & 1;
}
