/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a table of the images that the session has cached, so that later requests omit the image's data. The table
 * needs no lock. The child of a fork inherits the table but joins the session anew. Each key contains the session
 * generation, so the parent's entries do not match in the child.
 */
#include "hooks/agent.h"
#include "launch.h"

#define MAX_IMAGES 2048 /* number of images in the table; other images are sent with every request */
#define GENERATION_SHIFT 48

static _Atomic uint64_t keys[MAX_IMAGES];

/*
 * Find the slot with the image's key, or a free slot for that key. Returns NULL if the table is full, or if the
 * identity is 0 or too large for a key.
 */
static _Atomic uint64_t *find_slot(uint64_t identity, uint64_t *key)
{
	uint64_t generation = gpubpf_session_generation() + 1ull;

	if (!identity || identity >> GENERATION_SHIFT || generation >> (64 - GENERATION_SHIFT))
		return NULL;
	*key = generation << GENERATION_SHIFT | identity;
	for (uint32_t i = 0, at = *key * 0x9e3779b97f4a7c15ull >> 32; i < MAX_IMAGES; i++, at++) {
		uint64_t has = atomic_load_explicit(&keys[at % MAX_IMAGES], memory_order_relaxed);

		if (!has || has == *key)
			return &keys[at % MAX_IMAGES];
	}
	return NULL;
}

bool gpubpf_image_is_cached(uint64_t identity)
{
	uint64_t key;
	_Atomic uint64_t *at = find_slot(identity, &key);

	return at && atomic_load_explicit(at, memory_order_relaxed) == key;
}

void gpubpf_image_note_cached(uint64_t identity)
{
	uint64_t key, none = 0;
	_Atomic uint64_t *at;

	while ((at = find_slot(identity, &key)) && !atomic_compare_exchange_strong(at, &none, key) && none != key)
		none = 0;
}
