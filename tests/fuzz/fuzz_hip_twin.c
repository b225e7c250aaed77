/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: backends/hip/amdgpu/analysis/calls.c backends/hip/amdgpu/analysis/code.c backends/hip/amdgpu/analysis/found_kernel.c
// SOURCES: backends/hip/amdgpu/analysis/live.c backends/hip/amdgpu/analysis/named.c backends/hip/amdgpu/analysis/patch.c
// SOURCES: backends/hip/amdgpu/inject.c backends/hip/amdgpu/inspect.c backends/hip/amdgpu/isa/access.c
// SOURCES: backends/hip/amdgpu/isa/disassembler.c backends/hip/amdgpu/isa/far_jump.c backends/hip/amdgpu/isa/flow.c
// SOURCES: backends/hip/amdgpu/isa/isa.c backends/hip/amdgpu/isa/mode.c backends/hip/amdgpu/isa/moves.c
// SOURCES: backends/hip/amdgpu/object/assemble.c backends/hip/amdgpu/object/bundle.c backends/hip/amdgpu/object/compressed.c
// SOURCES: backends/hip/amdgpu/object/descriptor.c backends/hip/amdgpu/object/elf.c backends/hip/amdgpu/object/linker.c
// SOURCES: backends/hip/amdgpu/object/meta.c backends/hip/amdgpu/object/msgpack.c
// SOURCES: backends/hip/amdgpu/rewrite/allocate_registers.c backends/hip/amdgpu/rewrite/inlined_probes.c
// SOURCES: backends/hip/amdgpu/rewrite/insn_operands.c backends/hip/amdgpu/rewrite/insn_probe.c
// SOURCES: backends/hip/amdgpu/rewrite/islands.c backends/hip/amdgpu/rewrite/link_twin.c backends/hip/amdgpu/rewrite/listing.c
// SOURCES: backends/hip/amdgpu/rewrite/listing_object.c backends/hip/amdgpu/rewrite/operands.c
// SOURCES: backends/hip/amdgpu/rewrite/saved_state.c backends/hip/amdgpu/rewrite/select_sites.c
// SOURCES: backends/hip/amdgpu/rewrite/stub.c
// SOURCES: core/model/diag.c core/model/places.c core/model/text/nearest.c core/target.c backends/registry.c core/wire/name.c core/wire/match.c core/wire/glob.c core/wire/wire.c core/worker/functions.c core/worker/lines.c
// LIBS: -lLLVM-22 -ldw -lelf -lzstd -Wl,--wrap=hip_stub_write -Wl,--wrap=hip_listing_write
// KERNELS: --target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -mcode-object-version=4 -include tests/backends/hip/kernels/prelude.h
// KERNELS: --target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -mcode-object-version=5 -include tests/backends/hip/kernels/prelude.h
// KERNELS: --target=amdgcn-amd-amdhsa -mcpu=gfx1100 -nogpulib -mcode-object-version=5 -include tests/backends/hip/kernels/prelude.h
// KERNELS: --target=amdgcn-amd-amdhsa -mcpu=gfx1201 -nogpulib -mcode-object-version=5 -include tests/backends/hip/kernels/prelude.h
/*
 * Makes twins of AMD code objects with arbitrary bytes as instructions and descriptors, with a short probe at each
 * possible place. The result must be a twin, or a reason for the refusal. LLVM's disassembler reads the reachable code
 * of a twin.
 *
 * The twin must have the kernel's instructions in their order, byte by byte. An instruction with a probe must be
 * replaced by a branch to its stub. The stub must execute the displaced instruction once, and end with a branch to the
 * next instruction. Each branch must reach its label, through islands if its range is too short.
 */
#include "backends/hip/amdgpu/object/assemble.h"
#include "backends/hip/amdgpu/emit.h"
#include "backends/hip/amdgpu/rewrite/listing.h"
#include "backends/hip/amdgpu/rewrite/stub_text.h"
#include "hip_code.h"

#define REQUIRE(truth) ((truth) ? (void)0 : (fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #truth), abort()))

int __real_hip_stub_write(const struct hip_draft *draft, struct gpubpf_blob *text);
int __wrap_hip_stub_write(const struct hip_draft *draft, struct gpubpf_blob *text);
int __real_hip_listing_write(const struct hip_listing *l, struct gpubpf_blob *object);
int __wrap_hip_listing_write(const struct hip_listing *l, struct gpubpf_blob *object);

static const struct hip_draft *drafted; /* the kernel whose stubs were written last */
static uint32_t reach;

int __wrap_hip_stub_write(const struct hip_draft *draft, struct gpubpf_blob *text)
{
	drafted = draft;
	((struct hip_draft *)draft)->reach = reach;
	return __real_hip_stub_write(draft, text);
}

static bool find(const struct hip_listing *l, uint32_t *at, const char *name, uint32_t i)
{
	char whole[64];

	snprintf(whole, sizeof(whole), name, i);
	*at = hip_listing_find(l, whole);
	REQUIRE(*at == HIP_NONE || *at <= l->size);
	return *at != HIP_NONE;
}

static uint32_t word(const struct hip_listing *l, uint32_t at)
{
	uint32_t w;

	REQUIRE(at + 4 <= l->size);
	memcpy(&w, l->bytes + at, sizeof(w));
	return w;
}

static bool is_island(const struct hip_listing *l, uint32_t at)
{
	for (uint32_t i = 0; i < l->npools; i++)
		if (at >= l->pools[i].at && at < l->pools[i].at + 4 * l->pools[i].n)
			return true;
	return false;
}

/*
 * Returns the target of a branch, through islands. Each branch must stay in reach, and the islands must not form a
 * loop.
 */
static uint32_t branch_target(const struct hip_listing *l, uint32_t at)
{
	for (uint32_t hops = 0;; hops++) {
		uint32_t to = at + 4 + 4 * (int32_t)(int16_t)word(l, at);

		REQUIRE(hops <= l->npools && (to > at ? to - at : at - to) <= reach);
		if (!is_island(l, to))
			return to;
		REQUIRE(word(l, to) >> 16 == drafted->isa->branch >> 16);
		at = to;
	}
}

/* Require an s_branch at this offset. Returns its target. */
static uint32_t branch(const struct hip_listing *l, uint32_t at)
{
	REQUIRE(word(l, at) >> 16 == drafted->isa->branch >> 16);
	return branch_target(l, at);
}

static bool has_body(uint32_t i)
{
	for (uint32_t access = 0; drafted->site_body && access < HIP_MAX_ACCESSES; access++)
		for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++)
			if (drafted->site_body[i][access][kind].body)
				return true;
	return false;
}

/* Returns the end of a place's stub: the label of the next stub, or the next pool of islands. */
static uint32_t end_of(const struct hip_listing *l, uint32_t from)
{
	uint32_t end = l->size;

	for (uint32_t i = 0; i < l->labels.n; i++) {
		const struct hip_string *label = &l->labels.list[i];

		if (label->at > from && label->at < end && label->length > 13 && !strncmp(label->s, "gpubpf_place_", 13))
			end = label->at;
	}
	for (uint32_t i = 0; i < l->npools; i++)
		if (l->pools[i].at > from && l->pools[i].at < end)
			end = l->pools[i].at;
	return end;
}

/* Returns true if the twin executes other code instead of the instruction. */
static bool is_replaced(const struct hip_patch *patch)
{
	switch (patch->kind) {
	case HIP_PATCH_ACCESS:
	case HIP_PATCH_BARRIER:
	case HIP_PATCH_NARROW_EXEC:
	case HIP_PATCH_OTHER:
		return false;
	default:
		return true;
	}
}

/* Check the stub at from. at is the offset of the displaced instruction in the twin. */
static void check_place(const struct hip_listing *l, uint32_t from, const struct hip_patch *patch, uint32_t at)
{
	uint32_t end = end_of(l, from), n = 0;

	REQUIRE(branch(l, end - 4) == at + 4);
	for (uint32_t i = from; i + patch->size <= end - 4; i += 4)
		n += !memcmp(l->bytes + i, drafted->bytes + patch->off, patch->size);
	REQUIRE(is_replaced(patch) || n >= 1);
}

/* Check the twin's code for a patch. Returns false if the twin must have the kernel's own instruction there. */
static bool check_patch(const struct hip_listing *l, uint32_t i, uint32_t at)
{
	const struct hip_patch *patch = &drafted->code->patches[i];
	uint32_t to;

	if (has_body(i)) {
		REQUIRE(find(l, &to, "gpubpf_place_%u", i) && branch(l, at) == to);
		check_place(l, to, patch, at);
	} else if (patch->kind == HIP_PATCH_PC) {
		REQUIRE(find(l, &to, "gpubpf_pc_%u", i) && branch(l, at) == to);
	} else if (patch->kind == HIP_PATCH_END && (patch->probed || patch->counted)) {
		REQUIRE(find(l, &to, patch->probed ? "gpubpf_leaving" : "gpubpf_ending", i) && branch(l, at) == to);
	} else if (patch->kind == HIP_PATCH_FAR_JUMP) {
		REQUIRE(find(l, &to, HIP_STUB_WORD, patch->target) && branch(l, at) == to);
	} else {
		return (drafted->site_body && patch->callee != UINT64_MAX) || (patch->kind == HIP_PATCH_DEALLOC && (hip_has(drafted, HIP_AT_EXIT) || hip_has(drafted, HIP_AT_END))) ||
		       /* the twin replaces calls of its functions, and leaves out some instructions */
		       (patch->kind == HIP_PATCH_CLAUSE && drafted->site_body);
	}
	return true;
}

/*
 * Returns the twin's offset of the kernel's instruction at off: it follows the previous one, or a branch leads there.
 */
static uint32_t next_at(const struct hip_listing *l, uint32_t off, uint32_t at)
{
	uint32_t label;

	if (!find(l, &label, HIP_STUB_WORD, off) || label == at)
		return at;
	REQUIRE(branch(l, at) == label);
	return label;
}

/* Check that the twin has this word of the kernel. A branch must lead to the same instruction as in the kernel. */
static void check_word(const struct hip_listing *l, uint32_t off, uint32_t at)
{
	uint32_t theirs, to;

	memcpy(&theirs, drafted->bytes + off, sizeof(theirs));
	if (!(drafted->code->words[off / 4] & HIP_WORD_JUMPS)) {
		REQUIRE(word(l, at) == theirs);
		return;
	}
	REQUIRE(word(l, at) >> 16 == theirs >> 16);
	REQUIRE(find(l, &to, HIP_STUB_WORD, off + 4 + 4 * (int32_t)(int16_t)theirs) && branch_target(l, at) == to);
}

static void check_kernel(const struct hip_listing *l)
{
	const struct hip_code *code = drafted->code;
	uint32_t next = 0, at;

	REQUIRE(find(l, &at, "gpubpf_kernel", 0));
	for (uint32_t off = 0; off < code->size; off += 4, at += 4) {
		uint32_t size = 4;

		at = next_at(l, off, at);
		if (next < code->npatches && code->patches[next].off == off) {
			if (check_patch(l, next, at))
				size = code->patches[next].size;
			else
				check_word(l, off, at);
			next++;
		} else {
			check_word(l, off, at);
		}
		off += size - 4;
		at += size - 4;
	}
	REQUIRE(next == code->npatches);
}

int __wrap_hip_listing_write(const struct hip_listing *l, struct gpubpf_blob *object)
{
	check_kernel(l);
	for (uint32_t i = 0; i < l->nitems; i++)
		if (l->items[i].kind == HIP_ITEM_BRANCH)
			REQUIRE(branch_target(l, l->items[i].at) == l->labels.list[l->items[i].label].at);
	return __real_hip_listing_write(l, object);
}

/*
 * Write a short probe that reads the whole context of its place. It stands in for the code that LLVM emits for a
 * program.
 */
static void write_probe(FILE *f, uint32_t site, uint32_t given)
{
	static const char load[] = "\ts_getpc_b64 s[4:5]\n\ts_add_u32 s4, s4, gpubpf_arena@rel32@lo+4\n"
				   "\ts_addc_u32 s5, s5, gpubpf_arena@rel32@hi+12\n";
	const struct hip_descriptor d = { .rsrc1 = 1, .rsrc2 = 2 << HIP_USER_SGPRS_SHIFT, .properties = 1 << HIP_KERNARG };
	uint32_t words[16];

	fprintf(f, "\t.text\n\t.p2align 8\n\t.globl gpubpf_inline_%u\n\t.type gpubpf_inline_%u,@function\ngpubpf_inline_%u:\n%s", site,
		site, site, load);
	for (uint32_t i = 0; i < given; i++)
		fprintf(f, "\tv_mov_b32_e32 v%u, v%u\n", 1 + i % 3, HIP_FIRST_OPERAND + i);
	for (uint32_t i = 0; i < HIP_NUNIFORM; i++)
		fprintf(f, "\tv_readlane_b32 s%u, v%u, %u\n", 6 + i % 4, HIP_UNIFORM_REGISTER, i);
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
		write_probe(f, site, job->sites[site].function[0] ? HIP_UNKNOWN_OPERAND : HIP_NLANE_OPERANDS);
	fputs("\t.section .rodata,\"a\",@progbits\n\t.p2align 3\n\t.globl gpubpf_arena\n\t.hidden gpubpf_arena\n"
	      "\t.type gpubpf_arena,@object\n\t.size gpubpf_arena, 8\ngpubpf_arena:\n\t.quad 0\n", f);
	fclose(f);
	err = hip_assemble(isa, wave32, text, size, out, diag);
	REQUIRE(!err);
	free(text);
	return 0;
}

uint32_t hip_launch_args(const struct gpubpf_lower_job *job)
{
	return job->nsites & 3;
}

#define MAX_SITES 256
#define MAX_KERNELS 64        /* limit of kernels and functions per image */

/* Set called[] for each function that the kernel calls, directly or indirectly. */
static void find_called(const struct hip_looked *l, const struct gpubpf_kernel_info *from, bool *called)
{
	for (uint32_t i = 0; i < from->ncallees; i++) {
		REQUIRE(from->callees[i] < l->n && l->kernels[from->callees[i]].flags & GPUBPF_KINFO_FUNCTION);
		if (from->callees[i] < MAX_KERNELS && !called[from->callees[i]]) {
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

/* Add sites of this kind in a kernel and in the functions that it calls. Returns the number of sites. */
static uint32_t add_sites(const struct hip_looked *l, const struct gpubpf_kernel_info *kernel, const bool *called,
			  enum gpubpf_site kind, struct gpubpf_insertions *at, struct gpubpf_site_desc *sites, uint32_t n)
{
	bool functions = gpubpf_place_kind(kind)->where == GPUBPF_WHERE_FUNCTION;
	uint32_t before = at->n;

	sites[n] = site_of(kind, kernel, kernel);
	REQUIRE(functions || !gpubpf_insert(at, n, kind, kernel));
	for (uint32_t i = 0; i < l->n && i < MAX_KERNELS && n + 1 < MAX_SITES; i++) {
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
	static struct gpubpf_site_desc sites[MAX_SITES];
	const struct gpubpf_image *image = &l->image;
	const struct gpubpf_device_caps *caps = &l->caps;
	struct gpubpf_lower_job job = { .sites = sites, .caps = caps };
	struct gpubpf_target_opts opts = { .opt_level = 2 };
	struct gpubpf_insertions at = { 0 };
	struct gpubpf_twin_image twin = { 0 };
	bool called[MAX_KERNELS] = { false };
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

/* Choose a range for branches: that of the hardware, or a much smaller one that still exceeds a stub. */
static uint32_t choose_reach(const uint8_t *data, size_t size)
{
	uint32_t sum = size;

	for (size_t i = 0; i < size; i++)
		sum = sum * 33 + data[i];
	sum ^= sum >> 16;
	return sum % 3 ? 4 * (500 + sum % 3000) : HIP_BRANCH_RANGE_BYTES;
}

/*
 * Choose the kinds of places by the input: all, only entry, exit and block ends, or single instructions with or without
 * these.
 */
static uint32_t choose(const uint8_t *data, size_t size, uint32_t turn)
{
	const uint32_t ends = GPUBPF_SITE_BIT(ENTRY) | GPUBPF_SITE_BIT(EXIT) | GPUBPF_SITE_BIT(BLOCK_BEGIN) | GPUBPF_SITE_BIT(BLOCK_END);
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
	reach = choose_reach(data, size);
	for (uint32_t i = 0; !l.err && i < l.n && i < 4; i++)
		if (!l.kernels[i].reason[0] && !(l.kernels[i].flags & GPUBPF_KINFO_FUNCTION))
			inject(&l, &l.kernels[i], choose(data, size, i));
	hip_looked_finish(&l);
	return 0;
}
