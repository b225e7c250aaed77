/* SPDX-License-Identifier: Apache-2.0 */
#include "inject.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "assemble.h"
#include "backends/hip/wire/bind.h"
#include "bundle.h"
#include "code.h"
#include "core/diag.h"
#include "core/worker/apart.h"
#include "descriptor.h"
#include "emit.h"
#include "linker.h"
#include "meta.h"
#include "stub.h"

#define MAX_PARAMS 1024

/* a kernel of the application's, found in its code object */
struct found {
	void *plain;               /* what was compressed in the image: the code object lies in it */
	struct hip_elf elf;
	const struct hip_isa *isa;
	struct hip_meta meta;
	struct hip_descriptor descriptor;
	struct hip_code code;
	const uint8_t *bytes;
	uint64_t address;
	bool wave32;
	uint32_t words;            /* what each launch of the twin fills: enum hip_bind_args */
};

static int refuse(struct gpubpf_diag *diag, const char *why)
{
	return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "%s", why);
}

static int open_object(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps, struct found *app,
		       struct gpubpf_diag *diag)
{
	struct gpubpf_blob object;
	int err = hip_bundle_pick(image, caps->arch, &app->plain, &object, diag);

	if (!err)
		err = hip_elf_open(object.data, object.size, &app->elf, diag);
	if (err < 0)
		return err;
	app->isa = hip_isa_of_flags(app->elf.head.e_flags);
	if (!app->isa)
		return refuse(diag,
			      "the code object is for a processor other than gfx90a, gfx942, gfx950, gfx11 and gfx12");
	if (app->elf.head.e_ident[EI_ABIVERSION] < 2 || app->elf.head.e_ident[EI_ABIVERSION] > 4)
		return refuse(diag, "the code object's version is none of 4, 5 and 6");
	return 0;
}

/* The bytes from an address to the end of the text that they are in, and how many there are before it. */
static const uint8_t *text_at(const struct hip_elf *elf, uint64_t address, size_t *before, size_t *size)
{
	const uint8_t *bytes;
	Elf64_Shdr head;

	for (uint32_t i = 0; hip_elf_section(elf, i, &head, &bytes); i++)
		if (head.sh_flags & SHF_EXECINSTR && bytes && address >= head.sh_addr &&
		    address - head.sh_addr < head.sh_size) {
			*before = address - head.sh_addr;
			*size = head.sh_size - *before;
			return bytes + (address - head.sh_addr);
		}
	return NULL;
}

/* Descriptor and instructions of the kernel that the metadata describes. A kernel of the application stays behind its
 * first instruction; control in a twin goes to stubs and probes, which lie before it too. */
static int read_kernel(struct found *app, bool twin, struct gpubpf_diag *diag)
{
	struct hip_symbols symbols = hip_elf_symbols(&app->elf, SHT_DYNSYM);
	const uint8_t *descriptor;
	char name[300];
	Elf64_Sym kd;
	size_t size, before;

	if (!app->meta.symbol || app->meta.symbol_len >= sizeof(name))
		return refuse(diag, "the metadata names no descriptor");
	snprintf(name, sizeof(name), "%.*s", (int)app->meta.symbol_len, app->meta.symbol);
	if (!hip_elf_find(&symbols, name, &kd) ||
	    !(descriptor = hip_elf_at(&app->elf, kd.st_value, sizeof(app->descriptor))))
		return refuse(diag, "the code object has no descriptor of the kernel");
	memcpy(&app->descriptor, descriptor, sizeof(app->descriptor));
	app->address = kd.st_value + app->descriptor.entry;
	app->bytes = text_at(&app->elf, app->address, &before, &size);
	if (!app->bytes || app->address % 4)
		return refuse(diag, "the descriptor's entry lies outside of the code");
	if (!twin)
		before = 0;
	app->wave32 = app->isa->wave32 && app->descriptor.properties & HIP_WAVE32;
	return hip_code_read(app->isa, app->wave32, app->bytes - before, size + before, before, &app->code, diag);
}

/* What the kernel uses: the metadata knows it to the register, the descriptor in granules. */
static struct hip_registers used_by(const struct found *app)
{
	struct hip_registers r = hip_registers_of(app->isa, &app->descriptor);

	if (app->meta.vgprs && app->meta.agprs < r.accum)
		r.accum = app->meta.agprs;
	if (!app->isa->accum && app->meta.vgprs && app->meta.vgprs < r.vector)
		r.vector = app->meta.vgprs;
	return r;
}

static int refuse_full(const struct found *app, struct gpubpf_diag *diag)
{
	return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the kernel uses %u vector registers, and a probe "
			       "at its exit would need two of them for what it is told", used_by(app).vector);
}

/* Each place is a branch back to the stubs; they stand before the kernel, and s_branch reaches 128 KiB. */
static int check_reach(const struct hip_code *code, struct gpubpf_diag *diag)
{
	uint32_t stubs = 2048 + 64 * code->nplaces;

	if (code->nplaces && code->places[code->nplaces - 1].off + stubs >= 4 * 32767)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "its code is too large: %u bytes, and a branch must "
				       "reach from its last instruction to what stands before the first",
				       code->size);
	return 0;
}

static int check_name(const char *name, struct gpubpf_diag *diag)
{
	if (strlen(name) + sizeof(HIP_TWIN_PREFIX) > sizeof(((struct hip_bind *)0)->kernel))
		return refuse(diag, "the kernel's name is too long");
	for (; *name; name++)
		if (*name == '"' || *name == '\\' || (unsigned char)*name < ' ')
			return refuse(diag, "the kernel's name has characters that no symbol of ours can have");
	return 0;
}

/* ---- inspect ---- */

static uint32_t exits_of(const struct hip_code *code)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < code->nplaces; i++)
		n += code->places[i].kind == HIP_PLACE_END;
	return n;
}

/* Of a kernel's code, and whether a twin can be made of it. */
static void describe_code(struct found *app, struct gpubpf_kernel_info *info)
{
	struct hip_registers used;
	struct gpubpf_diag why;
	int err;

	gpubpf_diag_init(&why);
	err = read_kernel(app, false, &why);
	if (!err) {
		used = used_by(app);
		info->regs = info->regs ? info->regs : hip_registers_of(app->isa, &app->descriptor).vector;
		info->nplaces = 1 + exits_of(&app->code);
		info->flags = (app->code.barrier || app->code.calls ? GPUBPF_KINFO_BARRIER : 0) |
			      (app->descriptor.group_size ? GPUBPF_KINFO_LOCAL : 0);
		err = check_name(info->name, &why);
		if (!err)
			err = check_reach(&app->code, &why);
		if (!err && used.vector + 2 > HIP_MAX_VECTOR &&
		    used.accum + 2 > (app->isa->accum ? HIP_MAX_VECTOR : 0)) {
			err = refuse_full(app, &why);
			info->flags |= GPUBPF_KINFO_ENTRY_ONLY;
		}
	}
	if (err < 0)
		snprintf(info->reason, sizeof(info->reason), "%.239s", why.what);
	hip_code_finish(&app->code);
}

/* Code is read in copies of the process, where LLVM's disassembler may die of what no compiler made. */
struct reading {
	struct found *app;
	uint32_t n;
	struct reading_shared {
		uint32_t next;             /* kernel to read, or that the copy died of */
		struct gpubpf_kernel_info info[];
	} *shared;
};

static int read_codes(void *arg)
{
	const struct reading *r = arg;

	for (; r->shared->next < r->n; r->shared->next++)
		if (hip_meta_kernel(&r->app->elf, r->shared->next, &r->app->meta))
			describe_code(r->app, &r->shared->info[r->shared->next]);
	return 0;
}

static int read_apart(const struct reading *r)
{
	int status, err = 0;

	while (!err && r->shared->next < r->n) {
		err = gpubpf_apart(read_codes, (void *)r, &status);
		if (!err && r->shared->next < r->n)
			strcpy(r->shared->info[r->shared->next++].reason, "LLVM's disassembler died of its code");
	}
	return err;
}

static int describe_codes(struct found *app, struct gpubpf_kernel_info *list, uint32_t n)
{
	size_t size = sizeof(struct reading_shared) + n * sizeof(*list);
	struct reading r = { app, n, mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) };
	int err;

	if (r.shared == MAP_FAILED)
		return -ENOMEM;
	memcpy(r.shared->info, list, n * sizeof(*list));
	err = read_apart(&r);
	memcpy(list, r.shared->info, n * sizeof(*list));
	munmap(r.shared, size);
	return err;
}

static void describe_heads(const struct found *app, struct gpubpf_kernel_info *list, uint32_t n)
{
	struct hip_meta meta;

	for (uint32_t i = 0; i < n && hip_meta_kernel(&app->elf, i, &meta); i++) {
		snprintf(list[i].name, sizeof(list[i].name), "%.*s", (int)meta.name_len, meta.name);
		list[i].regs = meta.vgprs;
	}
}

/* Kernels as they are listed, with their parameters and places: the entry, and each s_endpgm. */
static int gather(const struct found *app, const struct gpubpf_kernel_info *infos, uint32_t n, uint32_t nparams,
		  struct gpubpf_kernel_info **kernels)
{
	struct gpubpf_kernel_info *list;
	struct gpubpf_param *params;
	struct gpubpf_place *places;
	struct hip_meta meta;
	size_t nplaces = 0;

	for (uint32_t i = 0; i < n; i++)
		nplaces += infos[i].nplaces;
	list = calloc(1, n * sizeof(*list) + nplaces * sizeof(*places) + nparams * sizeof(*params) + 1);
	if (!list)
		return -ENOMEM;
	places = (struct gpubpf_place *)(list + n);
	params = (struct gpubpf_param *)(places + nplaces);
	for (uint32_t i = 0; i < n && hip_meta_kernel(&app->elf, i, &meta); i++) {
		list[i] = infos[i];
		list[i].params = params;
		list[i].nparams = hip_meta_params(&meta, params, NULL, nparams);
		params += list[i].nparams;
		nparams -= list[i].nparams;
		list[i].places = places;
		for (uint32_t k = 0; k < list[i].nplaces; k++)
			*places++ = k ? gpubpf_place_of(GPUBPF_SITE_EXIT, k - 1, 0) : gpubpf_place_of(GPUBPF_SITE_ENTRY, 0, 0);
	}
	*kernels = list;
	return 0;
}

static int describe_all(struct found *app, struct gpubpf_kernel_info **kernels, uint32_t *nkernels)
{
	struct gpubpf_kernel_info *infos;
	uint32_t n = 0, nparams = 0;
	int err;

	for (; hip_meta_kernel(&app->elf, n, &app->meta); n++)
		nparams += hip_meta_params(&app->meta, NULL, NULL, 0);
	infos = calloc(n + 1, sizeof(*infos));
	if (!infos)
		return -ENOMEM;
	describe_heads(app, infos, n);
	err = describe_codes(app, infos, n);
	if (!err)
		err = gather(app, infos, n, nparams, kernels);
	free(infos);
	*nkernels = n;
	return err;
}

int hip_inspect(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag)
{
	struct found app = { 0 };
	int err = open_object(image, caps, &app, diag);

	if (!err)
		err = describe_all(&app, kernels, nkernels);
	free(app.plain);
	return err;
}

int hip_validate(const struct gpubpf_twin_piece *piece, const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag)
{
	struct gpubpf_image image = { .data = piece->blob.data, .size = piece->blob.size, .kind = piece->kind };
	struct found made = { 0 };
	int err = open_object(&image, caps, &made, diag);

	for (uint32_t i = 0; !err && hip_meta_kernel(&made.elf, i, &made.meta); i++) {
		err = read_kernel(&made, true, diag);
		hip_code_finish(&made.code);
	}
	free(made.plain);
	return err;
}

/* ---- inject ---- */

/* the probes of the twin: an object with a kernel for each site */
struct probes {
	struct gpubpf_blob blob;
	struct hip_elf elf;
	uint32_t entry, exit;      /* sites of the job; UINT32_MAX: none */
	struct hip_code code;      /* of the entry probe */
	uint64_t entry_off;        /* of its first instruction in .text */
};

/* The sites at the places of the job's first kernel. Its exits are branches to one stub. */
static int choose_sites(struct found *app, const struct gpubpf_lower_job *job, struct probes *probes, struct gpubpf_diag *diag)
{
	struct gpubpf_inserting at = { .job = job, .kernel = job->sites[0].kernel };
	uint32_t id = 0;

	probes->entry = gpubpf_site_at(&at, GPUBPF_SITE_ENTRY, "", 0);
	probes->exit = UINT32_MAX;
	for (uint32_t i = 0; i < app->code.nplaces; i++) {
		struct hip_place *place = &app->code.places[i];
		uint32_t site;

		if (place->kind != HIP_PLACE_END)
			continue;
		site = gpubpf_site_at(&at, GPUBPF_SITE_EXIT, "", id++);
		place->probed = site != UINT32_MAX;
		if (place->probed && probes->exit != UINT32_MAX && probes->exit != site)
			return refuse(diag, "its exits are to have several probes, and share one");
		probes->exit = place->probed ? site : probes->exit;
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
		return refuse(diag, "LLVM made no code of the probe");
	strcat(name, ".kd");
	if (!hip_elf_find(&symbols, name, &kd) || !hip_elf_section(&probes->elf, kd.st_shndx, &head, &bytes) ||
	    !bytes || kd.st_value > head.sh_size || head.sh_size - kd.st_value < sizeof(*d))
		return refuse(diag, "LLVM made no descriptor of the probe");
	memcpy(d, bytes + kd.st_value, sizeof(*d));
	if (!hip_elf_section(&probes->elf, fn.st_shndx, &head, &bytes) || !bytes || fn.st_value > head.sh_size)
		return refuse(diag, "LLVM made no code of the probe");
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
static uint32_t arguments_end(const struct found *app)
{
	return (max(app->descriptor.kernarg_size, app->meta.kernarg_size) + 7) & ~7u;
}

/* Add what a probe needs to the twin. */
static int join(struct hip_twin_plan *plan, const struct hip_descriptor *probe, struct hip_registers *all,
		struct gpubpf_diag *diag)
{
	struct hip_registers r = hip_registers_of(plan->isa, probe);

	if (probe->group_size)
		return refuse(diag, "the probe's code needs memory of the group, which belongs to the kernel");
	if (probe->private_size && plan->isa->family == HIP_GFX90A)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "the probe needs %u bytes of memory for each "
				       "thread, and on gfx90a it must do with registers",
				       probe->private_size);
	all->vector = max(all->vector, r.vector);
	all->accum = max(all->accum, r.accum);
	all->scalar = max(all->scalar, r.scalar);
	hip_descriptor_join(&plan->twin, probe);
	return 0;
}

/*
 * Where the state at entry is kept: above all that kernel and probes use. Where the kernel has every register it
 * lies above the probes' alone, and while the kernel runs in accumulation registers, if an exit probe wants it.
 */
static int place_state(const struct found *app, struct hip_twin_plan *plan, const struct hip_registers *probes,
		       struct gpubpf_diag *diag)
{
	struct hip_registers all = used_by(app);
	bool full = max(all.vector, probes->vector) + 2 > HIP_MAX_VECTOR;

	plan->state = full ? probes->vector : max(all.vector, probes->vector);
	plan->items = plan->state + 1;
	all.vector = max(all.vector, plan->items + 1);
	all.accum = max(all.accum, probes->accum);
	all.scalar = max(max(all.scalar, probes->scalar), max(HIP_STUB_SGPRS, hip_start_of(app->isa, &plan->twin).end));
	plan->aside = UINT32_MAX;
	if (full && plan->exit_site != UINT32_MAX) {
		plan->aside = all.accum;
		all.accum += 2;
	}
	if (all.accum > (app->isa->accum ? HIP_MAX_VECTOR : 0) || !hip_registers_set(app->isa, &plan->twin, &all))
		return refuse_full(app, diag);
	return 0;
}

static int make_plan(const struct found *app, const struct probes *probes, struct hip_twin_plan *plan,
		     struct gpubpf_diag *diag)
{
	struct hip_registers need = { 0 };
	const uint8_t *code;
	uint64_t off;
	size_t size;
	int err = 0;

	*plan = (struct hip_twin_plan){
		.isa = app->isa, .wave32 = app->wave32, .bytes = app->bytes, .address = app->address, .code = &app->code,
		.kernel = app->descriptor, .twin = app->descriptor, .entry_site = probes->entry, .exit_site = probes->exit,
	};
	plan->twin.preload = 0;
	if (app->words)
		plan->twin.kernarg_size = arguments_end(app) + 8 * __builtin_popcount(app->words);
	if (probes->entry != UINT32_MAX)
		err = read_probe(probes, probes->entry, &plan->entry, &off, &code, &size, diag);
	if (!err && probes->entry != UINT32_MAX)
		err = join(plan, &plan->entry, &need, diag);
	if (!err && probes->exit != UINT32_MAX)
		err = read_probe(probes, probes->exit, &plan->exit, &off, &code, &size, diag);
	if (!err && probes->exit != UINT32_MAX)
		err = join(plan, &plan->exit, &need, diag);
	return err ? err : place_state(app, plan, &need, diag);
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
		return refuse(diag, "LLVM's assembler lost a label");
	snprintf(b->probe[which], sizeof(b->probe[which]), "gpubpf_inline_%u", site);
	b->list[b->n++] = (struct hip_branch){ 1, at.st_value, b->probe[which] };
	return 0;
}

/* The entry probe's ends come back into the twin. */
static void find_ends(struct branches *b, const struct probes *probes, uint64_t off)
{
	for (uint32_t i = 0; i < probes->code.nplaces; i++) {
		const struct hip_place *place = &probes->code.places[i];

		if (place->kind != HIP_PLACE_PC)
			b->list[b->n++] = (struct hip_branch){ 0, off + place->off,
							       place->kind == HIP_PLACE_END ? HIP_STUB_ENTERED : NULL };
	}
}

static int find_branches(const struct found *app, struct probes *probes, const struct hip_elf *stubs,
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
	b->list = calloc(probes->code.nplaces + 2, sizeof(*b->list));
	if (!b->list)
		return -ENOMEM;
	find_ends(b, probes, off);
	err = find_stub(b, stubs, HIP_STUB_TO_ENTRY, probes->entry, 0, diag);
	return err ? err : find_stub(b, stubs, HIP_STUB_TO_EXIT, probes->exit, 1, diag);
}

/* The places of the twin that the agent writes: the arena's word, if a probe reads it, and two of each pc. */
static int find_binds(const struct hip_twin_plan *plan, struct hip_link *job, struct hip_bind **binds)
{
	struct hip_symbols symbols = hip_elf_symbols(&job->object[0], SHT_SYMTAB);
	const struct hip_code *code = plan->code;
	Elf64_Sym arena;

	*binds = calloc(2 * code->nplaces + 2, sizeof(**binds));
	job->spots = calloc(2 * code->nplaces + 1, sizeof(*job->spots));
	if (!*binds || !job->spots)
		return -ENOMEM;
	if (hip_elf_find(&symbols, "gpubpf_arena", &arena)) {
		strcpy(job->spots[job->nspots].symbol, "gpubpf_arena");
		(*binds)[job->nspots++] = (struct hip_bind){ .what = HIP_BIND_ARENA, .part = HIP_BIND_U64 };
	}
	for (uint32_t i = 0; i < 2 * code->nplaces; i++) {
		const struct hip_place *place = &code->places[i / 2];
		struct hip_spot *spot = &job->spots[job->nspots];

		if (place->kind != HIP_PLACE_PC)
			continue;
		snprintf(spot->symbol, sizeof(spot->symbol), "gpubpf_pc_%u", i / 2);
		spot->plus = i % 2 ? HIP_STUB_PC_HI : HIP_STUB_PC_LO;
		(*binds)[job->nspots++] = (struct hip_bind){ .what = HIP_BIND_IMAGE,
			.part = i % 2 ? HIP_BIND_HI32 : HIP_BIND_LO32, .addend = hip_stub_pc(plan, place) };
	}
	return 0;
}

/* Put the table behind the file; the last entry, the arguments, is no place. */
static int publish(const struct found *app, const struct hip_twin_plan *plan, const struct hip_link *job,
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
		snprintf(binds[job->nspots].kernel, sizeof(binds->kernel), "%s", plan->name);
	}
	memcpy(grown + out->size, binds, size);
	memcpy(grown + out->size + size, &count, sizeof(count));
	memcpy(grown + out->size + size + sizeof(count), HIP_BIND_MAGIC, sizeof(HIP_BIND_MAGIC) - 1);
	*out = (struct gpubpf_blob){ grown, out->size + size + HIP_BIND_TAIL };
	return 0;
}

static int link_twin(const struct found *app, struct probes *probes, const struct hip_twin_plan *plan,
		     const struct gpubpf_blob *object, struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	struct hip_registers r = hip_registers_of(app->isa, &plan->twin);
	struct hip_meta_twin say = { plan->name, r.vector + r.accum, r.accum, max(app->meta.sgprs, r.scalar),
				     plan->twin.private_size, __builtin_popcount(app->words), arguments_end(app) };
	struct hip_link job = { .nobjects = 2, .flags = app->elf.head.e_flags,
				.abi = app->elf.head.e_ident[EI_ABIVERSION] };
	struct branches branches = { 0 };
	struct gpubpf_blob metadata;
	struct hip_bind *binds = NULL;
	int err = hip_meta_write(&app->elf, &app->meta, &say, &metadata);

	if (err < 0)
		return err == -ENOMEM ? err : refuse(diag, "the metadata makes no sense");
	job.object[0] = probes->elf;
	job.metadata = metadata.data;
	job.metadata_size = metadata.size;
	err = hip_elf_open(object->data, object->size, &job.object[1], diag);
	if (!err)
		err = find_branches(app, probes, &job.object[1], &branches, diag);
	job.branches = branches.list;
	job.nbranches = branches.n;
	if (!err)
		err = find_binds(plan, &job, &binds);
	if (!err)
		err = hip_link(&job, out, diag);
	if (!err)
		err = publish(app, plan, &job, binds, out);
	free(binds);
	free(job.spots);
	hip_code_finish(&probes->code);
	free(branches.list);
	free(metadata.data);
	return err;
}

static int build(const struct found *app, struct probes *probes, const char *name, struct gpubpf_blob *out,
		 struct gpubpf_diag *diag)
{
	struct gpubpf_blob text = { 0 }, object = { 0 };
	struct hip_twin_plan plan;
	int err = check_reach(&app->code, diag);

	if (!err)
		err = make_plan(app, probes, &plan, diag);
	plan.name = name;
	if (!err)
		err = hip_stub_write(&plan, &text);
	if (!err)
		err = hip_assemble(app->isa, app->wave32, text.data, text.size, &object, diag);
	if (!err)
		err = link_twin(app, probes, &plan, &object, out, diag);
	free(object.data);
	free(text.data);
	return err;
}

static int make(struct found *app, const struct gpubpf_lower_job *job, struct probes *probes, struct gpubpf_blob *out,
		struct gpubpf_diag *diag)
{
	const struct gpubpf_site_desc *site = &job->sites[0];
	uint32_t offsets[MAX_PARAMS], version = app->elf.head.e_ident[EI_ABIVERSION] + 2u;
	char name[300];
	int err;

	snprintf(name, sizeof(name), HIP_TWIN_PREFIX "%s", site->kernel);
	if (hip_meta_params(&app->meta, NULL, offsets, MAX_PARAMS) < site->nparams || site->nparams > MAX_PARAMS)
		return refuse(diag, "the kernel has fewer parameters in this image than the session knows");
	err = check_name(site->kernel, diag);
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

static int inject(struct found *app, const struct gpubpf_lower_job *job, struct gpubpf_twin_image *out,
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
		err = read_kernel(app, false, diag);
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
	struct found app = { 0 };
	int err;

	if (!job->nsites)
		return refuse(diag, "no kernel is named");
	err = open_object(image, job->caps, &app, diag);
	if (!err)
		err = inject(&app, job, out, diag);
	free(app.plain);
	return err;
}
