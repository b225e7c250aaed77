/* SPDX-License-Identifier: Apache-2.0 */
#include "found_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/hip/amdgpu/object/bundle.h"
#include "core/model/diag.h"
#include "core/wire/name.h"

int hip_refuse(struct gpubpf_diag *diag, const char *why)
{
	return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "%s", why);
}

int hip_app_kernel_open(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
			struct hip_app_kernel *app, struct gpubpf_diag *diag)
{
	struct gpubpf_blob object;
	int err = hip_bundle_pick(image, caps->arch, &app->plain, &object, diag);

	if (!err)
		err = hip_elf_open(object.data, object.size, &app->elf, diag);
	if (err < 0)
		return err;
	app->isa = hip_isa_of_flags(app->elf.head.e_flags);
	if (!app->isa)
		return hip_refuse(diag,
				  "the code object is for a processor other than gfx90a, gfx942, gfx950, gfx11 and gfx12");
	if (app->elf.head.e_ident[EI_ABIVERSION] < 2 || app->elf.head.e_ident[EI_ABIVERSION] > 4)
		return hip_refuse(diag, "the code object's version is not 4, 5 or 6");
	return 0;
}

/* Returns the bytes from an address to the end of its executable section, or NULL. Sets *size to their number, and
 * *before to the number of bytes of the section before the address. */
static const uint8_t *find_text(const struct hip_elf *elf, uint64_t address, size_t *before, size_t *size)
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

static uint32_t get_reading_flags(const struct hip_app_kernel *app)
{
	return (app->insns ? HIP_READ_INSNS : 0) | (app->insns & HIP_NAMED_SITES ? HIP_READ_ALL : 0);
}

int hip_app_kernel_read(struct hip_app_kernel *app, bool twin, struct gpubpf_diag *diag)
{
	struct hip_symbols symbols = hip_elf_symbols(&app->elf, SHT_DYNSYM);
	const uint8_t *descriptor;
	char name[GPUBPF_WHOLE_NAME_SIZE + sizeof(".kd")];
	Elf64_Sym kd;
	uint32_t how = get_reading_flags(app) | (twin ? HIP_READ_TWIN : HIP_READ_CALLS);
	struct hip_code_at at = { .elf = &app->elf };
	size_t before;

	if (!app->meta.symbol || app->meta.symbol_len >= sizeof(name))
		return hip_refuse(diag, "the code object's metadata does not name the kernel's descriptor");
	snprintf(name, sizeof(name), "%.*s", (int)app->meta.symbol_len, app->meta.symbol);
	if (!hip_elf_find(&symbols, name, &kd) ||
	    !(descriptor = hip_elf_at(&app->elf, kd.st_value, sizeof(app->descriptor))))
		return hip_refuse(diag, "the code object has no descriptor of the kernel");
	memcpy(&app->descriptor, descriptor, sizeof(app->descriptor));
	if ((app->descriptor.rsrc2 & HIP_USER_SGPRS) >> HIP_USER_SGPRS_SHIFT > HIP_MAX_USER_SGPRS)
		return hip_refuse(diag, "its descriptor requests more than 16 user registers");
	if (app->descriptor.rsrc2 & HIP_EXCEPTIONS)
		return hip_refuse(diag, "its descriptor enables arithmetic exceptions, which a probe could raise");
	app->address = kd.st_value + app->descriptor.entry;
	app->bytes = find_text(&app->elf, app->address, &before, &at.size);
	if (!app->bytes || app->address % 4)
		return hip_refuse(diag, "the kernel's entry point lies outside of the code");
	if (!twin)
		before = 0;
	app->wave32 = app->isa->wave32 && app->descriptor.properties & HIP_WAVE32;
	at.bytes = app->bytes - before;
	at.size += before;
	at.start = before;
	at.address = app->address - before;
	at.descriptor = hip_start_of(app->isa, &app->descriptor).at[HIP_PRIVATE_BUFFER];
	return hip_code_read(app->isa, app->wave32, how, &at, &app->code, diag);
}

/* By the calling convention s[0:3] hold the descriptor of the lane's private memory if the code uses one. So
 * at.descriptor stays 0. */
int hip_app_kernel_read_function(struct hip_app_kernel *app, uint64_t address, struct gpubpf_diag *diag)
{
	uint32_t how = get_reading_flags(app) | HIP_READ_INSNS | HIP_READ_CALLS | HIP_READ_FUNCTION;
	struct hip_code_at at = { .address = address, .elf = &app->elf };
	size_t before;

	app->address = address;
	app->bytes = at.bytes = find_text(&app->elf, address, &before, &at.size);
	if (!at.bytes || address % 4)
		return hip_refuse(diag, "a function lies outside of the code");
	return hip_code_read(app->isa, app->wave32, how, &at, &app->code, diag);
}

static bool is_function(const Elf64_Sym *symbol)
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx;
}

void hip_app_kernel_function_name(const struct hip_app_kernel *app, uint64_t address, char name[256])
{
	struct hip_symbols symbols = hip_elf_symbols(&app->elf, SHT_SYMTAB);
	const char *is, *found = NULL;
	Elf64_Sym symbol;

	for (uint32_t i = 0; !found && hip_elf_symbol(&symbols, i, &symbol, &is); i++)
		if (is_function(&symbol) && symbol.st_value == address && is[0])
			found = is;
	for (uint32_t i = 0; found && hip_elf_symbol(&symbols, i, &symbol, &is); i++)
		if (is_function(&symbol) && symbol.st_value != address && !strcmp(is, found))
			found = NULL;
	if (found)
		gpubpf_name_short(found, strlen(found), name);
	else
		snprintf(name, 256, "0x%llx", (unsigned long long)address);
}

static bool is_part(const struct hip_app_kernel *app, uint64_t address)
{
	for (uint32_t i = 0; i < app->nparts; i++)
		if (app->parts[i].address == address)
			return true;
	return false;
}

/* Appends the kernel or function in app->code and app->bytes to a twin's code *all, and adds it to app->parts. */
static int add_part(struct hip_app_kernel *app, const char *name, struct hip_code *all)
{
	struct hip_code *code = &app->code;
	struct hip_part *parts = realloc(app->parts, (app->nparts + 1) * sizeof(*parts));
	struct hip_patch *patches = realloc(all->patches, (all->npatches + code->npatches + 1) * sizeof(*patches));
	uint8_t *words = realloc(all->words, (all->size + code->size) / 4 + 1);

	app->parts = parts ? parts : app->parts;
	all->patches = patches ? patches : all->patches;
	all->words = words ? words : all->words;
	if (!parts || !patches || !words)
		return -ENOMEM;
	memcpy(words + all->size / 4, code->words, code->size / 4);
	parts[app->nparts] =
		(struct hip_part){ .address = app->address, .bytes = app->bytes, .off = all->size, .size = code->size };
	strcpy(parts[app->nparts++].name, name);
	for (uint32_t i = 0; i < code->npatches; i++) {
		struct hip_patch *patch = &patches[all->npatches++];

		*patch = code->patches[i];
		patch->off += all->size;
		patch->target += all->size;
	}
	all->size += code->size;
	all->calls |= code->calls;
	all->barrier |= code->barrier;
	all->matrix |= code->matrix;
	all->special |= code->special;
	all->scalar = all->scalar > code->scalar ? all->scalar : code->scalar;
	all->vector = all->vector > code->vector ? all->vector : code->vector;
	all->accum = all->accum > code->accum ? all->accum : code->accum;
	return 0;
}

/* Returns the address of the first callee that the twin does not contain yet, or UINT64_MAX. */
static uint64_t find_next_callee(const struct hip_app_kernel *app, const struct hip_code *all)
{
	for (uint32_t i = 0; i < all->npatches; i++)
		if (all->patches[i].callee != UINT64_MAX && !is_part(app, all->patches[i].callee))
			return all->patches[i].callee;
	return UINT64_MAX;
}

/*
 * Limit for the code of a kernel and all its callees, in bytes. In a malformed image functions may overlap, so the
 * image's size does not limit the sum of their sizes.
 */
#define MAX_CODE_BYTES (256u << 20)

/* Refuses code with indirect calls: they would run the original functions, which have no probes. */
static int check_calls(const struct hip_app_kernel *app, struct gpubpf_diag *diag)
{
	if (!app->code.has_indirect_calls)
		return 0;
	return hip_refuse(diag, "it calls functions through pointers or addresses in memory, so their instructions "
				"are not in its twin");
}

static int add_function(struct hip_app_kernel *app, uint64_t address, struct hip_code *all, struct gpubpf_diag *diag)
{
	struct gpubpf_diag why;
	char name[256];
	int err;

	gpubpf_diag_init(&why);
	hip_app_kernel_function_name(app, address, name);
	err = hip_app_kernel_read_function(app, address, &why);
	if (!err)
		err = check_calls(app, &why);
	if (!err && app->code.size > MAX_CODE_BYTES - all->size)
		err = hip_refuse(&why, "the kernel and its callees have more than 256 MiB of code");
	if (!err)
		err = add_part(app, name, all);
	hip_code_finish(&app->code);
	return err == -EINVAL ?
		       gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "function %.64s: %s", name, why.what) :
		       err;
}

static int join_bytes(struct hip_app_kernel *app, struct hip_code *all)
{
	app->part_bytes = malloc(all->size + 4);
	if (!app->part_bytes)
		return -ENOMEM;
	for (uint32_t i = 0; i < app->nparts; i++)
		memcpy(app->part_bytes + app->parts[i].off, app->parts[i].bytes, app->parts[i].size);
	for (uint32_t i = 0; i < all->npatches; i++)
		for (uint32_t p = 0; p < app->nparts; p++)
			if (all->patches[i].callee == app->parts[p].address)
				all->patches[i].target = app->parts[p].off;
	return 0;
}

int hip_app_kernel_add_callees(struct hip_app_kernel *app, struct gpubpf_diag *diag)
{
	struct hip_code all = { 0 };
	uint64_t callee;
	int err = check_calls(app, diag);

	if (err < 0)
		return err;
	err = add_part(app, "", &all);
	hip_code_finish(&app->code);
	while (!err && (callee = find_next_callee(app, &all)) != UINT64_MAX)
		err = add_function(app, callee, &all, diag);
	if (!err)
		err = join_bytes(app, &all);
	app->code = all;
	app->address = app->parts ? app->parts[0].address : 0;
	app->bytes = app->part_bytes;
	return err;
}

void hip_app_kernel_finish(struct hip_app_kernel *app)
{
	hip_code_finish(&app->code);
	free(app->parts);
	free(app->part_bytes);
	app->parts = NULL;
	app->part_bytes = NULL;
	app->nparts = 0;
}

int hip_check_symbol_name(const char *name, struct gpubpf_diag *diag)
{
	for (; *name; name++)
		if (*name == '"' || *name == '\\' || (unsigned char)*name < ' ')
			return hip_refuse(diag, "the kernel's name has a quote, a backslash or a control character, "
						"which assembly symbols cannot have");
	return 0;
}
