/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: links a twin's code and its probes into one code object, and appends the table of words that the agent fills
 * in.
 * Before: the assembled code of the twin, and the object with the probes.
 * After: the bytes of the twin's image.
 * Requires: the twin's code has the labels of stub.h at its branches to probes.
 */
#include "link_twin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/hip/amdgpu/object/linker.h"
#include "backends/hip/wire/bind.h"

static uint32_t max(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* The branches between the object with the stubs and the object with the probes. */
struct branches {
	struct hip_branch *list;
	uint32_t n;
	/* two names per probe: the probe's symbol, and the label in the stubs that the probe returns to */
	char (*names)[32];
	uint32_t nnames;
};

static int add_branch(struct branches *b, uint32_t object, uint64_t off, const char *symbol)
{
	struct hip_branch *grown = realloc(b->list, (b->n + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	b->list = grown;
	b->list[b->n++] = (struct hip_branch){ object, off, symbol };
	return 0;
}

/* Replaces each s_endpgm of a probe by a branch to the label `back`, so that the probe returns to the twin. Replaces
 * releases of registers by s_nop. */
static int find_ends(struct branches *b, const struct hip_draft *draft, const struct hip_probes *probes, uint32_t site,
		     const char *back, struct gpubpf_diag *diag)
{
	struct hip_descriptor d;
	struct hip_code code;
	const uint8_t *bytes;
	uint64_t off = 0;
	size_t size;
	int err = hip_probe_read(probes, site, &d, &off, &bytes, &size, diag);

	if (!err)
		err = hip_code_read(draft->isa, draft->wave32, 0, &(struct hip_code_at){ .bytes = bytes, .size = size },
				    &code, diag);
	if (err < 0)
		return err;
	for (uint32_t i = 0; !err && i < code.npatches; i++)
		if (code.patches[i].kind != HIP_PATCH_PC && code.patches[i].kind != HIP_PATCH_FAR_JUMP)
			err = add_branch(b, 0, off + code.patches[i].off,
					 code.patches[i].kind == HIP_PATCH_END ? back : NULL);
	hip_code_finish(&code);
	return err;
}

/* Adds the branch from the label `to` of a stub to a site's probe. If `back` is set, adds the branches from the probe's
 * ends to the label `back`. */
static int add_probe_branches(struct branches *b, const struct hip_draft *draft, const struct hip_probes *probes,
			      const struct hip_elf *stubs, uint32_t site, const char *to, const char *back,
			      struct gpubpf_diag *diag)
{
	struct hip_symbols symbols = hip_elf_symbols(stubs, SHT_SYMTAB);
	char *name = b->names[b->nnames++], *return_label = b->names[b->nnames++];
	Elf64_Sym at;
	int err;

	if (!hip_elf_find(&symbols, to, &at))
		return hip_refuse(diag, "the assembled twin lacks a label of a probe's branch");
	snprintf(name, sizeof(*b->names), "gpubpf_inline_%u", site);
	snprintf(return_label, sizeof(*b->names), "%s", back ? back : "");
	err = add_branch(b, 1, at.st_value, name);
	return err || !back ? err : find_ends(b, draft, probes, site, return_label, diag);
}

static int find_branches(const struct hip_draft *draft, const struct hip_probes *probes, const struct hip_elf *stubs,
			 struct branches *b, struct gpubpf_diag *diag)
{
	static const char *const ways[HIP_NKERNEL_PROBES][2] = {
		/* { label of the branch to the probe, label after the probe }; NULL: the twin ends with the probe */
		[HIP_AT_ENTRY] = { HIP_STUB_TO_ENTRY, HIP_STUB_ENTERED },
		[HIP_AT_BEGIN] = { HIP_STUB_TO_BEGIN, HIP_STUB_BEGUN },
		[HIP_AT_EXIT] = { HIP_STUB_TO_EXIT, HIP_STUB_LEFT },
		[HIP_AT_END] = { HIP_STUB_TO_END, NULL },
	};
	char to[32], back[32];
	int err = 0;

	b->names = calloc(2 * (draft->nbodies + HIP_NKERNEL_PROBES), sizeof(*b->names));
	if (!b->names)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < HIP_NKERNEL_PROBES; i++)
		if (hip_has(draft, i))
			err = add_probe_branches(b, draft, probes, stubs, draft->kernel_probe[i].site, ways[i][0],
						 i == HIP_AT_EXIT && !hip_has(draft, HIP_AT_END) ? NULL : ways[i][1],
						 diag);
	for (uint32_t i = 0; !err && i < draft->nbodies; i++) {
		snprintf(to, sizeof(to), HIP_STUB_TO_BODY, i);
		snprintf(back, sizeof(back), HIP_STUB_FROM_BODY, i);
		err = add_probe_branches(b, draft, probes, stubs, draft->bodies[i].site, to, back, diag);
	}
	return err;
}

/* Lists the words of the twin that the agent fills in. They are the arena's address, if a probe reads it, and two words
 * for each s_getpc_b64. */
static int find_binds(const struct hip_draft *draft, struct hip_link *job, struct hip_bind **binds)
{
	struct hip_symbols symbols = hip_elf_symbols(&job->object[0], SHT_SYMTAB);
	const struct hip_code *code = draft->code;
	Elf64_Sym arena;

	*binds = calloc(2 * code->npatches + 2, sizeof(**binds));
	job->positions = calloc(2 * code->npatches + 1, sizeof(*job->positions));
	if (!*binds || !job->positions)
		return -ENOMEM;
	if (hip_elf_find(&symbols, "gpubpf_arena", &arena)) {
		strcpy(job->positions[job->npositions].symbol, "gpubpf_arena");
		(*binds)[job->npositions++] = (struct hip_bind){ .what = HIP_BIND_ARENA, .part = HIP_BIND_U64 };
	}
	for (uint32_t i = 0; i < 2 * code->npatches; i++) {
		const struct hip_patch *patch = &code->patches[i / 2];
		struct hip_link_position *position = &job->positions[job->npositions];

		if (patch->kind != HIP_PATCH_PC)
			continue;
		snprintf(position->symbol, sizeof(position->symbol), "gpubpf_pc_%u", i / 2);
		position->bytes_after = i % 2 ? HIP_STUB_PC_HI : HIP_STUB_PC_LO;
		(*binds)[job->npositions++] = (struct hip_bind){ .what = HIP_BIND_IMAGE,
								 .part = i % 2 ? HIP_BIND_HI32 : HIP_BIND_LO32,
								 .addend = patch->address + 4 };
	}
	return 0;
}

/* Appends the table of words to the file. The last entry, HIP_BIND_ARGS, describes kernel arguments instead of a word
 * in the file. */
static int publish(const struct hip_app_kernel *app, const struct hip_draft *draft, const struct hip_link *job,
		   struct hip_bind *binds, struct gpubpf_blob *out)
{
	uint32_t count = job->npositions + (app->words ? 1 : 0);
	size_t size = count * sizeof(*binds);
	uint8_t *grown = realloc(out->data, out->size + size + HIP_BIND_TAIL);

	if (!grown) {
		free(out->data);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < job->npositions; i++)
		binds[i].offset = job->positions[i].off;
	if (app->words) {
		binds[job->npositions] =
			(struct hip_bind){ .what = HIP_BIND_ARGS, .part = app->words, .offset = hip_arguments_end(app) };
		snprintf(binds[job->npositions].kernel, sizeof(binds->kernel), "%s", draft->name);
	}
	memcpy(grown + out->size, binds, size);
	memcpy(grown + out->size + size, &count, sizeof(count));
	memcpy(grown + out->size + size + sizeof(count), HIP_BIND_MAGIC, sizeof(HIP_BIND_MAGIC) - 1);
	*out = (struct gpubpf_blob){ grown, out->size + size + HIP_BIND_TAIL };
	return 0;
}

int hip_link_twin(const struct hip_app_kernel *app, const struct hip_probes *probes, const struct hip_draft *draft,
		  const struct gpubpf_blob *object, struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	struct hip_registers r = hip_registers_of(app->isa, &draft->twin);
	struct hip_meta_twin say = { draft->name,
				     r.vector + r.accum,
				     r.accum,
				     max(app->meta.sgprs, r.scalar),
				     draft->twin.private_size,
				     draft->twin.group_size,
				     __builtin_popcount(app->words),
				     hip_arguments_end(app) };
	struct hip_link job = { .nobjects = 2, .flags = app->elf.head.e_flags, .abi = app->elf.head.e_ident[EI_ABIVERSION] };
	struct branches branches = { 0 };
	struct gpubpf_blob metadata;
	struct hip_bind *binds = NULL;
	int err = hip_meta_write(&app->elf, &app->meta, &say, &metadata);

	if (err < 0)
		return err == -ENOMEM ? err : hip_refuse(diag, "the metadata of the code object is malformed");
	job.object[0] = probes->elf;
	job.metadata = metadata.data;
	job.metadata_size = metadata.size;
	err = hip_elf_open(object->data, object->size, &job.object[1], diag);
	if (!err)
		err = find_branches(draft, probes, &job.object[1], &branches, diag);
	job.branches = branches.list;
	job.nbranches = branches.n;
	if (!err)
		err = find_binds(draft, &job, &binds);
	if (!err)
		err = hip_link(&job, out, diag);
	if (!err)
		err = publish(app, draft, &job, binds, out);
	free(binds);
	free(job.positions);
	free(branches.list);
	free(branches.names);
	free(metadata.data);
	return err;
}
