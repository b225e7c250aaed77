/* SPDX-License-Identifier: Apache-2.0 */
#include "inject.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assemble.h"
#include "backends/hip/wire/bind.h"
#include "core/diag.h"
#include "emit.h"
#include "linker.h"
#include "live.h"

#define MAX_PARAMS 1024

/* the probes of the twin: an object with a kernel for each site */
struct probes {
	struct gpubpf_blob blob;
	struct hip_elf elf;
	uint32_t entry, exit;      /* sites of the job; UINT32_MAX: none */
	struct hip_code code;      /* of the entry probe */
	uint64_t entry_off;        /* of its first instruction in .text */
};

/* The sites at the places of the job's first kernel. Its exits are branches to one stub. */
static int choose_sites(struct hip_found *app, const struct gpubpf_lower_job *job, struct probes *probes,
			struct gpubpf_diag *diag)
{
	struct gpubpf_inserting at = { .job = job, .kernel = job->sites[0].kernel };
	uint32_t id = 0;

	probes->entry = gpubpf_site_at(&at, GPUBPF_SITE_ENTRY, "", 0);
	probes->exit = UINT32_MAX;
	for (uint32_t i = 0; i < app->code.npatches; i++) {
		struct hip_patch *patch = &app->code.patches[i];
		uint32_t site;

		if (patch->kind != HIP_PATCH_END)
			continue;
		site = gpubpf_site_at(&at, GPUBPF_SITE_EXIT, "", id++);
		patch->probed = site != UINT32_MAX;
		if (patch->probed && probes->exit != UINT32_MAX && probes->exit != site)
			return hip_refuse(diag, "its exits are to have several probes, and share one");
		probes->exit = patch->probed ? site : probes->exit;
	}
	return gpubpf_all_inserted(&at, diag);
}

/* The descriptor and the code of one probe in the object that LLVM made. */
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
		return hip_refuse(diag, "LLVM made no code of the probe");
	strcat(name, ".kd");
	if (!hip_elf_find(&symbols, name, &kd) || !hip_elf_section(&probes->elf, kd.st_shndx, &head, &bytes) ||
	    !bytes || kd.st_value > head.sh_size || head.sh_size - kd.st_value < sizeof(*d))
		return hip_refuse(diag, "LLVM made no descriptor of the probe");
	memcpy(d, bytes + kd.st_value, sizeof(*d));
	if (!hip_elf_section(&probes->elf, fn.st_shndx, &head, &bytes) || !bytes || fn.st_value > head.sh_size)
		return hip_refuse(diag, "LLVM made no code of the probe");
	*off = fn.st_value;
	*code = bytes + fn.st_value;
	*size = head.sh_size - fn.st_value;
	return 0;
}

static uint32_t max(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Where the words begin that each launch of the twin fills. */
static uint32_t arguments_end(const struct hip_found *app)
{
	return (max(app->descriptor.kernarg_size, app->meta.kernarg_size) + 7) & ~7u;
}

/* Add what a probe needs to the twin. */
static int join(struct hip_draft *draft, const struct hip_descriptor *probe, struct hip_registers *all,
		struct gpubpf_diag *diag)
{
	struct hip_registers r = hip_registers_of(draft->isa, probe);

	if (probe->group_size)
		return hip_refuse(diag, "the probe's code needs memory of the group, which belongs to the kernel");
	if (probe->private_size && draft->isa->family == HIP_GFX90A)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "the probe needs %u bytes of memory for each "
				       "thread, and on gfx90a it must do with registers",
				       probe->private_size);
	all->vector = max(all->vector, r.vector);
	all->accum = max(all->accum, r.accum);
	all->scalar = max(all->scalar, r.scalar);
	hip_descriptor_join(&draft->twin, probe);
	return 0;
}

static int make_draft(const struct hip_found *app, const struct probes *probes, struct hip_draft *draft,
		      struct gpubpf_diag *diag)
{
	struct hip_registers need = { 0 };
	const uint8_t *code;
	uint64_t off;
	size_t size;
	int err = 0;

	*draft = (struct hip_draft){
		.isa = app->isa, .wave32 = app->wave32, .bytes = app->bytes, .address = app->address, .code = &app->code,
		.kernel = app->descriptor, .twin = app->descriptor, .entry_site = probes->entry, .exit_site = probes->exit,
	};
	draft->twin.preload = 0;
	if (app->words)
		draft->twin.kernarg_size = arguments_end(app) + 8 * __builtin_popcount(app->words);
	if (probes->entry != UINT32_MAX)
		err = read_probe(probes, probes->entry, &draft->entry, &off, &code, &size, diag);
	if (!err && probes->entry != UINT32_MAX)
		err = join(draft, &draft->entry, &need, diag);
	if (!err && probes->exit != UINT32_MAX)
		err = read_probe(probes, probes->exit, &draft->exit, &off, &code, &size, diag);
	if (!err && probes->exit != UINT32_MAX)
		err = join(draft, &draft->exit, &need, diag);
	return err ? err : hip_live_choose(app, draft, &need, diag);
}

/* The branches that no object can have by itself: between the stubs and the probes. */
struct branches {
	struct hip_branch *list;
	uint32_t n;
	char probe[2][32];         /* names of the probes */
};

static int find_stub(struct branches *b, const struct hip_elf *stubs, const char *label, uint32_t site, int which,
		     struct gpubpf_diag *diag)
{
	struct hip_symbols symbols = hip_elf_symbols(stubs, SHT_SYMTAB);
	Elf64_Sym at;

	if (site == UINT32_MAX)
		return 0;
	if (!hip_elf_find(&symbols, label, &at))
		return hip_refuse(diag, "LLVM's assembler lost a label");
	snprintf(b->probe[which], sizeof(b->probe[which]), "gpubpf_inline_%u", site);
	b->list[b->n++] = (struct hip_branch){ 1, at.st_value, b->probe[which] };
	return 0;
}

/* The entry probe's ends come back into the twin. */
static void find_ends(struct branches *b, const struct probes *probes, uint64_t off)
{
	for (uint32_t i = 0; i < probes->code.npatches; i++) {
		const struct hip_patch *patch = &probes->code.patches[i];

		if (patch->kind != HIP_PATCH_PC)
			b->list[b->n++] = (struct hip_branch){ 0, off + patch->off,
							       patch->kind == HIP_PATCH_END ? HIP_STUB_ENTERED : NULL };
	}
}

static int find_branches(const struct hip_found *app, struct probes *probes, const struct hip_elf *stubs,
			 struct branches *b, struct gpubpf_diag *diag)
{
	struct hip_descriptor d;
	const uint8_t *code;
	uint64_t off = 0;
	size_t size;
	int err = 0;

	if (probes->entry != UINT32_MAX)
		err = read_probe(probes, probes->entry, &d, &off, &code, &size, diag);
	if (!err && probes->entry != UINT32_MAX)
		err = hip_code_read(app->isa, app->wave32, code, size, 0, &probes->code, diag);
	if (err < 0)
		return err;
	b->list = calloc(probes->code.npatches + 2, sizeof(*b->list));
	if (!b->list)
		return -ENOMEM;
	find_ends(b, probes, off);
	err = find_stub(b, stubs, HIP_STUB_TO_ENTRY, probes->entry, 0, diag);
	return err ? err : find_stub(b, stubs, HIP_STUB_TO_EXIT, probes->exit, 1, diag);
}

/* The words of the twin that the agent writes: the arena's word, if a probe reads it, and two of each pc. */
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
		struct hip_spot *spot = &job->spots[job->nspots];

		if (patch->kind != HIP_PATCH_PC)
			continue;
		snprintf(spot->symbol, sizeof(spot->symbol), "gpubpf_pc_%u", i / 2);
		spot->plus = i % 2 ? HIP_STUB_PC_HI : HIP_STUB_PC_LO;
		(*binds)[job->nspots++] = (struct hip_bind){ .what = HIP_BIND_IMAGE,
			.part = i % 2 ? HIP_BIND_HI32 : HIP_BIND_LO32, .addend = hip_stub_pc(draft, patch) };
	}
	return 0;
}

/* Put the table behind the file; the last entry, the arguments, is none of them. */
static int publish(const struct hip_found *app, const struct hip_draft *draft, const struct hip_link *job,
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

static int link_twin(const struct hip_found *app, struct probes *probes, const struct hip_draft *draft,
		     const struct gpubpf_blob *object, struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	struct hip_registers r = hip_registers_of(app->isa, &draft->twin);
	struct hip_meta_twin say = { draft->name, r.vector + r.accum, r.accum, max(app->meta.sgprs, r.scalar),
				     draft->twin.private_size, __builtin_popcount(app->words), arguments_end(app) };
	struct hip_link job = { .nobjects = 2, .flags = app->elf.head.e_flags,
				.abi = app->elf.head.e_ident[EI_ABIVERSION] };
	struct branches branches = { 0 };
	struct gpubpf_blob metadata;
	struct hip_bind *binds = NULL;
	int err = hip_meta_write(&app->elf, &app->meta, &say, &metadata);

	if (err < 0)
		return err == -ENOMEM ? err : hip_refuse(diag, "the metadata makes no sense");
	job.object[0] = probes->elf;
	job.metadata = metadata.data;
	job.metadata_size = metadata.size;
	err = hip_elf_open(object->data, object->size, &job.object[1], diag);
	if (!err)
		err = find_branches(app, probes, &job.object[1], &branches, diag);
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
	hip_code_finish(&probes->code);
	free(branches.list);
	free(metadata.data);
	return err;
}

static int build(const struct hip_found *app, struct probes *probes, const char *name, struct gpubpf_blob *out,
		 struct gpubpf_diag *diag)
{
	struct gpubpf_blob text = { 0 }, object = { 0 };
	struct hip_draft draft;
	int err = hip_found_reaches(&app->code, diag);

	if (!err)
		err = make_draft(app, probes, &draft, diag);
	draft.name = name;
	if (!err)
		err = hip_stub_write(&draft, &text);
	if (!err)
		err = hip_assemble(app->isa, app->wave32, text.data, text.size, &object, diag);
	if (!err)
		err = link_twin(app, probes, &draft, &object, out, diag);
	free(object.data);
	free(text.data);
	return err;
}

static int make(struct hip_found *app, const struct gpubpf_lower_job *job, struct probes *probes, struct gpubpf_blob *out,
		struct gpubpf_diag *diag)
{
	const struct gpubpf_site_desc *site = &job->sites[0];
	uint32_t offsets[MAX_PARAMS], version = app->elf.head.e_ident[EI_ABIVERSION] + 2u;
	char name[300];
	int err;

	snprintf(name, sizeof(name), HIP_TWIN_PREFIX "%s", site->kernel);
	if (hip_meta_params(&app->meta, NULL, offsets, MAX_PARAMS) < site->nparams || site->nparams > MAX_PARAMS)
		return hip_refuse(diag, "the kernel has fewer parameters in this image than the session knows");
	err = hip_found_named(site->kernel, diag);
	app->words = hip_wanted_args(job);
	if (!err)
		err = hip_emit_sites(job, app->isa, app->wave32, version, offsets, arguments_end(app), &probes->blob,
				     diag);
	if (!err)
		err = hip_elf_open(probes->blob.data, probes->blob.size, &probes->elf, diag);
	if (!err)
		err = build(app, probes, name, out, diag);
	free(probes->blob.data);
	return err;
}

static int inject(struct hip_found *app, const struct gpubpf_lower_job *job, struct gpubpf_twin_image *out,
		  struct gpubpf_diag *diag)
{
	struct gpubpf_twin_image made = { 0 };
	struct probes probes = { 0 };
	struct gpubpf_blob blob;
	int err;

	if (!hip_meta_find(&app->elf, job->sites[0].kernel, &app->meta))
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the code object has no kernel %s",
				       job->sites[0].kernel);
	err = gpubpf_twin_of_one(job, &made);
	if (!err)
		err = hip_found_read(app, false, diag);
	if (!err)
		err = choose_sites(app, job, &probes, diag);
	if (!err)
		err = make(app, job, &probes, &blob, diag);
	hip_code_finish(&app->code);
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
	struct hip_found app = { 0 };
	int err;

	if (!job->nsites)
		return hip_refuse(diag, "no kernel is named");
	err = hip_found_open(image, job->caps, &app, diag);
	if (!err)
		err = inject(&app, job, out, diag);
	free(app.plain);
	return err;
}
