/* SPDX-License-Identifier: Apache-2.0 */
#include "descriptor.h"

#include <string.h>

_Static_assert(sizeof(struct hip_descriptor) == 64, "AMDGPU Usage, \"Kernel Descriptor\"");

#define VGPRS 0x3f            /* in rsrc1: number of granules of vector registers, minus one */
#define SGPRS_SHIFT 6
#define SGPRS (0xf << SGPRS_SHIFT)
#define FLOAT_MODE_SHIFT 12
#define ACCUM 0x3f            /* in rsrc3: index of the first accumulation register, divided by 4, minus one */
#define MAX_UNIFIED 512
#define EXTRA_SGPRS 6         /* registers after the numbered ones: VCC, FLAT_SCRATCH and XNACK_MASK */

static uint32_t max(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

struct hip_start hip_start_of(const struct hip_isa *isa, const struct hip_descriptor *d)
{
	static const uint8_t width[HIP_NFIELDS] = { 4, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1 };
	uint32_t system = d->rsrc2 >> 7 & 0xf, at = 0;
	struct hip_start s;

	/*
	 * Only gfx90a passes the offset of the wave's scratch memory in a register. On the other processors, hardware
	 * sets up scratch memory.
	 */
	if (d->rsrc2 & HIP_PRIVATE_SEGMENT && isa->family == HIP_GFX90A)
		system |= 1 << 4;
	if (isa->ids_in_traps)
		system = 0;
	memset(s.at, -1, sizeof(s.at));
	memcpy(s.n, width, sizeof(width));
	for (int f = 0; f < HIP_NFIELDS; f++) {
		bool user = f < HIP_GROUP_X;

		if (f == HIP_GROUP_X)
			at = (d->rsrc2 & HIP_USER_SGPRS) >> HIP_USER_SGPRS_SHIFT;
		if (!((user ? (uint32_t)d->properties >> f : system >> (f - HIP_GROUP_X)) & 1))
			continue;
		s.at[f] = at;
		at += width[f];
	}
	s.end = at;
	return s;
}

uint32_t hip_float_mode(const struct hip_descriptor *d)
{
	return d->rsrc1 >> FLOAT_MODE_SHIFT & 0xff;
}

/* Returns the number of vector registers in an allocation granule. */
static uint32_t granule(const struct hip_isa *isa, const struct hip_descriptor *d)
{
	return isa->accum ? 8 : d->properties & HIP_WAVE32 ? 8 : 4;
}

struct hip_registers hip_registers_of(const struct hip_isa *isa, const struct hip_descriptor *d)
{
	uint32_t all = ((d->rsrc1 & VGPRS) + 1) * granule(isa, d);
	uint32_t scalar = ((d->rsrc1 & SGPRS) >> SGPRS_SHIFT) / 2 * 16 + 16;
	struct hip_registers r = { .vector = all, .scalar = scalar - EXTRA_SGPRS };

	if (isa->accum) {
		uint32_t first = ((d->rsrc3 & ACCUM) + 1) * 4;

		r.vector = first < all ? first : all;
		r.accum = all - r.vector;
	}
	return r;
}

bool hip_registers_set(const struct hip_isa *isa, struct hip_descriptor *d, const struct hip_registers *want)
{
	struct hip_registers have = hip_registers_of(isa, d);
	uint32_t vector = max(have.vector, want->vector), accum = max(have.accum, want->accum), g = granule(isa, d), all;

	if (isa->accum)
		vector = (vector + 3) & ~3u;
	all = (vector + accum + g - 1) / g * g;
	if (vector > HIP_MAX_VECTOR || all > (isa->accum ? MAX_UNIFIED : HIP_MAX_VECTOR))
		return false;
	d->rsrc1 = (d->rsrc1 & ~VGPRS) | (all / g - 1);
	if (isa->accum)
		d->rsrc3 = (d->rsrc3 & ~ACCUM) | (vector / 4 - 1);
	if (!isa->wide_sgprs && want->scalar > have.scalar)
		d->rsrc1 = (d->rsrc1 & ~SGPRS) | 2 * ((want->scalar + EXTRA_SGPRS + 15) / 16 - 1) << SGPRS_SHIFT;
	return true;
}

void hip_descriptor_join(struct hip_descriptor *d, const struct hip_descriptor *other)
{
	uint32_t users = max(d->rsrc2 & HIP_USER_SGPRS, other->rsrc2 & HIP_USER_SGPRS);
	uint32_t items = max(d->rsrc2 & HIP_ITEM_IDS, other->rsrc2 & HIP_ITEM_IDS), fields = 0;

	d->private_size = max(d->private_size, other->private_size);
	d->properties |= other->properties & (HIP_USER_FIELDS | HIP_DYNAMIC_STACK);
	for (int f = 0; f < HIP_GROUP_X; f++)
		if (d->properties >> f & 1)
			fields += f == HIP_PRIVATE_BUFFER ? 4 : f == HIP_PRIVATE_SIZE ? 1 : 2;
	users = max(users, fields << HIP_USER_SGPRS_SHIFT);
	d->rsrc2 |= other->rsrc2 & (HIP_PRIVATE_SEGMENT | HIP_GROUP_IDS);
	d->rsrc2 = (d->rsrc2 & ~(HIP_USER_SGPRS | HIP_ITEM_IDS)) | users | items;
}
