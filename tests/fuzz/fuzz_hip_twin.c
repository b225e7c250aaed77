/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: backends/hip/amdgpu/access.c backends/hip/amdgpu/around.c backends/hip/amdgpu/assemble.c backends/hip/amdgpu/bundle.c
// SOURCES: backends/hip/amdgpu/calls.c backends/hip/amdgpu/code.c backends/hip/amdgpu/compressed.c backends/hip/amdgpu/descriptor.c backends/hip/amdgpu/elf.c
// SOURCES: backends/hip/amdgpu/found_kernel.c backends/hip/amdgpu/inject.c backends/hip/amdgpu/inspect.c
// SOURCES: backends/hip/amdgpu/isa.c backends/hip/amdgpu/linker.c backends/hip/amdgpu/live.c backends/hip/amdgpu/meta.c
// SOURCES: backends/hip/amdgpu/moves.c backends/hip/amdgpu/msgpack.c backends/hip/amdgpu/named.c backends/hip/amdgpu/operands.c
// SOURCES: backends/hip/amdgpu/stub.c
// SOURCES: core/diag.c core/places.c core/nearest.c core/target.c core/wire/name.c core/wire/match.c core/wire/wire.c core/worker/functions.c core/worker/lines.c
// LIBS: -lLLVM-22 -ldw -lelf -lzstd -Wl,--wrap=hip_stub_write -Wl,--wrap=hip_link
// KERNELS: --target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -mcode-object-version=4 -include tests/hip/kernels/prelude.h
// KERNELS: --target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -mcode-object-version=5 -include tests/hip/kernels/prelude.h
// KERNELS: --target=amdgcn-amd-amdhsa -mcpu=gfx1100 -nogpulib -mcode-object-version=5 -include tests/hip/kernels/prelude.h
// KERNELS: --target=amdgcn-amd-amdhsa -mcpu=gfx1201 -nogpulib -mcode-object-version=5 -include tests/hip/kernels/prelude.h
/*
 * Twins of code objects whose instructions and descriptors are any bytes, with probes wherever some can stand, which are a few
 * instructions here: a twin, or refused with a reason. Of a twin LLVM's disassembler reads what control reaches; the kernel's
 * instructions are where they were, byte by byte, but for those with probes, each of which is a branch to what stands for it;
 * and a place's stub has the instruction once, and ends by the branch back behind it.
 */
#include "backends/hip/amdgpu/assemble.h"
#include "backends/hip/amdgpu/emit.h"
#include "backends/hip/amdgpu/linker.h"
#include "backends/hip/amdgpu/stub.h"
#include "hip_code.h"

#define CODE_END 0xbf9f0000 /* "s_code_end" */
#define NOP 0xbf800000 /* "s_nop 0" */
#define REQUIRE(truth) ((truth) ? (void)0 : (fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #truth), abort()))

int __real_hip_stub_write(const struct hip_draft *draft, struct gpubpf_blob *text);
int __wrap_hip_stub_write(const struct hip_draft *draft, struct gpubpf_blob *text);
int __real_hip_link(const struct hip_link *job, struct gpubpf_blob *out, struct gpubpf_diag *diag);
int __wrap_hip_link(const struct hip_link *job, struct gpubpf_blob *out, struct gpubpf_diag *diag);

static const struct hip_draft *drafted; /* of which the stubs were written last */

int __wrap_hip_stub_write(const struct hip_draft *draft, struct gpubpf_blob *text)
{
	drafted = draft;
	return __real_hip_stub_write(draft, text);
}

/* the stubs' code as LLVM assembled it */
struct stubs {
	struct hip_symbols symbols;
	const uint8_t *text;
	uint64_t size, kernel;     /* kernel: where its instructions begin */
};

static bool find(const struct stubs *s, uint64_t *at, const char *name, uint32_t i)
{
	char whole[64];
	Elf64_Sym symbol;

	snprintf(whole, sizeof(whole), name, i);
	if (!hip_elf_find(&s->symbols, whole, &symbol))
		return false;
	REQUIRE(symbol.st_value <= s->size);
	*at = symbol.st_value;
	return true;
}

static uint32_t word(const struct stubs *s, uint64_t at)
{
	uint32_t w;

	REQUIRE(at + 4 <= s->size);
	memcpy(&w, s->text + at, sizeof(w));
	return w;
}

/* "s_branch", where it goes (ISA guides, "SOPP") */
static uint64_t branch(const struct stubs *s, uint64_t at)
{
	uint32_t w = word(s, at);

	REQUIRE(w >> 16 == (drafted->isa->family == HIP_GFX11 || drafted->isa->family == HIP_GFX12 ? 0xbfa0 : 0xbf82));
	return at + 4 + 4 * (int64_t)(int16_t)w;
}

static bool has_body(uint32_t i)
{
	for (uint32_t access = 0; drafted->stands && access < HIP_MOST_ACCESSES; access++)
		for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++)
			if (drafted->stands[i][access][kind].body)
				return true;
	return false;
}

/* Where the stub of a place ends: the next one's label, or what LLVM puts behind all code. */
static uint64_t end_of(const struct stubs *s, uint64_t from)
{
	uint64_t end = s->size;
	const char *name;
	Elf64_Sym symbol;

	for (uint32_t i = 0; hip_elf_symbol(&s->symbols, i, &symbol, &name); i++)
		if (symbol.st_value > from && symbol.st_value < end &&
		    (!strncmp(name, "gpubpf_place_", 13) || !strncmp(name, "gpubpf_call_", 12) || !strcmp(name, "gpubpf_kernel")))
			end = symbol.st_value;
	while (end > from + 4 && (word(s, end - 4) == CODE_END || word(s, end - 4) == NOP))
		end -= 4;
	return end;
}

/* Instructions that are not carried out as they stand. */
static bool is_written_anew(const struct hip_patch *patch)
{
	switch (patch->kind) {
	case HIP_PATCH_ACCESS:
	case HIP_PATCH_BARRIER:
	case HIP_PATCH_PART:
	case HIP_PATCH_OTHER:
		return false;
	default:
		return true;
	}
}

static void check_place(const struct stubs *s, uint64_t from, const struct hip_patch *patch)
{
	uint64_t end = end_of(s, from);
	uint32_t n = 0;

	REQUIRE(branch(s, end - 4) == s->kernel + patch->off + 4);
	for (uint64_t at = from; at + patch->size <= end - 4; at += 4)
		n += !memcmp(s->text + at, drafted->bytes + patch->off, patch->size);
	REQUIRE(is_written_anew(patch) || n >= 1);
}

/* What stands in the twin for a patch; false: the kernel's own instruction. */
static bool check_patch(const struct stubs *s, uint32_t i)
{
	const struct hip_patch *patch = &drafted->code->patches[i];
	uint64_t at = s->kernel + patch->off, to;

	if (has_body(i)) {
		REQUIRE(find(s, &to, "gpubpf_place_%u", i) && branch(s, at) == to);
		check_place(s, to, patch);
	} else if (patch->kind == HIP_PATCH_PC) {
		REQUIRE(find(s, &to, "gpubpf_pc_%u", i) && branch(s, at) == to);
	} else if (patch->kind == HIP_PATCH_END && (patch->probed || patch->counted)) {
		REQUIRE(find(s, &to, patch->probed ? "gpubpf_leaving" : "gpubpf_ending", i) && branch(s, at) == to);
	} else {
		return (drafted->stands && patch->callee != UINT64_MAX) || (patch->kind == HIP_PATCH_FREE && (hip_has(drafted, HIP_AT_EXIT) || hip_has(drafted, HIP_AT_END))) ||
		       (patch->kind == HIP_PATCH_CLAUSE && drafted->stands); /* calls of functions in the twin; what is left out */
	}
	return true;
}

static void check_kernel(const struct stubs *s)
{
	const struct hip_code *code = drafted->code;
	uint32_t next = 0;

	for (uint32_t off = 0; off < code->size; off += 4) {
		if (next < code->npatches && code->patches[next].off == off) {
			if (check_patch(s, next))
				off += code->patches[next].size - 4;
			else
				REQUIRE(!memcmp(s->text + s->kernel + off, drafted->bytes + off, 4));
			next++;
		} else {
			REQUIRE(!memcmp(s->text + s->kernel + off, drafted->bytes + off, 4));
		}
	}
	REQUIRE(next == code->npatches);
}

int __wrap_hip_link(const struct hip_link *job, struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	struct stubs s = { .symbols = hip_elf_symbols(&job->object[1], SHT_SYMTAB) };
	Elf64_Shdr head;
	Elf64_Sym kernel;

	REQUIRE(hip_elf_find(&s.symbols, "gpubpf_kernel", &kernel));
	REQUIRE(hip_elf_section(&job->object[1], kernel.st_shndx, &head, &s.text) && s.text);
	s.size = head.sh_size;
	s.kernel = kernel.st_value;
	REQUIRE(s.kernel + drafted->code->size <= s.size);
	check_kernel(&s);
	return __real_hip_link(job, out, diag);
}

/* Probes of a few instructions, which read all that places give: what LLVM would make of programs. */
static void write_probe(FILE *f, uint32_t site, uint32_t given)
{
	static const char load[] = "\ts_getpc_b64 s[4:5]\n\ts_add_u32 s4, s4, gpubpf_arena@rel32@lo+4\n"
				   "\ts_addc_u32 s5, s5, gpubpf_arena@rel32@hi+12\n";
	const struct hip_descriptor d = { .rsrc1 = 1, .rsrc2 = 2 << HIP_USER_SGPRS_SHIFT, .properties = 1 << HIP_KERNARG };
	uint32_t words[16];

	fprintf(f, "\t.text\n\t.p2align 8\n\t.globl gpubpf_inline_%u\n\t.type gpubpf_inline_%u,@function\ngpubpf_inline_%u:\n%s", site,
		site, site, load);
	for (uint32_t i = 0; i < given; i++)
		fprintf(f, "\tv_mov_b32_e32 v%u, v%u\n", 1 + i % 3, HIP_GIVEN + i);
	for (uint32_t i = 0; i < HIP_NSAME; i++)
		fprintf(f, "\tv_readlane_b32 s%u, v%u, %u\n", 6 + i % 4, HIP_SAME_REGISTER, i);
	fprintf(f, "\ts_endpgm\n\t.size gpubpf_inline_%u, .-gpubpf_inline_%u\n\t.section .rodata,\"a\",@progbits\n\t.p2align 6\n"
		"\t.globl gpubpf_inline_%u.kd\n\t.type gpubpf_inline_%u.kd,@object\n\t.size gpubpf_inline_%u.kd, 64\n"
		"gpubpf_inline_%u.kd:\n", site, site, site, site, site, site);
	memcpy(words, &d, sizeof(words));
	for (uint32_t i = 0; i < 16; i++)
		fprintf(f, "\t.long %#x\n", words[i]);
}

int hip_emit_sites(const struct gpubpf_lower_job *job, const struct hip_isa *isa, bool wave32, unsigned version,
		   const uint32_t *offsets, uint32_t end, const struct gpubpf_function *const *functions, struct gpubpf_blob *out,
		   struct gpubpf_diag *diag)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int err;

	(void)version, (void)offsets, (void)end, (void)functions;
	for (uint32_t site = 0; site < job->nsites; site++)
		write_probe(f, site, job->sites[site].function[0] ? HIP_NOT_KNOWN : HIP_NGIVEN);
	fputs("\t.section .rodata,\"a\",@progbits\n\t.p2align 3\n\t.globl gpubpf_arena\n\t.hidden gpubpf_arena\n"
	      "\t.type gpubpf_arena,@object\n\t.size gpubpf_arena, 8\ngpubpf_arena:\n\t.quad 0\n", f);
	fclose(f);
	err = hip_assemble(isa, wave32, text, size, out, diag);
	REQUIRE(!err);
	free(text);
	return 0;
}

uint32_t hip_wanted_args(const struct gpubpf_lower_job *job)
{
	return job->nsites & 3;
}

#define MOST_SITES 256
#define MOST_KERNELS 64        /* and functions, of an image */

/* The functions that a kernel calls, and those that these call: marks. */
static void find_called(const struct hip_looked *l, const struct gpubpf_kernel_info *from, bool *called)
{
	for (uint32_t i = 0; i < from->ncallees; i++) {
		REQUIRE(from->callees[i] < l->n && l->kernels[from->callees[i]].flags & GPUBPF_KINFO_FUNCTION);
		if (from->callees[i] < MOST_KERNELS && !called[from->callees[i]]) {
			called[from->callees[i]] = true;
			find_called(l, &l->kernels[from->callees[i]], called);
		}
	}
}

static struct gpubpf_site_desc site_of(enum gpubpf_site kind, const struct gpubpf_kernel_info *kernel,
				       const struct gpubpf_kernel_info *of)
{
	struct gpubpf_site_desc site = { .site = kind, .kernel_id = 1, .params = of->params, .nparams = of->nparams };

	memcpy(site.kernel, kernel->name, sizeof(site.kernel));
	if (of != kernel)
		memcpy(site.function, of->name, sizeof(site.function));
	return site;
}

/* Sites of a kind in a kernel and what it calls; returns how many. */
static uint32_t add_sites(const struct hip_looked *l, const struct gpubpf_kernel_info *kernel, const bool *called,
			  enum gpubpf_site kind, struct gpubpf_insertions *at, struct gpubpf_site_desc *sites, uint32_t n)
{
	bool functions = gpubpf_place_kind(kind)->where == GPUBPF_WHERE_FUNCTION;
	uint32_t before = at->n;

	sites[n] = site_of(kind, kernel, kernel);
	REQUIRE(functions || !gpubpf_insert(at, n, kind, kernel));
	for (uint32_t i = 0; i < l->n && i < MOST_KERNELS && n + 1 < MOST_SITES; i++) {
		uint32_t had = at->n;

		if (!called[i])
			continue;
		if (functions)
			sites[n] = site_of(kind, kernel, &l->kernels[i]);
		REQUIRE(!gpubpf_insert(at, n, kind, &l->kernels[i]));
		n += functions && at->n > had;
	}
	return n + (!functions && at->n > before);
}

static void inject(const struct hip_looked *l, const struct gpubpf_kernel_info *kernel, uint32_t kinds)
{
	static struct gpubpf_site_desc sites[MOST_SITES];
	const struct gpubpf_image *image = &l->image;
	const struct gpubpf_device_caps *caps = &l->caps;
	struct gpubpf_lower_job job = { .sites = sites, .caps = caps };
	struct gpubpf_target_opts opts = { .opt_level = 2 };
	struct gpubpf_insertions at = { 0 };
	struct gpubpf_twin_image twin = { 0 };
	bool called[MOST_KERNELS] = { false };
	struct gpubpf_diag diag;
	int err;

	gpubpf_diag_init(&diag);
	find_called(l, kernel, called);
	for (uint32_t kind = 1; kind < GPUBPF_NSITES; kind++)
		if (kinds >> kind & 1)
			job.nsites = add_sites(l, kernel, called, kind, &at, sites, job.nsites);
	job.insertions = at.list;
	job.ninsertions = at.n;
	err = at.n ? hip_inject(image, &job, &opts, &twin, &diag) : -ENOENT;
	REQUIRE(err != -EINVAL || diag.what[0]);
	if (!err) {
		REQUIRE(twin.npieces == 1);
		err = hip_validate(&twin.piece[0], caps, &diag);
		if (err)
			fprintf(stderr, "the twin of %s: %s\n", kernel->name, diag.what);
		REQUIRE(!err);
		free(twin.piece[0].blob.data);
		free(twin.refused);
		free(twin.twins);
	}
	free(at.list);
}

/* Places of all kinds, those of a kernel's ends, one kind of single instructions with and without them: by the bytes. */
static uint32_t choose(const uint8_t *data, size_t size, uint32_t turn)
{
	const uint32_t ends = GPUBPF_TAKES(ENTRY) | GPUBPF_TAKES(EXIT) | GPUBPF_TAKES(BLOCK_BEGIN) | GPUBPF_TAKES(BLOCK_END);
	uint32_t sum = turn * 7;

	for (size_t i = 0; i < size; i++)
		sum = sum * 31 + data[i];
	sum ^= sum >> 15;
	if (sum % 4 == 0)
		return ~0u;
	if (sum % 4 == 1)
		return ends & sum >> 2;
	return (sum >> 2) | (sum % 4 == 2 ? ends : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hip_looked l;

	if (!hip_look(&l, data, size))
		return -1;
	for (uint32_t i = 0; !l.err && i < l.n && i < 4; i++)
		if (!l.kernels[i].reason[0] && !(l.kernels[i].flags & GPUBPF_KINFO_FUNCTION))
			inject(&l, &l.kernels[i], choose(data, size, i));
	hip_looked_finish(&l);
	return 0;
}
