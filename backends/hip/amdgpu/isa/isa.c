/* SPDX-License-Identifier: Apache-2.0 */
#include "isa.h"

#include <string.h>

#define GFX9(family_) .family = family_, .branch = 0xbf820000, .nop = 0xbf800000, .code_end = 0xbf810000, \
	.endpgm = 0xbf810000, .accum = true
#define GFX11(family_) .family = family_, .branch = 0xbfa00000, .nop = 0xbf800000, .code_end = 0xbf9f0000, \
	.endpgm = 0xbfb00000, .wave32 = true, .wide_sgprs = true
#define GFX12(family_) GFX11(family_), .ids_in_traps = true

static const struct hip_isa isas[] = {
	{ "gfx90a", 0x3f, GFX9(HIP_GFX90A) },  { "gfx942", 0x4c, GFX9(HIP_GFX940) },
	{ "gfx950", 0x4f, GFX9(HIP_GFX940) },  { "gfx1100", 0x41, GFX11(HIP_GFX11) },
	{ "gfx1101", 0x46, GFX11(HIP_GFX11) }, { "gfx1102", 0x47, GFX11(HIP_GFX11) },
	{ "gfx1103", 0x44, GFX11(HIP_GFX11) }, { "gfx1150", 0x43, GFX11(HIP_GFX11) },
	{ "gfx1151", 0x4a, GFX11(HIP_GFX11) }, { "gfx1200", 0x48, GFX12(HIP_GFX12) },
	{ "gfx1201", 0x4e, GFX12(HIP_GFX12) },
};

#define COUNT (sizeof(isas) / sizeof(*isas))

const struct hip_isa *hip_isa_of_flags(uint32_t e_flags)
{
	for (size_t i = 0; i < COUNT; i++)
		if (isas[i].mach == (e_flags & HIP_EF_MACH))
			return &isas[i];
	return NULL;
}

const struct hip_isa *hip_isa_of_name(const char *name)
{
	size_t n = strcspn(name, ":");

	for (size_t i = 0; i < COUNT; i++)
		if (strlen(isas[i].name) == n && !memcmp(isas[i].name, name, n))
			return &isas[i];
	return NULL;
}
