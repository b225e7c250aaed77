/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: adds the compiled probes to a twin's draft, and makes the probes read their operands from the twin's registers.
 * Before: the object that LLVM compiled, with a GPU kernel for each site, and the sites of the draft.
 * After: the draft has the descriptors, operands and registers of the probes. The twin's descriptor requests all
 * registers and fields that the probes need.
 * Requires: the kernel's descriptor and metadata (backends/hip/amdgpu/analysis/found_kernel.c).
 */
#include "inlined_probes.h"

#include <stdio.h>
#include <string.h>

#include "allocate_registers.h"
#include "core/model/diag.h"

static uint32_t max(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

int hip_probe_read(const struct hip_probes *probes, uint32_t site, struct hip_descriptor *d, uint64_t *off,
		   const uint8_t **code, size_t *size, struct gpubpf_diag *diag)
{
	struct hip_symbols symbols = hip_elf_symbols(&probes->elf, SHT_SYMTAB);
	const uint8_t *bytes;
	Elf64_Shdr head;
	Elf64_Sym kd, fn;
	char name[64];

	snprintf(name, sizeof(name), "gpubpf_inline_%u", site);
	if (!hip_elf_find(&symbols, name, &fn))
		return hip_refuse(diag, "LLVM generated no code for the probe");
	strcat(name, ".kd");
	if (!hip_elf_find(&symbols, name, &kd) || !hip_elf_section(&probes->elf, kd.st_shndx, &head, &bytes) ||
	    !bytes || kd.st_value > head.sh_size || head.sh_size - kd.st_value < sizeof(*d))
		return hip_refuse(diag, "LLVM generated no descriptor for the probe");
	memcpy(d, bytes + kd.st_value, sizeof(*d));
	if (!hip_elf_section(&probes->elf, fn.st_shndx, &head, &bytes) || !bytes || fn.st_value > head.sh_size)
		return hip_refuse(diag, "LLVM generated no code for the probe");
	*off = fn.st_value;
	*code = bytes + fn.st_value;
	*size = head.sh_size - fn.st_value < fn.st_size ? head.sh_size - fn.st_value : fn.st_size;
	return 0;
}

#define MAX_ARGUMENT_BYTES (1u << 20) /* limit for a kernel's arguments, larger than any that compilers generate */

uint32_t hip_arguments_end(const struct hip_app_kernel *app)
{
	return (max(app->descriptor.kernarg_size, app->meta.kernarg_size) + 7) & ~7u;
}

/* Adds a probe's register counts to *all, and the initial fields that its descriptor requests to the twin's
 * descriptor. */
static int add_probe_needs(struct hip_draft *draft, const struct hip_descriptor *probe, struct hip_registers *all,
			   struct gpubpf_diag *diag)
{
	struct hip_registers r = hip_registers_of(draft->isa, probe);

	if (probe->group_size)
		return hip_refuse(diag, "the probe needs group memory, which belongs to the kernel");
	if (probe->private_size && draft->isa->family == HIP_GFX90A)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "the probe needs %u bytes of private memory per thread, which probes on gfx90a cannot use",
				       probe->private_size);
	all->vector = max(all->vector, r.vector);
	all->accum = max(all->accum, r.accum);
	all->scalar = max(all->scalar, r.scalar);
	hip_descriptor_join(&draft->twin, probe);
	return 0;
}

static bool is_of_function(enum gpubpf_site kind)
{
	return gpubpf_place_kind(kind)->where == GPUBPF_WHERE_FUNCTION;
}

/* Reads the descriptor and the operands of a probe at single instructions, and adds its register counts to *all. */
static int read_body(struct hip_draft *draft, const struct hip_probes *probes, struct hip_body *body,
		     struct hip_registers *all, struct gpubpf_diag *diag)
{
	struct hip_code code;
	const uint8_t *bytes;
	uint32_t vectors = 0;
	uint64_t off;
	size_t size;
	int err = hip_probe_read(probes, body->site, &body->descriptor, &off, &bytes, &size, diag);

	if (!err)
		err = add_probe_needs(draft, &body->descriptor, all, diag);
	if (err < 0)
		return err;
	if (body->descriptor.private_size)
		return hip_refuse(diag, "the probe needs private memory, which belongs to the kernel while it runs");
	err = hip_code_read(draft->isa, draft->wave32, 0, &(struct hip_code_at){ .bytes = bytes, .size = size }, &code,
			    diag);
	if (err < 0)
		return err;
	if (code.special || code.accum)
		err = hip_refuse(diag, "the probe uses accumulation registers, flat_scratch or xnack_mask, "
				       "which the twin cannot save for the kernel");
	else if (hip_operands_read(draft->isa, draft->wave32, bytes, size, &body->lane_operands,
				   &body->uniform_operands, &vectors) < 0)
		err = hip_refuse(diag, "the probe uses too many vector registers to leave some for the place's operands");
	if (!err && is_of_function(body->kind) && body->lane_operands >> HIP_UNKNOWN_OPERAND & 1)
		err = hip_refuse(diag,
				 body->kind == GPUBPF_SITE_CALL_EXIT ?
					 "a program at a function's return reads an argument, which is not available there, or a result "
					 "that the debug information (-g) does not describe" :
					 "a program at a function's call reads an argument that the debug information (-g) does not "
					 "describe");
	draft->scalars = max(draft->scalars, max(code.scalar, hip_start_of(draft->isa, &body->descriptor).end));
	/* every probe overwrites v0, which receives the work-item ids */
	draft->vectors = max(draft->vectors, max(vectors, 1));
	hip_code_finish(&code);
	return err;
}

static int read_bodies(struct hip_draft *draft, const struct hip_probes *probes, struct hip_registers *all,
		       struct gpubpf_diag *diag)
{
	int err = 0;

	draft->scalars = HIP_STUB_SGPRS;
	for (uint32_t b = 0; !err && b < draft->nbodies; b++)
		err = read_body(draft, probes, &draft->bodies[b], all, diag);
	return err;
}

/* Requests what the stubs need to find a block's first lane and to count its waves: initial fields, and 8 bytes of
 * group memory. */
static int count_waves(const struct hip_app_kernel *app, struct hip_draft *draft, struct gpubpf_diag *diag)
{
	const struct hip_descriptor ids = { .rsrc2 = 2 << HIP_ITEM_IDS_SHIFT },
				    packet = { .properties = HIP_DISPATCH_POINTER };
	uint32_t size = (draft->twin.group_size + 3) & ~3u;

	if (hip_has(draft, HIP_AT_BEGIN) || hip_has(draft, HIP_AT_END))
		hip_descriptor_join(&draft->twin, &ids);
	if (!hip_has(draft, HIP_AT_END))
		return 0;
	if (app->isa->accum && draft->twin.rsrc3 & HIP_SPLIT_GROUPS)
		return hip_refuse(diag, "its work-groups are split over several multiprocessors, "
					"which have no common memory in which to count waves");
	if (draft->twin.group_size > HIP_MAX_GROUP - HIP_STUB_GROUP_BYTES)
		return hip_refuse(diag, "it uses all of a group's memory, and gpu/block_end/ needs 8 bytes to count waves");
	hip_descriptor_join(&draft->twin, &packet);
	draft->twin.group_size = size + HIP_STUB_GROUP_BYTES;
	return 0;
}

/* Reads the descriptors of the probes at the kernel's entry and ends, and adds their register counts to *all. */
static int read_kernel_probes(struct hip_draft *draft, const struct hip_probes *probes, struct hip_registers *all,
			      struct gpubpf_diag *diag)
{
	const uint8_t *code;
	uint64_t off;
	size_t size;
	int err = 0;

	for (uint32_t i = 0; !err && i < HIP_NKERNEL_PROBES; i++) {
		struct hip_kernel_probe *whole = &draft->kernel_probe[i];

		if (!hip_has(draft, i))
			continue;
		err = hip_probe_read(probes, whole->site, &whole->descriptor, &off, &code, &size, diag);
		if (!err)
			err = add_probe_needs(draft, &whole->descriptor, all, diag);
	}
	return err;
}

int hip_draft_add_probes(const struct hip_app_kernel *app, const struct hip_probes *probes, struct hip_draft *draft,
			 struct gpubpf_diag *diag)
{
	struct hip_registers need = { 0 };
	int err;

	if (max(app->descriptor.kernarg_size, app->meta.kernarg_size) > MAX_ARGUMENT_BYTES)
		return hip_refuse(diag, "its descriptor states more than a megabyte of arguments");
	draft->arguments = hip_arguments_end(app) + 8 * __builtin_popcount(app->words);
	draft->twin.preload = 0;
	if (app->words)
		draft->twin.kernarg_size = draft->arguments;
	err = count_waves(app, draft, diag);
	if (!err)
		err = read_kernel_probes(draft, probes, &need, diag);
	if (!err)
		err = read_bodies(draft, probes, &need, diag);
	return err ? err : hip_allocate_registers(app, draft, &need, diag);
}

int hip_probes_place_operands(const struct hip_draft *draft, const struct hip_probes *probes, struct gpubpf_diag *diag)
{
	struct hip_descriptor d;
	const uint8_t *code = NULL;
	uint64_t off;
	size_t size = 0;
	int err = 0;

	for (uint32_t b = 0; !err && b < draft->nbodies; b++) {
		err = hip_probe_read(probes, draft->bodies[b].site, &d, &off, &code, &size, diag);
		if (!err)
			hip_operands_place(draft->isa, draft->wave32, (uint8_t *)code, size, draft->lane_reg,
					   draft->uniform_reg);
	}
	return err;
}
