/* SPDX-License-Identifier: Apache-2.0 */
#include "fields.h"

#include <string.h>

void gpubpf_codec_check(struct gpubpf_codec *c, bool ok)
{
	if (!ok)
		c->failed = true;
}

#define SCALAR(name, type, wire)                                              \
	void gpubpf_codec_##name(struct gpubpf_codec *c, type *v)             \
	{                                                                     \
		if (c->w)                                                     \
			gpubpf_put_##wire(c->w, *v);                          \
		else                                                          \
			*v = gpubpf_get_##wire(&c->r);                        \
	}
SCALAR(u8, uint8_t, u8)
SCALAR(u16, uint16_t, u16)
SCALAR(u32, uint32_t, u32)
SCALAR(u64, uint64_t, u64)
SCALAR(s16, int16_t, u16)
SCALAR(s32, int32_t, u32)

void gpubpf_codec_bool(struct gpubpf_codec *c, bool *v)
{
	uint8_t byte = c->w ? *v : 0;

	gpubpf_codec_u8(c, &byte);
	gpubpf_codec_check(c, byte <= 1);
	if (!c->w)
		*v = byte == 1;
}

uint32_t gpubpf_codec_below(struct gpubpf_codec *c, uint32_t v, uint32_t limit)
{
	gpubpf_codec_u32(c, &v);
	gpubpf_codec_check(c, v < limit);
	return v < limit ? v : 0;
}

void gpubpf_codec_str(struct gpubpf_codec *c, char *buf, size_t size)
{
	if (c->w)
		gpubpf_put_bytes(c->w, buf, strnlen(buf, size));
	else
		gpubpf_get_str(&c->r, buf, size);
}

void gpubpf_codec_caps(struct gpubpf_codec *c, struct gpubpf_device_caps *caps)
{
	gpubpf_codec_str(c, caps->backend, sizeof(caps->backend));
	gpubpf_codec_str(c, caps->name, sizeof(caps->name));
	gpubpf_codec_str(c, caps->driver, sizeof(caps->driver));
	gpubpf_codec_str(c, caps->arch, sizeof(caps->arch));
	gpubpf_codec_u64(c, &caps->bits);
	GPUBPF_CODEC_ENUM(c, caps->clock, GPUBPF_CLOCKS);
	gpubpf_codec_u32(c, &caps->compute_units);
	gpubpf_codec_u32(c, &caps->warp_size);
	gpubpf_codec_u32(c, &caps->spirv_version);
	gpubpf_codec_u32(c, &caps->opencl_c_version);
	gpubpf_codec_u32(c, &caps->address_bits);
	gpubpf_codec_u32(c, &caps->max_threads_per_block);
	for (int d = 0; d < 3; d++)
		gpubpf_codec_u32(c, &caps->max_blocks[d]);
	gpubpf_codec_u32(c, &caps->sub_groups);
	gpubpf_codec_u64(c, &caps->memory);
	gpubpf_codec_u64(c, &caps->max_alloc);
	gpubpf_codec_u32(c, &caps->ordinal);
	gpubpf_codec_str(c, caps->settings, sizeof(caps->settings));
	gpubpf_codec_str(c, caps->extensions, sizeof(caps->extensions));
}

void gpubpf_put_caps(struct gpubpf_writer *w, const struct gpubpf_device_caps *caps)
{
	struct gpubpf_codec c = { .w = w };
	struct gpubpf_device_caps copy = *caps;

	gpubpf_codec_caps(&c, &copy);
}

bool gpubpf_get_caps(struct gpubpf_reader *r, struct gpubpf_device_caps *caps)
{
	struct gpubpf_codec c = { .r = *r };

	memset(caps, 0, sizeof(*caps));
	gpubpf_codec_caps(&c, caps);
	*r = c.r;
	r->failed |= c.failed;
	return !r->failed;
}
