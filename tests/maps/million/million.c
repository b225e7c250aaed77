/* SPDX-License-Identifier: Apache-2.0 */
/*
 * million DEVICE OBJECT COMMAND [ARG]...: compares a table of a million keys with a model. First libgpubpf inserts,
 * updates and deletes at random. Then a million lanes of COMMAND (million.bpf.c) do the same at once, each on its own
 * key.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <unistd.h>

#include <gpubpf/gpubpf.h>

#include "bench/run.h"
#include "tests/maps/fixture.h"
#include "million.h"
#include "tests/tap.h"

#define BATCH 65536

extern char **environ;

/* expected content of the table: for each key its value + 1, or 0 if the key is absent */
struct model {
	struct gpubpf_session *s;
	const struct gpubpf_map *map;
	bool prefixes;
	size_t key_size, value_size, words;
	uint64_t *value;
	uint64_t *buffer; /* a value as libgpubpf returns it, with all copies */
};

struct prefix {
	uint32_t length, bits;
};

static const void *key_of(const struct model *m, uint32_t i, uint32_t *key)
{
	key[0] = m->prefixes ? length_of(i) : number_of(i);
	key[1] = m->prefixes ? htonl(prefix_of(i)) : 0;
	return key;
}

/* Returns the index of the key, or MILLION if it is not one of the keys. */
static uint32_t index_of(const struct model *m, const uint32_t *key)
{
	uint32_t odd = 2654435761u, inverse = odd, i;

	for (int n = 0; n < 5; n++)
		inverse *= 2 - odd * inverse;
	if (!m->prefixes)
		return key[0] * inverse < MILLION ? key[0] * inverse : MILLION;
	if (key[0] == 10)
		return ntohl(key[1]) >> 22;
	i = (ntohl(key[1]) >> 12) * inverse & 0xfffff;
	return i < MILLION && i >= SHORT && key[0] == length_of(i) ? i : MILLION;
}

static uint64_t sum_of(const struct model *m, const uint64_t *copies)
{
	uint64_t sum = 0;

	for (size_t c = 0; c < m->words; c++)
		sum += copies[c];
	return sum;
}

/*
 * Returns what a look-up of key i must find. In an LPM trie a shorter prefix may match if the key's own prefix is
 * absent.
 */
static uint64_t found(const struct model *m, uint32_t i)
{
	if (m->value[i] || !m->prefixes || i < SHORT)
		return m->value[i];
	return m->value[prefix_of(i) >> 22];
}

static int set(struct model *m, uint32_t i, uint64_t value, uint64_t flags)
{
	uint32_t key[2];
	int err;

	memset(m->buffer, 0, m->value_size);
	m->buffer[0] = value;
	err = gpubpf_map__update_elem(m->map, key_of(m, i, key), m->key_size, m->buffer, m->value_size, flags);
	if (!err)
		m->value[i] = value + 1;
	return err;
}

static bool look(const struct model *m, uint32_t i)
{
	uint64_t wanted = found(m, i);
	uint32_t key[2];
	int err;

	key_of(m, i, key);
	if (m->prefixes)
		key[0] = i < SHORT ? 10 : 32;
	err = gpubpf_map__lookup_elem(m->map, key, m->key_size, m->buffer, m->value_size, 0);
	return wanted ? !err && sum_of(m, m->buffer) == wanted - 1 : err == -ENOENT;
}

static bool change_random_key(struct model *m, uint64_t *seed)
{
	uint64_t word = random_next(seed);
	uint32_t i = (uint32_t)(word >> 32) % MILLION, key[2];
	bool there = m->value[i];
	int err;

	switch (word % 5) {
	case 0: return !set(m, i, word >> 8 & 0xffff, BPF_ANY);
	case 1: return set(m, i, word >> 8 & 0xffff, BPF_NOEXIST) == (there ? -EEXIST : 0);
	case 2: return set(m, i, word >> 8 & 0xffff, BPF_EXIST) == (there ? 0 : -ENOENT);
	case 3: return look(m, i);
	default:
		err = gpubpf_map__delete_elem(m->map, key_of(m, i, key), m->key_size, 0);
		m->value[i] = 0;
		return err == (there ? 0 : -ENOENT);
	}
}

/* Compare the whole content of the table, in which each key must occur once, and some look-ups. */
static void compare(struct model *m, uint64_t seed, const char *what)
{
	uint8_t *seen = calloc(MILLION, 1), *keys = malloc(BATCH * m->key_size), *values = malloc(BATCH * m->value_size);
	uint32_t wrong = 0, lost = 0, n = 0, count, looks = 0;
	uint64_t cursor = 0;
	int err = 0;

	for (bool first = true; !err; first = false) {
		count = BATCH;
		err = gpubpf_map__lookup_batch(m->map, first ? NULL : &cursor, &cursor, keys, values, &count);
		for (uint32_t k = 0; k < count; k++, n++) {
			uint32_t key[2] = { 0 }, i;
			uint64_t copies[256];

			memcpy(key, keys + k * m->key_size, m->key_size);
			memcpy(copies, values + k * m->value_size, m->value_size);
			i = index_of(m, key);
			wrong += i == MILLION || seen[i]++ || m->value[i] != sum_of(m, copies) + 1;
		}
	}
	for (uint32_t i = 0; i < MILLION; i++)
		lost += m->value[i] && !seen[i];
	ok(err == -ENOENT && !wrong && !lost, "%s: %u keys, %u wrong, %u lost", what, n, wrong, lost);
	for (uint32_t i = 0; i < 200000; i++)
		looks += !look(m, (uint32_t)(random_next(&seed) >> 32) % MILLION);
	ok(!looks, "%s: look-ups, %u wrong", what, looks);
	free(seen);
	free(keys);
	free(values);
}

static void test_library(struct model *m, uint64_t seed)
{
	uint32_t wrong = 0, at;

	for (uint32_t i = 0; i < MILLION; i++)
		wrong += set(m, i, i & 0xffff, BPF_NOEXIST) != 0;
	ok(!wrong, "put in, %u refused", wrong);
	compare(m, seed + 2, "put in");
	for (at = 0; at < MILLION && change_random_key(m, &seed); at++)
		;
	ok(at == MILLION, "changed at random: as the model (%u)", at);
	compare(m, seed + 4, "changed at random");
}

static void lanes(struct model *m)
{
	bool copies = m->words > 1;

	for (uint32_t i = m->prefixes ? SHORT : 0; i < MILLION; i++) {
		uint64_t value = (mixed(i) & 0xffff) + 1;

		switch (lane_does(i)) {
		case LANE_SETS: m->value[i] = copies && m->value[i] ? m->value[i] : value; break;
		case LANE_DELETES: m->value[i] = m->prefixes ? m->value[i] : 0; break;
		case LANE_ADDS: m->value[i] += m->value[i] && !m->prefixes ? 5 : 0; break;
		case LANE_REPLACES: m->value[i] = value; break;
		}
	}
}

static void test_lanes(struct model *m, char **command, uint64_t seed)
{
	const struct gpubpf_map *done = gpubpf_session__find_map_by_name(m->s, "done");
	const struct gpubpf_map *failed = gpubpf_session__find_map_by_name(m->s, "failed");
	uint32_t last = MILLION - 1, first = 0, ran = 0;
	uint64_t n = UINT64_MAX;
	char **env;
	int status = -1;

	if (!gpubpf_session__environ(m->s, environ, &env)) {
		status = run_silently(m->s, command, env);
		free(env);
	}
	gpubpf_map__lookup_elem(done, &last, sizeof(last), &ran, sizeof(ran), 0);
	gpubpf_map__lookup_elem(failed, &first, sizeof(first), &n, sizeof(n), 0);
	ok(status == 0 && ran && !n, "a million lanes ran, %llu failed", (unsigned long long)n);
	lanes(m);
	compare(m, seed, "changed by lanes");
	ok(gpubpf_map__drops(m->map) == 0, "nothing was refused");
}

/* Start the session and find the table. Returns false on failure. */
static bool begin(struct model *m, const char *object)
{
	const struct gpubpf_session_opts opts = { .sz = sizeof(opts), .wait_ms = 1200000 };

	m->s = gpubpf_session__new(&opts);
	if (!ok(m->s && !gpubpf_session__add_object(m->s, object) && !gpubpf_session__load(m->s) && !gpubpf_session__start(m->s),
		"a session: %s", m->s ? gpubpf_session__error(m->s) : ""))
		return false;
	m->map = gpubpf_session__find_map_by_name(m->s, "table");
	m->prefixes = gpubpf_map__type(m->map) == BPF_MAP_TYPE_LPM_TRIE;
	m->key_size = gpubpf_map__key_size(m->map);
	m->value_size = gpubpf_map__user_value_size(m->map);
	m->words = m->value_size / 8;
	m->value = calloc(MILLION, sizeof(*m->value));
	m->buffer = malloc(m->value_size);
	return ok(m->words >= 1 && m->words <= 256, "%s: %zu words a value", gpubpf_map__type_str(m->map), m->words);
}

int main(int argc, char **argv)
{
	const char *pocl = "/etc/OpenCL/vendors/pocl.icd", *intel = getenv("GPUBPF_TEST_INTEL");
	const char *icd = argc > 3 && !strcmp(argv[1], "intel") ? intel : pocl;
	uint64_t seed = random_seed();
	struct model m = { 0 };

	if (argc < 4)
		return 2;
	if (!icd || access(icd, R_OK)) {
		skip(argv[1], "no such OpenCL device here");
		return done();
	}
	setenv("OCL_ICD_VENDORS", icd, 1);
	if (!begin(&m, argv[2]))
		return done();
	test_library(&m, seed);
	test_lanes(&m, argv + 3, seed + 6);
	gpubpf_session__free(m.s);
	free(m.value);
	free(m.buffer);
	return done();
}
