/* SPDX-License-Identifier: Apache-2.0 */
#include "inject.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/hip/wire/bind.h"
#include "core/model/diag.h"
#include "core/worker/functions.h"
#include "core/worker/lines.h"
#include "emit.h"
#include "backends/hip/amdgpu/object/linker.h"
#include "backends/hip/amdgpu/rewrite/listing.h"
#include "backends/hip/amdgpu/isa/live.h"
#include "backends/hip/amdgpu/rewrite/named.h"

#define MAX_PARAMS 1024

static uint32_t max(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* the probes of the twin: an object with a kernel for each site */
struct probes {
	struct gpubpf_blob blob;
	struct hip_elf elf;
};

/* Returns the index + 1 of a site's body and adds the body if needed. */
static uint32_t body_of(struct hip_draft *draft, const struct gpubpf_lower_job *job, uint32_t site)
{
	uint32_t b = 0;

	while (b < draft->nbodies && draft->bodies[b].site != site)
		b++;
	draft->nbodies = max(draft->nbodies, b + 1);
	draft->bodies[b].site = site;
	draft->bodies[b].kind = job->sites[site].site;
	return b + 1;
}

/* places of the kernel's code, or of a function's, found so far */
struct site_selection {
	const struct hip_part *in; /* NULL: the kernel's code, and the twin has no functions */
	uint32_t counts[GPUBPF_NSITES];
};

static const char *function_of(const struct site_selection *c)
{
	return c->in ? c->in->name : "";
}

/* Returns why a program cannot run at the instruction, or NULL. */
static const char *refusal_reason(const struct hip_patch *patch, enum gpubpf_site kind)
{
	if (kind == GPUBPF_SITE_CALL_EXIT && patch->kind == HIP_PATCH_TAIL)
		return "it ends in a tail call, so its callee returns";
	if (kind == GPUBPF_SITE_CALL && patch->again)
		return "a loop branches to its first instruction";
	return patch->kind != HIP_PATCH_ACCESS || gpubpf_place_has_name(kind) ? patch->why : NULL;
}

/* Selects the bodies at the places of one instruction, kind by kind. */
static int select_bodies(struct hip_app_kernel *app, struct gpubpf_inserting *at, uint32_t i, struct site_selection *c,
			 struct hip_draft *draft, struct gpubpf_diag *diag)
{
	struct hip_patch *patch = &app->code.patches[i];
	const char *why;

	for (uint32_t access = 0; access < HIP_MAX_ACCESSES; access++)
		for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++) {
			uint32_t site, id;

			if (!hip_patch_is_site(patch, access, kind))
				continue;
			id = c->counts[kind]++;
			site = gpubpf_site_at(at, kind, function_of(c), id);
			if (site == UINT32_MAX)
				continue;
			why = refusal_reason(patch, kind);
			if (why && c->in && c->in->name[0])
				return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "function %.64s: %s", c->in->name, why);
			if (why)
				return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "%s (at byte %u of its code)", why,
						       patch->off);
			if (gpubpf_place_kind(kind)->spaces && patch->access[access].why)
				return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
						       "probes cannot observe %s (at byte %u of its code)",
						       patch->access[access].why, patch->off);
			draft->stands[i][access][kind] = (struct hip_site_body){ body_of(draft, at->job, site), id };
		}
	return 0;
}

/* Selects the probes at one end of the kernel. All ends share one stub, and every wave of a block must be counted.
 * first: the kernel's first end. */
static int select_end(struct hip_patch *patch, struct gpubpf_inserting *at, struct site_selection *c, bool first, struct hip_draft *draft,
		      struct gpubpf_diag *diag)
{
	uint32_t exit = gpubpf_site_at(at, GPUBPF_SITE_EXIT, function_of(c), c->counts[GPUBPF_SITE_EXIT]++);
	uint32_t end = gpubpf_site_at(at, GPUBPF_SITE_BLOCK_END, function_of(c), c->counts[GPUBPF_SITE_BLOCK_END]++);

	patch->probed = exit != UINT32_MAX;
	patch->counted = end != UINT32_MAX;
	if ((patch->probed || patch->counted) && patch->why)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "it ends where %s (at byte %u of its code)", patch->why, patch->off);
	if (patch->probed && hip_has(draft, HIP_AT_EXIT) && draft->whole[HIP_AT_EXIT].site != exit)
		return hip_refuse(diag, "its exits need different probes, but all exits share one");
	if (!first && end != draft->whole[HIP_AT_END].site)
		return hip_refuse(diag, "its ends need different probes of gpu/block_end/, or some none, but all ends "
					"share one");
	if (patch->probed)
		draft->whole[HIP_AT_EXIT].site = exit;
	draft->whole[HIP_AT_END].site = end;
	return 0;
}

/* Selects the sites at the places of the job's first kernel. */
static int select_sites(struct hip_app_kernel *app, const struct gpubpf_lower_job *job, struct hip_draft *draft,
			struct gpubpf_diag *diag)
{
	struct gpubpf_inserting at = { .job = job, .kernel = job->sites[0].kernel };
	struct site_selection c = { .in = app->parts };
	bool first = true;
	int err = 0;

	draft->whole[HIP_AT_ENTRY].site = gpubpf_site_at(&at, GPUBPF_SITE_ENTRY, "", 0);
	draft->whole[HIP_AT_BEGIN].site = gpubpf_site_at(&at, GPUBPF_SITE_BLOCK_BEGIN, "", 0);
	draft->whole[HIP_AT_EXIT].site = draft->whole[HIP_AT_END].site = UINT32_MAX;
	for (uint32_t i = 0; !err && i < app->code.npatches; i++) {
		while (c.in && app->code.patches[i].off >= c.in->off + c.in->size)
			c = (struct site_selection){ .in = c.in + 1 };
		if (draft->stands)
			err = select_bodies(app, &at, i, &c, draft, diag);
		if (!err && app->code.patches[i].kind == HIP_PATCH_END) {
			err = select_end(&app->code.patches[i], &at, &c, first, draft, diag);
			first = false;
		}
	}
	return err ? err : gpubpf_check_all_inserted(&at, diag);
}

/* Finds the descriptor and the code of a probe in the object that LLVM compiled. */
static int read_probe(const struct probes *probes, uint32_t site, struct hip_descriptor *d, uint64_t *off,
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

#define MAX_ARGUMENT_BYTES (1u << 20) /* bytes; no compiler generates more */

/* Returns the offset of the words that each launch of the twin fills. */
static uint32_t arguments_end(const struct hip_app_kernel *app)
{
	return (max(app->descriptor.kernarg_size, app->meta.kernarg_size) + 7) & ~7u;
}

/* Adds a probe's registers and fields to the twin. */
static int add_probe_needs(struct hip_draft *draft, const struct hip_descriptor *probe, struct hip_registers *all,
			   struct gpubpf_diag *diag)
{
	struct hip_registers r = hip_registers_of(draft->isa, probe);

	if (probe->group_size)
		return hip_refuse(diag, "the probe needs group memory, which belongs to the kernel");
	if (probe->private_size && draft->isa->family == HIP_GFX90A)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "the probe needs %u bytes of private memory per thread, which probes on gfx90a "
				       "cannot use",
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

/* Reads a body's descriptor and operands, and adds its registers to the twin. */
static int read_body(struct hip_draft *draft, const struct probes *probes, struct hip_body *body,
		     struct hip_registers *all, struct gpubpf_diag *diag)
{
	struct hip_code code;
	const uint8_t *bytes;
	uint32_t vectors = 0;
	uint64_t off;
	size_t size;
	int err = read_probe(probes, body->site, &body->descriptor, &off, &bytes, &size, diag);

	if (!err)
		err = add_probe_needs(draft, &body->descriptor, all, diag);
	if (err < 0)
		return err;
	if (body->descriptor.private_size)
		return hip_refuse(diag, "the probe needs private memory, which belongs to the kernel while it runs");
	err = hip_code_read(draft->isa, draft->wave32, 0, &(struct hip_code_at){ .bytes = bytes, .size = size }, &code, diag);
	if (err < 0)
		return err;
	if (code.special || code.accum)
		err = hip_refuse(diag, "the probe needs registers that cannot be saved for the kernel");
	else if (hip_operands_read(draft->isa, draft->wave32, bytes, size, &body->given, &body->same, &vectors) < 0)
		err = hip_refuse(diag, "the probe has no registers left for the place's operands");
	if (!err && is_of_function(body->kind) && body->given >> HIP_UNKNOWN_OPERAND & 1)
		err = hip_refuse(diag, body->kind == GPUBPF_SITE_CALL_EXIT ?
			"a program at a function's return reads its arguments, which are gone there, or a result that "
			"the debug information (-g) does not describe" :
			"a program at a function's call reads an argument that the debug information (-g) does not "
			"describe");
	draft->scalars = max(draft->scalars, max(code.scalar, hip_start_of(draft->isa, &body->descriptor).end));
	draft->vectors = max(draft->vectors, max(vectors, 1)); /* v0 has the work-item's ids */
	hip_code_finish(&code);
	return err;
}

static int read_bodies(struct hip_draft *draft, const struct probes *probes, struct hip_registers *all,
		       struct gpubpf_diag *diag)
{
	int err = 0;

	draft->scalars = HIP_STUB_SGPRS;
	for (uint32_t b = 0; !err && b < draft->nbodies; b++)
		err = read_body(draft, probes, &draft->bodies[b], all, diag);
	return err;
}

/* Requests the fields and the group memory that the stubs need to find a block's first lane and to count its waves. */
static int count_waves(const struct hip_app_kernel *app, struct hip_draft *draft, struct gpubpf_diag *diag)
{
	const struct hip_descriptor ids = { .rsrc2 = 2 << HIP_ITEM_IDS_SHIFT }, packet = { .properties = HIP_DISPATCH_POINTER };
	uint32_t size = (draft->twin.group_size + 3) & ~3u;

	if (hip_has(draft, HIP_AT_BEGIN) || hip_has(draft, HIP_AT_END))
		hip_descriptor_join(&draft->twin, &ids);
	if (!hip_has(draft, HIP_AT_END))
		return 0;
	if (app->isa->accum && draft->twin.rsrc3 & HIP_SPLIT_GROUPS)
		return hip_refuse(diag, "its groups are split over several processors, which share no memory for a "
					"count of waves");
	if (draft->twin.group_size > HIP_MAX_GROUP - HIP_STUB_GROUP_BYTES)
		return hip_refuse(diag, "it uses all of a group's memory, and gpu/block_end/ needs 8 bytes to count "
					"waves");
	hip_descriptor_join(&draft->twin, &packet);
	draft->twin.group_size = size + HIP_STUB_GROUP_BYTES;
	return 0;
}

/* Adds the descriptors of the probes at the kernel's entry and ends. */
static int read_whole(struct hip_draft *draft, const struct probes *probes, struct hip_registers *all, struct gpubpf_diag *diag)
{
	const uint8_t *code;
	uint64_t off;
	size_t size;
	int err = 0;

	for (uint32_t i = 0; !err && i < HIP_NWHOLE; i++) {
		struct hip_kernel_probe *whole = &draft->whole[i];

		if (!hip_has(draft, i))
			continue;
		err = read_probe(probes, whole->site, &whole->descriptor, &off, &code, &size, diag);
		if (!err)
			err = add_probe_needs(draft, &whole->descriptor, all, diag);
	}
	return err;
}

static int make_draft(const struct hip_app_kernel *app, const struct probes *probes, struct hip_draft *draft,
		     struct gpubpf_diag *diag)
{
	struct hip_registers need = { 0 };
	int err;

	if (max(app->descriptor.kernarg_size, app->meta.kernarg_size) > MAX_ARGUMENT_BYTES)
		return hip_refuse(diag, "its descriptor states more than a megabyte of arguments");
	draft->arguments = arguments_end(app) + 8 * __builtin_popcount(app->words);
	draft->twin.preload = 0;
	if (app->words)
		draft->twin.kernarg_size = draft->arguments;
	err = count_waves(app, draft, diag);
	if (!err)
		err = read_whole(draft, probes, &need, diag);
	if (!err)
		err = read_bodies(draft, probes, &need, diag);
	return err ? err : hip_live_allocate(app, draft, &need, diag);
}

/* Rewrites the bodies to read their operands from the draft's registers. */
static int place_operands(const struct hip_draft *draft, const struct probes *probes, struct gpubpf_diag *diag)
{
	struct hip_descriptor d;
	const uint8_t *code;
	uint64_t off;
	size_t size;
	int err = 0;

	for (uint32_t b = 0; !err && b < draft->nbodies; b++) {
		err = read_probe(probes, draft->bodies[b].site, &d, &off, &code, &size, diag);
		if (!err)
			hip_operands_place(draft->isa, draft->wave32, (uint8_t *)code, size, draft->given, draft->same);
	}
	return err;
}

/* branches between the two objects, the stubs and the probes */
struct branches {
	struct hip_branch *list;
	uint32_t n;
	char (*names)[32];         /* two for each probe: its symbol, and the label to which its ends return */
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

/* Adds branches from the ends of a probe back into the twin. */
static int find_ends(struct branches *b, const struct hip_draft *draft, const struct probes *probes, uint32_t site,
		     const char *back, struct gpubpf_diag *diag)
{
	struct hip_descriptor d;
	struct hip_code code;
	const uint8_t *bytes;
	uint64_t off = 0;
	size_t size;
	int err = read_probe(probes, site, &d, &off, &bytes, &size, diag);

	if (!err)
		err = hip_code_read(draft->isa, draft->wave32, 0, &(struct hip_code_at){ .bytes = bytes, .size = size }, &code, diag);
	if (err < 0)
		return err;
	for (uint32_t i = 0; !err && i < code.npatches; i++)
		if (code.patches[i].kind != HIP_PATCH_PC && code.patches[i].kind != HIP_PATCH_FAR_JUMP)
			err = add_branch(b, 0, off + code.patches[i].off, code.patches[i].kind == HIP_PATCH_END ? back : NULL);
	hip_code_finish(&code);
	return err;
}

/* Adds the branch from a stub's label to the probe of a site and, if `back` is set, the branches back to that label. */
static int add_probe_branches(struct branches *b, const struct hip_draft *draft, const struct probes *probes,
			      const struct hip_elf *stubs, uint32_t site, const char *to, const char *back, struct gpubpf_diag *diag)
{
	struct hip_symbols symbols = hip_elf_symbols(stubs, SHT_SYMTAB);
	char *name = b->names[b->nnames++], *return_label = b->names[b->nnames++];
	Elf64_Sym at;
	int err;

	if (!hip_elf_find(&symbols, to, &at))
		return hip_refuse(diag, "LLVM's assembler lost a label");
	snprintf(name, sizeof(*b->names), "gpubpf_inline_%u", site);
	snprintf(return_label, sizeof(*b->names), "%s", back ? back : "");
	err = add_branch(b, 1, at.st_value, name);
	return err || !back ? err : find_ends(b, draft, probes, site, return_label, diag);
}

static int find_branches(const struct hip_draft *draft, const struct probes *probes, const struct hip_elf *stubs,
			 struct branches *b, struct gpubpf_diag *diag)
{
	static const char *const ways[HIP_NWHOLE][2] = { /* a probe that does not return ends the twin */
		[HIP_AT_ENTRY] = { HIP_STUB_TO_ENTRY, HIP_STUB_ENTERED }, [HIP_AT_BEGIN] = { HIP_STUB_TO_BEGIN, HIP_STUB_BEGUN },
		[HIP_AT_EXIT] = { HIP_STUB_TO_EXIT, HIP_STUB_LEFT }, [HIP_AT_END] = { HIP_STUB_TO_END, NULL },
	};
	char to[32], back[32];
	int err = 0;

	b->names = calloc(2 * (draft->nbodies + HIP_NWHOLE), sizeof(*b->names));
	if (!b->names)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < HIP_NWHOLE; i++)
		if (hip_has(draft, i))
			err = add_probe_branches(b, draft, probes, stubs, draft->whole[i].site, ways[i][0],
						 i == HIP_AT_EXIT && !hip_has(draft, HIP_AT_END) ? NULL : ways[i][1], diag);
	for (uint32_t i = 0; !err && i < draft->nbodies; i++) {
		snprintf(to, sizeof(to), HIP_STUB_TO_BODY, i);
		snprintf(back, sizeof(back), HIP_STUB_FROM_BODY, i);
		err = add_probe_branches(b, draft, probes, stubs, draft->bodies[i].site, to, back, diag);
	}
	return err;
}

/* Lists the words of the twin that the agent writes: the arena's word, if a probe reads it, and two for each pc. */
static int find_binds(const struct hip_draft *draft, struct hip_link *job, struct hip_bind **binds)
{
	struct hip_symbols symbols = hip_elf_symbols(&job->object[0], SHT_SYMTAB);
	const struct hip_code *code = draft->code;
	Elf64_Sym arena;

	*binds = calloc(2 * code->npatches + 2, sizeof(**binds));
	job->spots = calloc(2 * code->npatches + 1, sizeof(*job->spots));
	if (!*binds || !job->spots)
		return -ENOMEM;
	if (hip_elf_find(&symbols, "gpubpf_arena", &arena)) {
		strcpy(job->spots[job->nspots].symbol, "gpubpf_arena");
		(*binds)[job->nspots++] = (struct hip_bind){ .what = HIP_BIND_ARENA, .part = HIP_BIND_U64 };
	}
	for (uint32_t i = 0; i < 2 * code->npatches; i++) {
		const struct hip_patch *patch = &code->patches[i / 2];
		struct hip_link_position *spot = &job->spots[job->nspots];

		if (patch->kind != HIP_PATCH_PC)
			continue;
		snprintf(spot->symbol, sizeof(spot->symbol), "gpubpf_pc_%u", i / 2);
		spot->plus = i % 2 ? HIP_STUB_PC_HI : HIP_STUB_PC_LO;
		(*binds)[job->nspots++] = (struct hip_bind){ .what = HIP_BIND_IMAGE,
			.part = i % 2 ? HIP_BIND_HI32 : HIP_BIND_LO32, .addend = patch->address + 4 };
	}
	return 0;
}

/* Appends the table to the file. The last entry describes the arguments and is no word of the file. */
static int publish(const struct hip_app_kernel *app, const struct hip_draft *draft, const struct hip_link *job,
		   struct hip_bind *binds, struct gpubpf_blob *out)
{
	uint32_t count = job->nspots + (app->words ? 1 : 0);
	size_t size = count * sizeof(*binds);
	uint8_t *grown = realloc(out->data, out->size + size + HIP_BIND_TAIL);

	if (!grown) {
		free(out->data);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < job->nspots; i++)
		binds[i].offset = job->spots[i].off;
	if (app->words) {
		binds[job->nspots] = (struct hip_bind){ .what = HIP_BIND_ARGS, .part = app->words,
							.offset = arguments_end(app) };
		snprintf(binds[job->nspots].kernel, sizeof(binds->kernel), "%s", draft->name);
	}
	memcpy(grown + out->size, binds, size);
	memcpy(grown + out->size + size, &count, sizeof(count));
	memcpy(grown + out->size + size + sizeof(count), HIP_BIND_MAGIC, sizeof(HIP_BIND_MAGIC) - 1);
	*out = (struct gpubpf_blob){ grown, out->size + size + HIP_BIND_TAIL };
	return 0;
}

static int link_twin(const struct hip_app_kernel *app, const struct probes *probes, const struct hip_draft *draft,
		     const struct gpubpf_blob *object, struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	struct hip_registers r = hip_registers_of(app->isa, &draft->twin);
	struct hip_meta_twin say = { draft->name, r.vector + r.accum, r.accum, max(app->meta.sgprs, r.scalar),
				     draft->twin.private_size, draft->twin.group_size, __builtin_popcount(app->words), arguments_end(app) };
	struct hip_link job = { .nobjects = 2, .flags = app->elf.head.e_flags,
				.abi = app->elf.head.e_ident[EI_ABIVERSION] };
	struct branches branches = { 0 };
	struct gpubpf_blob metadata;
	struct hip_bind *binds = NULL;
	int err = hip_meta_write(&app->elf, &app->meta, &say, &metadata);

	if (err < 0)
		return err == -ENOMEM ? err : hip_refuse(diag, "the metadata is malformed");
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
	free(job.spots);
	free(branches.list);
	free(branches.names);
	free(metadata.data);
	return err;
}

/* Assembles the twin's code, except the probes, into an object. */
static int assemble(const struct hip_draft *draft, struct gpubpf_blob *object, struct gpubpf_diag *diag)
{
	struct hip_listing listing = { 0 };
	struct gpubpf_blob text;
	int err = hip_stub_write(draft, &text);

	if (err < 0)
		return err;
	err = hip_listing_read(draft, &text, &listing, diag);
	if (!err)
		err = hip_listing_place(&listing, diag);
	if (!err)
		err = hip_listing_write(&listing, object);
	hip_listing_finish(&listing);
	free(text.data);
	return err;
}

static int build(const struct hip_app_kernel *app, struct probes *probes, struct hip_draft *draft, struct gpubpf_blob *out,
		 struct gpubpf_diag *diag)
{
	struct gpubpf_blob object = { 0 };
	int err = make_draft(app, probes, draft, diag);

	if (!err)
		err = place_operands(draft, probes, diag);
	if (!err)
		err = assemble(draft, &object, diag);
	if (!err)
		err = link_twin(app, probes, draft, &object, out, diag);
	free(object.data);
	return err;
}

static int make_image(struct hip_app_kernel *app, const struct gpubpf_lower_job *job, struct hip_draft *draft,
		      struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	const struct gpubpf_site_desc *site = &job->sites[0];
	struct probes probes = { 0 };
	uint32_t offsets[MAX_PARAMS], version = app->elf.head.e_ident[EI_ABIVERSION] + 2u;
	char name[300];
	int err;

	snprintf(name, sizeof(name), HIP_TWIN_PREFIX "%s", site->kernel);
	if (hip_meta_params(&app->meta, NULL, offsets, MAX_PARAMS) < site->nparams || site->nparams > MAX_PARAMS)
		return hip_refuse(diag, "the kernel has fewer parameters in this image than the session knows");
	draft->name = name;
	err = hip_check_symbol_name(site->kernel, diag);
	app->words = hip_launch_args(job);
	if (!err)
		err = hip_emit_sites(job, app->isa, app->wave32, version, offsets, arguments_end(app), draft->functions, &probes.blob,
				     diag);
	if (!err)
		err = hip_elf_open(probes.blob.data, probes.blob.size, &probes.elf, diag);
	if (!err)
		err = build(app, &probes, draft, out, diag);
	free(probes.blob.data);
	return err;
}

/* Returns the number of the job's sites at single instructions and in functions, and sets their kinds. */
static uint32_t count_bodies(const struct gpubpf_lower_job *job, uint32_t *kinds)
{
	uint32_t n = 0;

	*kinds = 0;
	for (uint32_t i = 0; i < job->nsites; i++)
		if (gpubpf_place_kind(job->sites[i].site)->where != GPUBPF_WHERE_KERNEL) {
			*kinds |= 1u << job->sites[i].site;
			n++;
		}
	return n;
}

/* Returns true if an insertion is in a function; kernels may end in functions too. */
static bool names_functions(const struct gpubpf_lower_job *job)
{
	for (uint32_t i = 0; i < job->ninsertions; i++)
		if (job->insertions[i].place.function[0])
			return true;
	return false;
}

/* Returns the debug information of the functions at which sites are: a malloc'd list with a pointer for each site of
 * the job. */
static int find_functions(const struct hip_app_kernel *app, const struct gpubpf_lower_job *job, const struct gpubpf_functions *types,
			  const struct gpubpf_function ***functions)
{
	*functions = calloc(job->nsites + 1, sizeof(**functions));
	if (!*functions)
		return -ENOMEM;
	for (uint32_t i = 0; i < job->nsites; i++)
		for (uint32_t p = 1; p < app->nparts; p++)
			if (!strcmp(app->parts[p].name, job->sites[i].function))
				(*functions)[i] = gpubpf_functions_at(types, app->parts[p].address);
	return 0;
}

/* Finds the source lines of the kernel's places, and the places at lines and marks. */
static int find_lines(struct hip_app_kernel *app, struct gpubpf_lines *lines)
{
	hip_named_lines(app, lines);
	for (uint32_t i = 0; i < app->code.npatches; i++)
		app->code.patches[i].line = gpubpf_lines_at(lines, app->code.patches[i].address);
	return hip_named_find(app, lines);
}

/* Makes the twin of the kernel that was read. It includes the kernel's functions if a place is at an instruction or in
 * a function. */
static int make_twin(struct hip_app_kernel *app, const struct gpubpf_lower_job *job, struct gpubpf_blob *out,
		     struct gpubpf_diag *diag)
{
	struct hip_draft draft = { .isa = app->isa, .wave32 = app->wave32, .code = &app->code, .kernel = app->descriptor,
				   .twin = app->descriptor, .reach = HIP_BRANCH_RANGE_BYTES };
	uint32_t n = count_bodies(job, &app->insns);
	struct gpubpf_functions types = { 0 };
	struct gpubpf_lines lines = { 0 };
	int err = 0;

	if (n || names_functions(job)) {
		err = hip_app_kernel_add_callees(app, diag);
		if (!err)
			err = find_lines(app, &lines);
		gpubpf_functions_read(app->elf.data, app->elf.size, &types);
		if (!err)
			err = find_functions(app, job, &types, &draft.functions);
		draft.stands = calloc(app->code.npatches + 1, sizeof(*draft.stands));
		draft.bodies = calloc(n + 1, sizeof(*draft.bodies));
		if (!err && (!draft.stands || !draft.bodies))
			err = -ENOMEM;
	}
	draft.bytes = app->bytes;
	if (!err)
		err = select_sites(app, job, &draft, diag);
	if (!err)
		err = make_image(app, job, &draft, out, diag);
	gpubpf_functions_finish(&types);
	gpubpf_lines_finish(&lines);
	free(draft.functions);
	free(draft.stands);
	free(draft.bodies);
	return err;
}

static int inject(struct hip_app_kernel *app, const struct gpubpf_lower_job *job, struct gpubpf_twin_image *out,
		  struct gpubpf_diag *diag)
{
	struct gpubpf_twin_image made = { 0 };
	struct gpubpf_blob blob;
	int err;

	if (!hip_meta_find(&app->elf, job->sites[0].kernel, &app->meta))
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the code object has no kernel %s",
				       job->sites[0].kernel);
	count_bodies(job, &app->insns);
	app->insns |= names_functions(job) ? GPUBPF_SITE_BIT(CALL) : 0; /* so that calls are found */
	err = gpubpf_twin_init_single(job, &made);
	if (!err)
		err = hip_app_kernel_read(app, false, diag);
	if (!err)
		err = make_twin(app, job, &blob, diag);
	hip_app_kernel_finish(app);
	if (err < 0) {
		free(made.refused);
		free(made.twins);
		return err;
	}
	made.piece[0] = (struct gpubpf_twin_piece){ GPUBPF_IMAGE_AMDGPU, blob, NULL };
	made.npieces = 1;
	*out = made;
	return 0;
}

int hip_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
	       const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	struct hip_app_kernel app = { 0 };
	int err;

	if (!job->nsites)
		return hip_refuse(diag, "no kernel is named");
	err = hip_app_kernel_open(image, job->caps, &app, diag);
	if (!err)
		err = inject(&app, job, out, diag);
	free(app.plain);
	return err;
}
