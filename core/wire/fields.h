/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes and decodes structures field by field. One function per structure serves both directions: it writes the
 * structure to a writer, or reads the structure from a reader. So writer and reader cannot diverge. Writing does not
 * change the structure.
 *
 * Reading trusts no input: every length, index and enumeration is checked. A bad value sets `failed`. The structure is
 * then incomplete and must not be used.
 */
#ifndef GPUBPF_CORE_WIRE_FIELDS_H
#define GPUBPF_CORE_WIRE_FIELDS_H

#include "caps.h"
#include "wire.h"

struct gpubpf_pool;

struct gpubpf_codec {
	struct gpubpf_writer *w; /* writing; NULL: reading */
	struct gpubpf_reader r;
	/* reading: allocates arrays and strings of variable length; NULL if the structure contains none */
	struct gpubpf_pool *pool;
	bool failed;
};

void gpubpf_codec_u8(struct gpubpf_codec *c, uint8_t *v);
void gpubpf_codec_u16(struct gpubpf_codec *c, uint16_t *v);
void gpubpf_codec_u32(struct gpubpf_codec *c, uint32_t *v);
void gpubpf_codec_u64(struct gpubpf_codec *c, uint64_t *v);
void gpubpf_codec_s16(struct gpubpf_codec *c, int16_t *v);
void gpubpf_codec_s32(struct gpubpf_codec *c, int32_t *v);
void gpubpf_codec_bool(struct gpubpf_codec *c, bool *v);
/*
 * Writes or reads a number that must be below `limit`, and returns it. If it is not, the codec fails and the function
 * returns 0.
 */
uint32_t gpubpf_codec_below(struct gpubpf_codec *c, uint32_t v, uint32_t limit);
#define GPUBPF_CODEC_ENUM(c, v, limit)                                \
	do {                                                          \
		uint32_t got_ = gpubpf_codec_below((c), (v), (limit)); \
		if (!(c)->w)                                          \
			(v) = got_;                                   \
	} while (0)
void gpubpf_codec_str(struct gpubpf_codec *c, char *buf, size_t size);
/* Makes the codec fail if `ok` is false, when writing and when reading. */
void gpubpf_codec_check(struct gpubpf_codec *c, bool ok);

void gpubpf_codec_caps(struct gpubpf_codec *c, struct gpubpf_device_caps *caps);
/*
 * Write or read capabilities in a message of the session. If the message contains no valid capabilities,
 * gpubpf_get_caps() sets r->failed and returns false.
 */
void gpubpf_put_caps(struct gpubpf_writer *w, const struct gpubpf_device_caps *caps);
bool gpubpf_get_caps(struct gpubpf_reader *r, struct gpubpf_device_caps *caps);

#endif
