/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random operations on each map type and on a simple model of it: every result and every value must be equal. If bpf(2)
 * is permitted, the test also compares the model with the Linux kernel's maps.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fixture.h"
#include "tests/tap.h"

#define MAX_KEY 24
#define MAX_VALUE 40
#define MAX_MODEL 64
#define OPS 20000

#ifndef ENOTSUPP
#define ENOTSUPP 524 /* an error number that only Linux's internal headers define */
#endif

struct shape {
	const char *name;
	uint32_t type, key_size, value_size, max_entries, use, replicas;
	uint32_t keys; /* number of different keys; 0: more than max_entries */
};

static const struct shape shapes[] = {
	{ "array of u64", BPF_MAP_TYPE_ARRAY, 4, 8, 17, GPUBPF_USE_READ, 3 },
	{ "array of 13 bytes", BPF_MAP_TYPE_ARRAY, 4, 13, 5, GPUBPF_USE_WRITE, 3 },
	{ "replicated array", BPF_MAP_TYPE_ARRAY, 4, 24, 9, GPUBPF_USE_ADD | GPUBPF_USE_ADD8, 5 },
	{ "replicated array of u32", BPF_MAP_TYPE_ARRAY, 4, 12, 9, GPUBPF_USE_ADD | GPUBPF_USE_ADD4, 5 },
	{ "replicated array of maxima", BPF_MAP_TYPE_ARRAY, 4, 16, 9, GPUBPF_USE_MAX, 5 },
	{ "hash of u32 to u64", BPF_MAP_TYPE_HASH, 4, 8, 31, GPUBPF_USE_UPDATE, 3 },
	{ "hash that programs delete from", BPF_MAP_TYPE_HASH, 8, 40, 16, GPUBPF_USE_UPDATE | GPUBPF_USE_DELETE, 3 },
	{ "hash of long odd keys", BPF_MAP_TYPE_HASH, 21, 3, 20, GPUBPF_USE_DELETE, 3 },
	{ "hash of one", BPF_MAP_TYPE_HASH, 16, 16, 1, 0, 3 },
	{ "replicated hash", BPF_MAP_TYPE_HASH, 4, 8, 12, GPUBPF_USE_ADD | GPUBPF_USE_UPDATE, 4 },
	{ "LRU hash with room to spare", BPF_MAP_TYPE_LRU_HASH, 4, 8, 64, GPUBPF_USE_UPDATE, 3, 20 },
	{ "LRU hash of long keys", BPF_MAP_TYPE_LRU_HASH, 21, 40, 64, GPUBPF_USE_UPDATE, 3, 20 },
};

/* a map under test: gpubpf's, the model, or the Linux kernel's */
struct subject {
	int (*lookup)(void *self, const void *key, void *value);
	int (*update)(void *self, const void *key, const void *value, uint64_t flags);
	int (*delete)(void *self, const void *key);
	int (*take)(void *self, const void *key, void *value);
	int (*next_key)(void *self, const void *key, void *next);
	void *self;
};

struct model {
	const struct shape *shape;
	struct {
		bool used;
		uint8_t key[MAX_KEY], value[MAX_VALUE];
	} entry[MAX_MODEL];
};

static bool is_array(const struct shape *shape)
{
	return shape->type == BPF_MAP_TYPE_ARRAY;
}

static int model_find(struct model *m, const void *key)
{
	uint32_t i;

	for (i = 0; i < m->shape->max_entries; i++) {
		if (m->entry[i].used && !memcmp(m->entry[i].key, key, m->shape->key_size))
			return (int)i;
	}
	return -1;
}

static int model_lookup(void *self, const void *key, void *value)
{
	struct model *m = self;
	int i = model_find(m, key);

	if (i < 0)
		return -ENOENT;
	memcpy(value, m->entry[i].value, m->shape->value_size);
	return 0;
}

static int model_update(void *self, const void *key, const void *value, uint64_t flags)
{
	struct model *m = self;
	int i = model_find(m, key);

	if (flags > BPF_EXIST)
		return -EINVAL;
	if (i >= 0 && flags == BPF_NOEXIST)
		return -EEXIST;
	if (i < 0 && is_array(m->shape))
		return -E2BIG;
	if (i < 0 && flags == BPF_EXIST)
		return -ENOENT;
	for (uint32_t j = 0; i < 0 && j < m->shape->max_entries; j++) {
		if (!m->entry[j].used)
			i = (int)j;
	}
	if (i < 0)
		return -E2BIG;
	m->entry[i].used = true;
	memcpy(m->entry[i].key, key, m->shape->key_size);
	memcpy(m->entry[i].value, value, m->shape->value_size);
	return 0;
}

static int model_delete(void *self, const void *key)
{
	struct model *m = self;
	int i = model_find(m, key);

	if (is_array(m->shape))
		return -EINVAL;
	if (i < 0)
		return -ENOENT;
	m->entry[i].used = false;
	return 0;
}

static int model_take(void *self, const void *key, void *value)
{
	struct model *m = self;

	if (is_array(m->shape))
		return -ENOTSUPP;
	return model_lookup(self, key, value) < 0 ? -ENOENT : model_delete(self, key);
}

/* The model's order of keys is its own; this is only used to count keys. */
static int model_next_key(void *self, const void *key, void *next)
{
	struct model *m = self;
	uint32_t i = key ? (uint32_t)(model_find(m, key) + 1) : 0;

	while (i < m->shape->max_entries && !m->entry[i].used)
		i++;
	if (i == m->shape->max_entries)
		return -ENOENT;
	memcpy(next, m->entry[i].key, m->shape->key_size);
	return 0;
}

static void model_init(struct model *m, const struct shape *shape)
{
	uint32_t i;

	memset(m, 0, sizeof(*m));
	m->shape = shape;
	for (i = 0; is_array(shape) && i < shape->max_entries; i++) {
		m->entry[i].used = true;
		memcpy(m->entry[i].key, &i, sizeof(i));
	}
}

static int ours_lookup(void *self, const void *key, void *value)
{
	return gpubpf_map_lookup(self, key, value);
}

static int ours_update(void *self, const void *key, const void *value, uint64_t flags)
{
	return gpubpf_map_update(self, key, value, flags);
}

static int ours_delete(void *self, const void *key)
{
	return gpubpf_map_delete(self, key);
}

static int ours_take(void *self, const void *key, void *value)
{
	return gpubpf_map_lookup_and_delete(self, key, value);
}

static int ours_next_key(void *self, const void *key, void *next)
{
	return gpubpf_map_next_key(self, key, next);
}

static int kernel_call(int cmd, void *self, const void *key, const void *value, uint64_t flags)
{
	union bpf_attr attr = {
		.map_fd = (uint32_t)*(int *)self, .key = (uintptr_t)key, .value = (uintptr_t)value, .flags = flags
	};

	return syscall(SYS_bpf, cmd, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

static int kernel_lookup(void *self, const void *key, void *value)
{
	return kernel_call(BPF_MAP_LOOKUP_ELEM, self, key, value, 0);
}

static int kernel_update(void *self, const void *key, const void *value, uint64_t flags)
{
	return kernel_call(BPF_MAP_UPDATE_ELEM, self, key, value, flags);
}

static int kernel_delete(void *self, const void *key)
{
	return kernel_call(BPF_MAP_DELETE_ELEM, self, key, NULL, 0);
}

static int kernel_take(void *self, const void *key, void *value)
{
	return kernel_call(BPF_MAP_LOOKUP_AND_DELETE_ELEM, self, key, value, 0);
}

static int kernel_next_key(void *self, const void *key, void *next)
{
	return kernel_call(BPF_MAP_GET_NEXT_KEY, self, key, next, 0);
}

static int kernel_map(const struct shape *shape)
{
	union bpf_attr attr = { .map_type = shape->type,
				.key_size = shape->key_size,
				.value_size = shape->value_size,
				.max_entries = shape->max_entries };

	return (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
}

static void random_key(const struct shape *shape, uint64_t *seed, uint8_t *key)
{
	uint32_t keys = shape->keys ? shape->keys : shape->max_entries * 2 + 1,
		 which = (uint32_t)(random_next(seed) % keys), i;

	memset(key, 0, MAX_KEY);
	memcpy(key, &which, sizeof(which));
	for (i = 4; i < shape->key_size; i++)
		key[i] = (uint8_t)(which * 7 + (i % 3));
}

static int one_op(const struct subject *s, uint32_t op, const uint8_t *key, uint8_t *value, uint64_t flags)
{
	switch (op) {
	case 0:
		return s->lookup(s->self, key, value);
	case 1:
		return s->delete(s->self, key);
	case 2:
		return s->take(s->self, key, value);
	default:
		return s->update(s->self, key, value, flags);
	}
}

/* Returns true if the map has each key of the model exactly once, with the model's value, and no other key. */
static bool same_content(const struct shape *shape, const struct subject *s, struct model *m)
{
	uint8_t key[MAX_KEY] = { 0 }, next[MAX_KEY] = { 0 }, value[MAX_VALUE], wanted[MAX_VALUE];
	uint32_t seen = 0, used = 0, i;
	bool first = true;

	for (i = 0; i < shape->max_entries; i++)
		used += m->entry[i].used;
	while (s->next_key(s->self, first ? NULL : key, next) == 0 && seen++ <= used) {
		first = false;
		memcpy(key, next, sizeof(key));
		if (model_lookup(m, key, wanted) < 0 || s->lookup(s->self, key, value) < 0 ||
		    memcmp(value, wanted, shape->value_size))
			return false;
	}
	return seen == used;
}

static bool iterates(const struct shape *shape, struct gpubpf_map_view *view, struct model *m)
{
	uint8_t key[MAX_KEY] = { 0 }, value[MAX_VALUE], wanted[MAX_VALUE];
	uint32_t seen = 0, used = 0, i;
	uint64_t cursor = 0;

	for (i = 0; i < shape->max_entries; i++)
		used += m->entry[i].used;
	while (gpubpf_map_iterate(view, &cursor, key, value) == 0) {
		seen++;
		if (model_lookup(m, key, wanted) < 0 || memcmp(value, wanted, shape->value_size))
			return false;
	}
	return seen == used;
}

/* Run the same random operations on both. Prints the first difference; returns true if there is none. */
static bool agree(const struct shape *shape, const struct subject *s, struct model *m, uint64_t seed)
{
	const struct subject plain = { model_lookup, model_update, model_delete, model_take, model_next_key, m };
	uint8_t key[MAX_KEY], a[MAX_VALUE], b[MAX_VALUE];
	uint32_t i, j, op;
	uint64_t flags;
	int ra, rb;

	for (i = 0; i < OPS; i++) {
		random_key(shape, &seed, key);
		op = (uint32_t)(random_next(&seed) % 7);
		flags = random_next(&seed) % 16;
		flags = flags > 3 ? 0 : flags;
		for (j = 0; j < sizeof(a); j++)
			a[j] = b[j] = (uint8_t)random_next(&seed);
		ra = one_op(s, op, key, a, flags);
		rb = one_op(&plain, op, key, b, flags);
		if (ra != rb || ((op == 0 || op == 2) && ra == 0 && memcmp(a, b, shape->value_size))) {
			note("operation %u (%u, flags %llu): %d, wanted %d", i, op, (unsigned long long)flags, ra, rb);
			return false;
		}
		if (i % 512 == 0 && !same_content(shape, s, m)) {
			note("after operation %u the content differs", i);
			return false;
		}
	}
	return same_content(shape, s, m);
}

static void test_ours(const struct shape *shape, uint64_t seed)
{
	struct model m;
	struct fixture f;

	fixture_begin(&f);
	fixture_map(&f, shape->type, shape->key_size, shape->value_size, shape->max_entries, shape->use);
	f.opts.replicas = shape->replicas;
	model_init(&m, shape);
	if (!ok(fixture_ready(&f) == 0, "%s: layout", shape->name))
		return;
	ok(agree(shape, &(struct subject){ ours_lookup, ours_update, ours_delete, ours_take, ours_next_key, &f.view[0] },
		 &m, seed),
	   "%s: as the model, %u copies", shape->name, f.layout.maps[0].copies);
	ok(iterates(shape, &f.view[0], &m), "%s: iterates over what is there", shape->name);
	fixture_end(&f);
}

static void test_kernel(const struct shape *shape, uint64_t seed)
{
	struct model m;
	int fd = kernel_map(shape);

	if (fd < 0) {
		skip(shape->name, "bpf(2) is not allowed here: %s", strerror(errno));
		return;
	}
	model_init(&m, shape);
	ok(agree(shape, &(struct subject){ kernel_lookup, kernel_update, kernel_delete, kernel_take, kernel_next_key, &fd },
		 &m, seed),
	   "%s: the Linux kernel does the same", shape->name);
	close(fd);
}

int main(void)
{
	uint64_t seed = random_seed();
	size_t i;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		test_ours(&shapes[i], seed + i * 2);
	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		test_kernel(&shapes[i], seed + i * 2);
	return done();
}
