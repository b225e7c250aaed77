/* SPDX-License-Identifier: Apache-2.0 */
#include "found_kernel.h"

#include <stdio.h>
#include <string.h>

#include "bundle.h"
#include "core/diag.h"
#include "core/wire/name.h"
#include "inject.h"

int hip_refuse(struct gpubpf_diag *diag, const char *why)
{
	return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "%s", why);
}

int hip_found_open(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps, struct hip_found *app,
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
		return hip_refuse(diag,
				  "the code object is for a processor other than gfx90a, gfx942, gfx950, gfx11 and gfx12");
	if (app->elf.head.e_ident[EI_ABIVERSION] < 2 || app->elf.head.e_ident[EI_ABIVERSION] > 4)
		return hip_refuse(diag, "the code object's version is none of 4, 5 and 6");
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

/* Buffers of a lane's own memory are known by their descriptor, if nothing else names it; no others are. */
static void tell_buffers(struct hip_found *app)
{
	int at = hip_start_of(app->isa, &app->descriptor).at[HIP_PRIVATE_BUFFER];
	uint32_t named = 0;

	for (int i = at; at >= 0 && i < at + 4; i++)
		named |= app->code.besides[i / 32] >> i % 32 & 1;
	for (uint32_t i = 0; i < app->code.npatches; i++) {
		struct hip_access *a = &app->code.patches[i].access[0];

		if (app->code.patches[i].kind != HIP_PATCH_ACCESS || a->why || a->by != HIP_AT_BUFFER)
			continue;
		if (at >= 0 && !named && a->descriptor.n == 4 && a->descriptor.first == at)
			a->spaces = GPUBPF_IN(LOCAL);
		else
			a->why = "a buffer whose descriptor is not known";
	}
}

int hip_found_read(struct hip_found *app, bool twin, struct gpubpf_diag *diag)
{
	struct hip_symbols symbols = hip_elf_symbols(&app->elf, SHT_DYNSYM);
	const uint8_t *descriptor;
	char name[GPUBPF_WHOLE_NAME_SIZE + sizeof(".kd")];
	Elf64_Sym kd;
	size_t size, before;
	uint32_t how = (app->insns ? HIP_READ_INSNS : 0) | (twin ? HIP_READ_TWIN : 0) |
		       (app->insns & HIP_NAMED ? HIP_READ_ALL : 0);
	int err;

	if (!app->meta.symbol || app->meta.symbol_len >= sizeof(name))
		return hip_refuse(diag, "the metadata names no descriptor");
	snprintf(name, sizeof(name), "%.*s", (int)app->meta.symbol_len, app->meta.symbol);
	if (!hip_elf_find(&symbols, name, &kd) ||
	    !(descriptor = hip_elf_at(&app->elf, kd.st_value, sizeof(app->descriptor))))
		return hip_refuse(diag, "the code object has no descriptor of the kernel");
	memcpy(&app->descriptor, descriptor, sizeof(app->descriptor));
	app->address = kd.st_value + app->descriptor.entry;
	app->bytes = text_at(&app->elf, app->address, &before, &size);
	if (!app->bytes || app->address % 4)
		return hip_refuse(diag, "the descriptor's entry lies outside of the code");
	if (!twin)
		before = 0;
	app->wave32 = app->isa->wave32 && app->descriptor.properties & HIP_WAVE32;
	err = hip_code_read(app->isa, app->wave32, how, app->bytes - before, size + before, before, &app->code, diag);
	if (!err)
		tell_buffers(app);
	return err;
}

/* Each patch is a branch back to the stubs; they stand before the kernel, and s_branch reaches 128 KiB. */
int hip_found_reaches(const struct hip_code *code, struct gpubpf_diag *diag)
{
	uint32_t stubs = 2048;

	for (uint32_t i = 0; i < code->npatches; i++)
		stubs += code->patches[i].kind < HIP_PATCH_JUMP ? 64 : 0;
	if (code->npatches && code->patches[code->npatches - 1].off + stubs >= 4 * 32767)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "its code is too large: %u bytes, and a branch must "
				       "reach from its last instruction to what stands before the first",
				       code->size);
	return 0;
}

int hip_found_named(const char *name, struct gpubpf_diag *diag)
{
	for (; *name; name++)
		if (*name == '"' || *name == '\\' || (unsigned char)*name < ' ')
			return hip_refuse(diag, "the kernel's name has characters that no symbol of ours can have");
	return 0;
}
