/* SPDX-License-Identifier: Apache-2.0 */
#include "merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 64u

/*
 * A key, and its state in both maps (sides). had[] and get_old_value() are the state after the last pass. The
 * state that this pass reads is in has[] and get_new_value().
 */
struct element {
	struct element *next;
	uint64_t hash;
	bool had[2], has[2];
	bool last;       /* the argument `last` of gpubpf_merge_found_fn for side 0 */
	uint8_t bytes[]; /* the key, the old values of sides 0 and 1, and the new values of sides 0 and 1 */
};

struct gpubpf_merge {
	struct gpubpf_merge_opts o;
	struct gpubpf_merge_side sides[2];
	struct element **buckets;
	uint64_t nbuckets, n;
	uint64_t rejected[2], nchanges;
	int reading;                         /* 0 or 1, the side that this pass is reading */
	uint8_t *scratch, *scratch1, *zeros; /* buffers of value_size bytes each */
};

struct gpubpf_merge *gpubpf_merge_new(const struct gpubpf_merge_opts *opts, const struct gpubpf_merge_side sides[2])
{
	struct gpubpf_merge *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->o = *opts;
	memcpy(m->sides, sides, sizeof(m->sides));
	m->nbuckets = FIRST_BUCKETS;
	m->buckets = calloc(m->nbuckets, sizeof(*m->buckets));
	m->scratch = malloc(opts->value_size);
	m->scratch1 = malloc(opts->value_size);
	m->zeros = calloc(1, opts->value_size);
	if (m->buckets && m->scratch && m->scratch1 && m->zeros)
		return m;
	gpubpf_merge_free(m);
	return NULL;
}

void gpubpf_merge_free(struct gpubpf_merge *m)
{
	if (!m)
		return;
	for (uint64_t b = 0; m->buckets && b < m->nbuckets; b++)
		while (m->buckets[b]) {
			struct element *e = m->buckets[b];

			m->buckets[b] = e->next;
			free(e);
		}
	free(m->buckets);
	free(m->scratch);
	free(m->scratch1);
	free(m->zeros);
	free(m);
}

uint64_t gpubpf_merge_rejected(const struct gpubpf_merge *m, int side)
{
	return m->rejected[side];
}

uint64_t gpubpf_merge_change_count(const struct gpubpf_merge *m)
{
	return m->nchanges;
}

/* -- the table of keys -- */

static uint8_t *get_old_value(const struct gpubpf_merge *m, struct element *e, int side)
{
	return e->bytes + m->o.key_size + (size_t)side * m->o.value_size;
}

static uint8_t *get_new_value(const struct gpubpf_merge *m, struct element *e, int side)
{
	return get_old_value(m, e, 2 + side);
}

/* FNV-1a, with the high bits folded into the low ones */
static uint64_t hash_of(const void *key, size_t size)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < size; i++)
		h = (h ^ ((const uint8_t *)key)[i]) * 0x100000001b3ull;
	return h ^ h >> 32;
}

static void grow_table(struct gpubpf_merge *m)
{
	uint64_t more = m->nbuckets * 2;
	struct element **buckets = calloc(more, sizeof(*buckets));

	for (uint64_t b = 0; buckets && b < m->nbuckets; b++)
		while (m->buckets[b]) {
			struct element *e = m->buckets[b];

			m->buckets[b] = e->next;
			e->next = buckets[e->hash % more];
			buckets[e->hash % more] = e;
		}
	if (!buckets)
		return; /* without memory the table keeps its buckets, and look-ups are slower */
	free(m->buckets);
	m->buckets = buckets;
	m->nbuckets = more;
}

static struct element *find_element(struct gpubpf_merge *m, const void *key)
{
	uint64_t hash = hash_of(key, m->o.key_size);
	struct element *e = m->buckets[hash % m->nbuckets];

	while (e && (e->hash != hash || memcmp(e->bytes, key, m->o.key_size)))
		e = e->next;
	if (e)
		return e;
	e = calloc(1, sizeof(*e) + m->o.key_size + 4ull * m->o.value_size);
	if (!e)
		return NULL;
	if (m->n++ >= m->nbuckets)
		grow_table(m);
	e->hash = hash;
	memcpy(e->bytes, key, m->o.key_size);
	e->next = m->buckets[hash % m->nbuckets];
	m->buckets[hash % m->nbuckets] = e;
	return e;
}

static int on_found(void *arg, const void *key, const void *value, bool last)
{
	struct gpubpf_merge *m = arg;
	struct element *e = find_element(m, key);

	if (!e)
		return -ENOMEM;
	e->has[m->reading] = true;
	if (!m->reading)
		e->last = last;
	memcpy(get_new_value(m, e, m->reading), value, m->o.value_size);
	return 0;
}

static int read_side(struct gpubpf_merge *m, int side)
{
	m->reading = side;
	for (uint64_t b = 0; b < m->nbuckets; b++)
		for (struct element *e = m->buckets[b]; e; e = e->next)
			e->has[side] = false;
	return m->sides[side].each(m->sides[side].side, on_found, m);
}

/* -- keys that only one side has -- */

static void record_value(struct gpubpf_merge *m, struct element *e, int side, const void *value)
{
	e->had[side] = true;
	memcpy(get_old_value(m, e, side), value, m->o.value_size);
}

static void insert_key(struct gpubpf_merge *m, struct element *e, int to, const uint8_t *value)
{
	int err = m->sides[to].insert(m->sides[to].side, e->bytes, value);

	m->nchanges += !err;
	if (!err)
		record_value(m, e, to, m->o.keys_only ? m->zeros : value);
	/* -EEXIST: another writer has inserted the key; the next pass finds it on both sides */
	else if (err != -EEXIST)
		m->rejected[to]++;
}

static uint64_t load_word(const struct gpubpf_merge *m, const uint8_t *value, uint32_t at)
{
	uint64_t w = 0;

	memcpy(&w, value + at, m->o.word);
	return w;
}

static void set_word(const struct gpubpf_merge *m, uint8_t *value, uint32_t at, uint64_t w)
{
	memcpy(value + at, &w, m->o.word);
}

static bool is_changed(const struct gpubpf_merge *m, struct element *e, int side)
{
	return !e->had[side] || memcmp(get_old_value(m, e, side), get_new_value(m, e, side), m->o.value_size);
}

/*
 * Only for a map of sums. For each word, store in *more the amount that `side` has added since the last pass. Store in
 * *less the negative of the word's value after the last pass.
 */
static void compute_diff(const struct gpubpf_merge *m, struct element *e, int side, uint8_t *more, uint8_t *less)
{
	for (uint32_t at = 0; at < m->o.value_size; at += m->o.word) {
		uint64_t before = e->had[side] ? load_word(m, get_old_value(m, e, side), at) : 0;

		set_word(m, more, at, load_word(m, get_new_value(m, e, side), at) - before);
		set_word(m, less, at, -before);
	}
}

/*
 * The other side has deleted the key, and `side` has changed the value since the last pass. Keep the key on both sides
 * with the changed value. In a map of sums, the key's value becomes the amount that was added since the last pass.
 */
static void restore_key(struct gpubpf_merge *m, struct element *e, int side)
{
	int other = !side;
	uint8_t *stays = get_new_value(m, e, side);

	e->had[other] = false;
	if (m->o.sums && e->had[side]) {
		compute_diff(m, e, side, m->scratch, m->scratch1);
		if (m->sides[side].add(m->sides[side].side, e->bytes, m->scratch1) < 0)
			return; /* `side` has deleted the key in the meantime too */
		stays = m->scratch;
	}
	record_value(m, e, side, stays);
	insert_key(m, e, other, stays);
}

static void delete_key(struct gpubpf_merge *m, struct element *e, int side)
{
	int err = m->sides[side].erase(m->sides[side].side, e->bytes);

	m->nchanges += !err;
	if (err == -EAGAIN || err == -EBUSY)
		return;
	e->had[0] = e->had[1] = e->has[side] = false;
}

static void merge_one_sided(struct gpubpf_merge *m, struct element *e, int side)
{
	int other = !side;

	if (m->o.evicts) {
		e->had[other] = false;
		if (!is_changed(m, e, side))
			return;
	}
	if (!e->had[other]) {
		record_value(m, e, side, get_new_value(m, e, side));
		insert_key(m, e, other, get_old_value(m, e, side));
	} else if (is_changed(m, e, side)) {
		restore_key(m, e, side);
	} else {
		delete_key(m, e, side);
	}
}

/* -- keys that both sides have -- */

static bool is_zero(const uint8_t *value, uint32_t size)
{
	return !value[0] && !memcmp(value, value + 1, size - 1);
}

static int add_words(struct gpubpf_merge *m, struct element *e, int to, const uint8_t *more)
{
	int err = is_zero(more, m->o.value_size) ? 0 : m->sides[to].add(m->sides[to].side, e->bytes, more);

	m->nchanges += !err && !is_zero(more, m->o.value_size);
	return err;
}

/*
 * Set the values of both sides to their last common value plus the amounts that both have added since the last pass.
 * The common value is get_old_value() of side 0.
 */
static void merge_sums(struct gpubpf_merge *m, struct element *e)
{
	bool known = e->had[0] && e->had[1];
	uint8_t *common = get_old_value(m, e, 0);

	for (uint32_t at = 0; at < m->o.value_size; at += m->o.word) {
		uint64_t base = known ? load_word(m, common, at) : 0;

		set_word(m, m->scratch, at, load_word(m, get_new_value(m, e, 0), at) - base);
		set_word(m, m->scratch1, at, load_word(m, get_new_value(m, e, 1), at) - base);
	}
	if (add_words(m, e, 1, m->scratch) < 0)
		return; /* side 1 has just deleted the key; the next pass handles this */
	record_value(m, e, 0, get_new_value(m, e, 0));
	if (!add_words(m, e, 0, m->scratch1))
		for (uint32_t at = 0; at < m->o.value_size; at += m->o.word)
			set_word(m, common, at, load_word(m, common, at) + load_word(m, m->scratch1, at));
	record_value(m, e, 1, common);
}

/*
 * Store in to[side] the value that each side must get. If only one side has changed a word, both get this side's word.
 * If both have changed it, both get the word of side 0. Returns true if a side gets a word of the other side.
 */
static bool merge_words(struct gpubpf_merge *m, struct element *e, uint8_t *to[2])
{
	bool any[2] = { false, false };

	for (int side = 0; side < 2; side++)
		memcpy(to[side], get_new_value(m, e, side), m->o.value_size);
	for (uint32_t at = 0; at < m->o.value_size; at += m->o.word) {
		const uint8_t *a = get_new_value(m, e, 0) + at, *b = get_new_value(m, e, 1) + at;
		bool of[2];

		for (int side = 0; side < 2; side++)
			of[side] = !e->had[side] ||
				   memcmp(get_new_value(m, e, side) + at, get_old_value(m, e, side) + at, m->o.word);
		if (!memcmp(a, b, m->o.word) || (!of[0] && !of[1]))
			continue;
		memcpy(of[0] ? to[1] + at : to[0] + at, of[0] ? a : b, m->o.word);
		any[of[0]] = true;
	}
	return any[0] || any[1];
}

static int exchange_value(struct gpubpf_merge *m, struct element *e, int to, const uint8_t *value)
{
	int err = 0;

	if (memcmp(value, get_new_value(m, e, to), m->o.value_size)) {
		err = m->sides[to].exchange(m->sides[to].side, e->bytes, get_new_value(m, e, to), value);
		m->nchanges += !err;
	}
	return err;
}

static void merge_values(struct gpubpf_merge *m, struct element *e)
{
	uint8_t *to[2] = { m->scratch, m->scratch1 };

	if (merge_words(m, e, to) && (exchange_value(m, e, 1, to[1]) < 0 || exchange_value(m, e, 0, to[0]) < 0))
		return; /* a side has just deleted the key; the next pass handles this */
	/*
	 * A program may write a word during this pass. The word then differs from the value that is recorded here, so
	 * the next pass copies it.
	 */
	record_value(m, e, 0, e->last ? to[0] : get_new_value(m, e, 0));
	record_value(m, e, 1, to[1]);
}

static void record_both(struct gpubpf_merge *m, struct element *e)
{
	record_value(m, e, 0, get_new_value(m, e, 0));
	record_value(m, e, 1, get_new_value(m, e, 1));
}

static void merge_element(struct gpubpf_merge *m, struct element *e)
{
	if (e->has[0] && e->has[1] && m->o.keys_only)
		record_both(m, e);
	else if (e->has[0] && e->has[1] && m->o.sums)
		merge_sums(m, e);
	else if (e->has[0] && e->has[1])
		merge_values(m, e);
	else
		merge_one_sided(m, e, e->has[1]);
}

/* Free the element if neither side has its key. Returns the address of the pointer to the next element. */
static struct element **drop_if_gone(struct gpubpf_merge *m, struct element **at)
{
	struct element *e = *at;

	if (e->has[0] || e->has[1])
		return &e->next;
	*at = e->next;
	free(e);
	m->n--;
	return at;
}

static int read_key(struct gpubpf_merge *m, struct element *e, int side)
{
	bool last = true;
	int err = m->sides[side].one(m->sides[side].side, e->bytes, get_new_value(m, e, side), &last);

	e->has[side] = !err;
	if (!side)
		e->last = last;
	return err == -ENOENT ? 0 : err;
}

int gpubpf_merge_key(struct gpubpf_merge *m, const void *key)
{
	struct element *e = find_element(m, key), **at;
	int err = e ? read_key(m, e, 1) : -ENOMEM;

	if (!err)
		err = read_key(m, e, 0);
	if (err < 0)
		return err;
	if (e->has[0] || e->has[1])
		merge_element(m, e);
	for (at = &m->buckets[e->hash % m->nbuckets]; *at != e; at = &(*at)->next)
		;
	drop_if_gone(m, at);
	return 0;
}

int gpubpf_merge_pass(struct gpubpf_merge *m)
{
	int err = read_side(m, 1);

	if (!err)
		err = read_side(m, 0);
	m->rejected[0] = m->rejected[1] = m->nchanges = 0;
	for (uint64_t b = 0; !err && b < m->nbuckets; b++)
		for (struct element **at = &m->buckets[b], *e; (e = *at);) {
			if (e->has[0] || e->has[1])
				merge_element(m, e);
			at = drop_if_gone(m, at);
		}
	return err;
}
