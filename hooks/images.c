/* SPDX-License-Identifier: Apache-2.0 */
/* Images that the session keeps, so that requests for their other kernels go without them. No lock: a child of a fork has the
 * table as it was, and what its parent's connection keeps is another's to it by its generation. */
#include "agent.h"
#include "launch.h"

#define MOST 2048 /* those that come later are sent each time */
#define GENERATION_AT 48

static _Atomic uint64_t kept[MOST];

/* The image's row: it has it, or is the one to put it into. NULL: neither. */
static _Atomic uint64_t *row(uint64_t identity, uint64_t *key)
{
	uint64_t generation = gpubpf_session_generation() + 1ull;

	if (!identity || identity >> GENERATION_AT || generation >> (64 - GENERATION_AT))
		return NULL;
	*key = generation << GENERATION_AT | identity;
	for (uint32_t i = 0, at = *key * 0x9e3779b97f4a7c15ull >> 32; i < MOST; i++, at++) {
		uint64_t has = atomic_load_explicit(&kept[at % MOST], memory_order_relaxed);

		if (!has || has == *key)
			return &kept[at % MOST];
	}
	return NULL;
}

bool gpubpf_image_is_kept(uint64_t identity)
{
	uint64_t key;
	_Atomic uint64_t *at = row(identity, &key);

	return at && atomic_load_explicit(at, memory_order_relaxed) == key;
}

void gpubpf_image_note_kept(uint64_t identity)
{
	uint64_t key, none = 0;
	_Atomic uint64_t *at;

	while ((at = row(identity, &key)) && !atomic_compare_exchange_strong(at, &none, key) && none != key)
		none = 0;
}
