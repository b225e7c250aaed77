/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the rules that synchronise two copies of a map, with copies in this process. No addition is lost, whichever
 * side writes at which moment.
 */
#include "core/session/kernel_bpf/merge.h"

#include <errno.h>

#include "tests/tap.h"

#define KEYS 24u
#define WORDS 3u

static uint64_t seed = 0x2545f4914f6cdd1dull;

static uint32_t any(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

/* One copy of the map. The operations call meanwhile(), so a test can change the copy during a merge pass. */
struct side {
	int which;
	bool has[KEYS], apart;         /* apart: the copy has separate values for reads and writes */
	bool changes;                  /* true while an add or exchange is about to change an element */
	uint64_t value[KEYS][WORDS];
	uint32_t room;
	void (*meanwhile)(struct side *s);
	uint32_t calls;
};

static void interrupt(struct side *s)
{
	s->calls++;
	if (s->meanwhile)
		s->meanwhile(s);
}

static uint32_t count(const struct side *s)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < KEYS; k++)
		n += s->has[k];
	return n;
}

static int each(void *side, gpubpf_merge_found_fn found, void *arg)
{
	struct side *s = side;
	int err = 0;

	for (uint32_t k = 0; k < KEYS && !err; k++) {
		uint64_t value[WORDS];

		memcpy(value, s->value[k], sizeof(value));
		if (s->has[k])
			err = found(arg, &k, value, !s->apart);
		interrupt(s);
	}
	return err;
}

static uint32_t key_of(const void *key)
{
	uint32_t k;

	memcpy(&k, key, sizeof(k));
	return k;
}

static int one(void *side, const void *key, void *value, bool *last)
{
	struct side *s = side;
	uint32_t k = key_of(key);

	if (!s->has[k])
		return -ENOENT;
	memcpy(value, s->value[k], sizeof(s->value[k]));
	*last = !s->apart;
	interrupt(s);
	return 0;
}

static int add(void *side, const void *key, const void *value)
{
	struct side *s = side;
	uint32_t k = key_of(key);

	s->changes = true;
	interrupt(s);
	s->changes = false;
	if (!s->has[k])
		return -ENOENT;
	for (uint32_t w = 0; w < WORDS; w++)
		s->value[k][w] += ((const uint64_t *)value)[w];
	return 0;
}

static int exchange(void *side, const void *key, const void *old, const void *value)
{
	struct side *s = side;
	uint32_t k = key_of(key);

	s->changes = true;
	interrupt(s);
	s->changes = false;
	if (!s->has[k])
		return -ENOENT;
	for (uint32_t w = 0; w < WORDS; w++) {
		uint64_t was = ((const uint64_t *)old)[w], is = ((const uint64_t *)value)[w];

		if (was == is)
			continue;
		if (s->value[k][w] == was && !s->apart)
			s->value[k][w] = is;
	}
	return 0;
}

static int insert(void *side, const void *key, const void *value)
{
	struct side *s = side;
	uint32_t k = key_of(key);

	interrupt(s);
	if (s->has[k])
		return -EEXIST;
	if (count(s) >= s->room)
		return -E2BIG;
	s->has[k] = true;
	memcpy(s->value[k], value, sizeof(s->value[k]));
	return 0;
}

static int erase(void *side, const void *key)
{
	struct side *s = side;
	uint32_t k = key_of(key);
	bool had = s->has[k];

	s->has[k] = false;
	return had ? 0 : -ENOENT;
}

static struct side sides[2];

static int insert_zeros(void *side, const void *key, const void *value)
{
	static const uint64_t zeros[WORDS];

	(void)value;
	return insert(side, key, zeros);
}

static struct gpubpf_merge *begin_with(const struct gpubpf_merge_opts *opts)
{
	struct gpubpf_merge_side ops[2];

	for (int i = 0; i < 2; i++) {
		sides[i] = (struct side){ .which = i, .room = KEYS };
		ops[i] = (struct gpubpf_merge_side){ &sides[i], each, one, add, exchange, opts->keys_only ? insert_zeros : insert, erase };
	}
	return gpubpf_merge_new(opts, ops);
}

static struct gpubpf_merge *begin(bool sums, bool forgets)
{
	const struct gpubpf_merge_opts opts = {
		.key_size = 4, .value_size = sizeof(uint64_t[WORDS]), .word = 8, .sums = sums, .evicts = forgets,
	};

	return begin_with(&opts);
}

static bool alike(void)
{
	bool same = !memcmp(sides[0].has, sides[1].has, sizeof(sides[0].has));

	for (uint32_t k = 0; k < KEYS; k++)
		same &= !sides[0].has[k] || !memcmp(sides[0].value[k], sides[1].value[k], sizeof(sides[0].value[k]));
	return same;
}

static void set(int side, uint32_t k, uint64_t value)
{
	sides[side].has[k] = true;
	sides[side].value[k][0] = value;
}

/* -- sums -- */

static uint64_t added[KEYS][WORDS];

static void adds(struct side *s)
{
	uint32_t k = any(KEYS), w = any(WORDS), n = any(1000);

	if (any(3))
		return;
	if (!s->has[k])
		memset(s->value[k], 0, sizeof(s->value[k]));
	s->has[k] = true;
	s->value[k][w] += n;
	added[k][w] += n;
}

static void both_add(struct side *s)
{
	adds(s);
	adds(&sides[!s->which]);
}

static void test_sums(void)
{
	struct gpubpf_merge *m = begin(true, false);
	uint32_t wrong = 0;

	memset(added, 0, sizeof(added));
	sides[0].meanwhile = sides[1].meanwhile = both_add;
	for (int i = 0; i < 30000; i++) {
		uint32_t k = any(KEYS);

		if (any(10))
			gpubpf_merge_key(m, &k);
		else
			gpubpf_merge_pass(m);
	}
	sides[0].meanwhile = sides[1].meanwhile = NULL;
	gpubpf_merge_pass(m);
	for (uint32_t k = 0; k < KEYS; k++)
		for (uint32_t w = 0; w < WORDS; w++)
			wrong += sides[1].value[k][w] != added[k][w] || sides[0].value[k][w] != added[k][w];
	ok(!wrong && alike(), "what both sides add at any time of 3,000 passes, and of 27,000 of one key, is all there, on both (%u words are not)", wrong);
	gpubpf_merge_pass(m);
	ok(!gpubpf_merge_change_count(m), "and where nothing happens nothing is carried");
	gpubpf_merge_free(m);
}

static void deletes(struct side *s)
{
	if (s->changes)
		s->has[1] = false;
}

static void test_sums_set(void)
{
	struct gpubpf_merge *m = begin(true, false);

	set(0, 1, 60);
	set(1, 1, 40);
	gpubpf_merge_pass(m);
	ok(sides[0].value[1][0] == 100 && sides[1].value[1][0] == 100, "a key that is new on both sides has both's");
	sides[1].value[1][0] = 0;
	sides[0].value[1][0] += 7;
	gpubpf_merge_pass(m);
	ok(sides[0].value[1][0] == 7 && sides[1].value[1][0] == 7, "one side begins anew, and what the other adds counts from there");
	sides[0].has[1] = false;
	gpubpf_merge_pass(m);
	ok(!sides[1].has[1], "a key that one side deletes is gone");
	set(0, 2, 10);
	gpubpf_merge_pass(m);
	sides[1].has[2] = false;
	sides[0].value[2][0] += 5;
	gpubpf_merge_pass(m);
	ok(sides[0].value[2][0] == 5 && sides[1].has[2] && sides[1].value[2][0] == 5, "but what was added since stays");
	set(0, 1, 10);
	gpubpf_merge_pass(m);
	sides[0].value[1][0] += 5;
	sides[1].meanwhile = deletes;
	gpubpf_merge_pass(m);
	sides[1].meanwhile = NULL;
	gpubpf_merge_pass(m);
	ok(alike() && sides[0].has[1] && sides[0].value[1][0] == 5, "also where it is deleted at that moment (%llu)",
	   (unsigned long long)sides[0].value[1][0]);
	gpubpf_merge_free(m);
}

/* -- other values -- */

static uint64_t written[KEYS][WORDS], serial;

/* Side 0 writes only word 0 of a value, side 1 only word 1, and no side writes word 2. */
static void writes(struct side *s)
{
	uint32_t k = any(KEYS);

	if (!any(2) && s->has[k])
		written[k][s->which] = s->value[k][s->which] = ++serial;
}

static void both_write(struct side *s)
{
	writes(s);
	writes(&sides[!s->which]);
}

static void test_words(void)
{
	struct gpubpf_merge *m = begin(false, false);
	uint32_t wrong = 0;

	memset(written, 0, sizeof(written));
	for (uint32_t k = 0; k < KEYS; k++)
		set(k & 1, k, 0);
	gpubpf_merge_pass(m);
	sides[0].meanwhile = sides[1].meanwhile = both_write;
	for (int i = 0; i < 3000; i++)
		gpubpf_merge_pass(m);
	sides[0].meanwhile = sides[1].meanwhile = NULL;
	gpubpf_merge_pass(m);
	gpubpf_merge_pass(m);
	for (uint32_t k = 0; k < KEYS; k++)
		wrong += memcmp(sides[0].value[k], written[k], sizeof(written[k])) != 0;
	ok(!wrong && alike(), "words that one side writes are what it wrote last, on both (%u values are not)", wrong);
	gpubpf_merge_free(m);
}

/* gpubpf_merge_key() synchronises one key and changes no other key. */
static void test_key(bool sum)
{
	struct gpubpf_merge *m = begin(sum, false);
	const uint32_t first = 1, other = 2;

	set(0, first, 10);
	set(1, other, 20);
	gpubpf_merge_key(m, &first);
	ok(sides[1].has[first] && sides[1].value[first][0] == 10 && !sides[0].has[other], "a key comes over by itself");
	sides[1].value[first][0] = 15;
	gpubpf_merge_key(m, &first);
	ok(sides[0].value[first][0] == 15, "so does what is written to it");
	gpubpf_merge_pass(m);
	ok(alike() && sides[0].value[first][0] == 15 && sides[0].value[other][0] == 20, "and a pass carries nothing twice");
	sides[0].has[first] = false;
	gpubpf_merge_key(m, &first);
	ok(!sides[1].has[first], "and so does its end");
	gpubpf_merge_key(m, &first);
	gpubpf_merge_pass(m);
	ok(!sides[0].has[first] && !sides[1].has[first] && !gpubpf_merge_change_count(m), "which is for good");
	gpubpf_merge_free(m);
}

static void writes_too(struct side *s)
{
	if (s->changes)
		s->value[1][0] = 9;
}

static void test_last(void)
{
	struct gpubpf_merge *m = begin(false, false);

	set(0, 1, 1);
	gpubpf_merge_pass(m);
	set(1, 1, 2);
	gpubpf_merge_pass(m);
	ok(sides[0].value[1][0] == 2, "the last writer's value is both's");
	set(0, 1, 3);
	set(1, 1, 4);
	gpubpf_merge_pass(m);
	ok(sides[0].value[1][0] == 3 && sides[1].value[1][0] == 3, "of two in one pass, side 0's");
	set(0, 1, 5);
	sides[1].meanwhile = writes_too;
	gpubpf_merge_pass(m);
	sides[1].meanwhile = NULL;
	gpubpf_merge_pass(m);
	ok(alike() && sides[0].value[1][0] == 9, "what is written while another value is on its way comes after that");
	sides[1].has[1] = false;
	gpubpf_merge_pass(m);
	ok(!sides[0].has[1], "a key that one side deletes is gone");
	set(0, 2, 5);
	gpubpf_merge_pass(m);
	sides[0].has[2] = false;
	set(1, 2, 6);
	gpubpf_merge_pass(m);
	ok(sides[0].has[2] && sides[0].value[2][0] == 6, "but a value that was written since stays");
	gpubpf_merge_free(m);
}

/* Both sides insert, write and delete at random. Once they stop, three passes must make both sides equal. */
static void changes(struct side *s)
{
	uint32_t k = any(KEYS);

	if (!any(4))
		s->has[k] = !s->has[k];
	if (s->has[k] && any(2))
		s->value[k][any(WORDS)] = ++serial;
}

static void test_any(bool sum)
{
	struct gpubpf_merge *m = begin(sum, false);
	uint32_t apart = 0;

	for (int i = 0; i < 2000; i++) {
		sides[0].meanwhile = sides[1].meanwhile = changes;
		gpubpf_merge_pass(m);
		sides[0].meanwhile = sides[1].meanwhile = NULL;
		for (int settled = 0; settled < 3; settled++)
			gpubpf_merge_pass(m);
		apart += !alike();
	}
	ok(!apart, "%s: whatever both sides do, three passes at rest make them alike (%u times not)", sum ? "sums" : "values", apart);
	gpubpf_merge_free(m);
}

static void test_room(void)
{
	struct gpubpf_merge *m = begin(false, false);

	sides[1].room = 4;
	for (uint32_t k = 0; k < 6; k++)
		set(0, k, k);
	gpubpf_merge_pass(m);
	ok(count(&sides[1]) == 4 && gpubpf_merge_rejected(m, 1) == 2 && count(&sides[0]) == 6,
	   "keys without room stay where they are, and are counted");
	sides[1].has[0] = sides[1].has[1] = false;
	gpubpf_merge_pass(m);
	gpubpf_merge_pass(m);
	ok(count(&sides[0]) == 4 && alike(), "and come when there is room");
	gpubpf_merge_free(m);
}

static void test_forgets(bool sum)
{
	struct gpubpf_merge *m = begin(sum, true);

	set(0, 1, 10);
	gpubpf_merge_pass(m);
	sides[0].has[1] = false;
	gpubpf_merge_pass(m);
	gpubpf_merge_pass(m);
	ok(sides[1].has[1] && !sides[0].has[1], "what one side forgets the other keeps, and it is not put back");
	sides[1].value[1][0] += 5;
	gpubpf_merge_pass(m);
	ok(sides[0].has[1] && sides[0].value[1][0] == 15, "until it changes there");
	sides[1].has[1] = false;
	gpubpf_merge_pass(m);
	set(1, 1, 1);
	gpubpf_merge_pass(m);
	ok(alike() && sides[0].value[1][0] == (sum ? 16 : 1), "and one that comes anew is %s (%llu)", sum ? "added to the other's" : "the last",
	   (unsigned long long)sides[0].value[1][0]);
	gpubpf_merge_free(m);
}

static void test_apart(void)
{
	struct gpubpf_merge *m = begin(false, false);

	sides[0].apart = true;
	set(0, 1, 1);
	gpubpf_merge_pass(m);
	set(1, 1, 2);
	for (int i = 0; i < 3; i++)
		gpubpf_merge_pass(m);
	ok(sides[1].value[1][0] == 2, "a side that keeps its own value does not take the other's back");
	set(0, 1, 3);
	gpubpf_merge_pass(m);
	ok(sides[1].value[1][0] == 3, "until it changes it");
	gpubpf_merge_free(m);
}

static void test_keys(void)
{
	const struct gpubpf_merge_opts opts = { .key_size = 4, .value_size = sizeof(uint64_t[WORDS]), .word = 8, .keys_only = true };
	struct gpubpf_merge *m = begin_with(&opts);

	set(0, 1, 7);
	gpubpf_merge_pass(m);
	ok(sides[1].has[1] && !sides[1].value[1][0] && sides[0].value[1][0] == 7, "keys alone: they come with zeros");
	sides[0].has[1] = false;
	gpubpf_merge_pass(m);
	ok(!sides[1].has[1], "and go");
	set(1, 2, 8);
	gpubpf_merge_pass(m);
	set(0, 2, 9);
	gpubpf_merge_pass(m);
	ok(sides[0].value[2][0] == 9 && sides[1].value[2][0] == 8, "values stay where they are");
	sides[1].has[2] = false;
	set(0, 2, 10);
	gpubpf_merge_pass(m);
	ok(sides[0].has[2] && sides[1].has[2] && sides[0].value[2][0] == 10, "and keep a key that the other deletes");
	gpubpf_merge_free(m);
}

int main(void)
{
	test_sums();
	test_sums_set();
	test_words();
	test_key(true);
	test_key(false);
	test_last();
	test_any(true);
	test_any(false);
	test_room();
	test_forgets(true);
	test_forgets(false);
	test_apart();
	test_keys();
	return done();
}
