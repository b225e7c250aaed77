/* SPDX-License-Identifier: Apache-2.0 */
/* Tests libgpubpf as an application of its user sees it: through the public header and the shared library only. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpubpf/gpubpf.h"
#include "tests/core/session/own_dir.h"
#include "tests/tap.h"

static struct gpubpf_session *open_session(const char *object)
{
	struct gpubpf_session_opts opts = { .sz = sizeof(opts), .wait_ms = 5000 };
	struct gpubpf_session *s = gpubpf_session__new(&opts);

	if (s)
		gpubpf_session__add_object(s, object);
	return s;
}

static void test_order(const char *object)
{
	struct gpubpf_session *s = open_session(object);
	struct gpubpf_cost_stats cost = { .sz = sizeof(cost) };
	int err;

	ok(gpubpf_session__start(s) == -EINVAL, "start before load is too early");
	ok(gpubpf_session__poll(s, 0) == -EINVAL, "poll before start is too early");
	ok(gpubpf_session__fd(s) == -1 && !gpubpf_session__path(s), "no descriptor and no path before start");
	ok(gpubpf_session__stop(s) == -EINVAL && strstr(gpubpf_session__error(s), "not started"),
	   "stop before start is too early");
	ok(gpubpf_session__enable(s, true) == -EINVAL && strstr(gpubpf_session__error(s), "is not running"),
	   "enable before start is too early");
	err = gpubpf_session__load(s);
	if (!ok(!err, "load: %s", gpubpf_session__error(s)))
		return;
	ok(gpubpf_session__load(s) == -EBUSY, "load again is too late");
	ok(!gpubpf_session__add_object(s, object), "add_object after load: it is there");
	ok(gpubpf_session__add_object(s, "/nonexistent/x.bpf.o") == -ENOENT &&
		   strstr(gpubpf_session__error(s), "/nonexistent/x.bpf.o"),
	   "what is not there is refused: %s", gpubpf_session__error(s));
	ok(gpubpf_session__attach(s, "p", "k") == -EBUSY, "attach after load is too late");
	ok(!gpubpf_session__start(s), "start: %s", gpubpf_session__error(s));
	ok(gpubpf_session__start(s) == -EBUSY, "start again is too late");
	ok(gpubpf_session__fd(s) >= 0 && !access(gpubpf_session__path(s), F_OK), "the socket is there");
	ok(gpubpf_session__poll(s, 0) == 0, "poll finds nothing to do");
	ok(!gpubpf_session__cost(s, &cost) && cost.verify_ns > 0, "verifying took time");
	ok(!gpubpf_session__stop(s) && !gpubpf_session__stop(s), "stop, and again");
	ok(access(gpubpf_session__path(s), F_OK) < 0, "the socket is gone");
	ok(gpubpf_session__add_object(s, object) == -EBUSY, "add_object after stop is too late");
	gpubpf_session__free(s);
}

static void test_direct_runs(const char *object)
{
	struct gpubpf_session *s = open_session(object);
	struct gpubpf_test_run_opts opts = { .sz = sizeof(opts) }, none = { .sz = 0 },
				    wide = { .sz = sizeof(wide), .block = { 65536, 65536, 1 } };
	const struct gpubpf_prog *prog;

	gpubpf_session__load(s);
	prog = gpubpf_session__next_program(s, NULL);
	ok(gpubpf_prog__test_run(prog, &opts) == -EINVAL && strstr(gpubpf_session__error(s), "is not running"),
	   "a direct run before start is too early");
	gpubpf_session__start(s);
	ok(gpubpf_prog__test_run(prog, &opts) == -EINVAL &&
		   strstr(gpubpf_session__error(s), "needs a kernel of an application"),
	   "a program for kernels does not run by itself: %s", gpubpf_session__error(s));
	ok(gpubpf_prog__test_run(prog, &none) == -EINVAL && strstr(gpubpf_session__error(s), "sz is not set"),
	   "options without their size");
	ok(gpubpf_prog__test_run(prog, &wide) == -EINVAL, "too many threads per block");
	gpubpf_session__free(s);
}

static void test_maps(const char *object)
{
	struct gpubpf_session *s = open_session(object);
	struct gpubpf_map *map = NULL;
	uint64_t value[8] = { 7 }, got[8] = { 0 };
	uint32_t key = 0, next;

	if (!ok(!gpubpf_session__load(s), "load")) {
		gpubpf_session__free(s);
		return;
	}
	ok(!gpubpf_session__find_map_by_name(s, "nope") && errno == ENOENT, "there is no map nope");
	while ((map = gpubpf_session__next_map(s, map)))
		if (!strcmp(gpubpf_map__type_str(map), "ARRAY") && gpubpf_map__value_size(map) <= sizeof(value) &&
		    gpubpf_map__name(map)[0] != '.')
			break;
	if (!ok(map != NULL, "the object has an array"))
		return;
	ok(gpubpf_session__find_map_by_name(s, gpubpf_map__name(map)) == map, "it is found by its name");
	ok(gpubpf_map__lookup_elem(map, &key, 3, got, gpubpf_map__value_size(map), 0) == -EINVAL, "wrong key size");
	ok(gpubpf_map__lookup_elem(map, &key, 4, got, 1, 0) == -EINVAL, "wrong value size");
	ok(gpubpf_map__lookup_and_delete_elem(map, &key, 4, got, gpubpf_map__user_value_size(map), 0) == -EINVAL,
	   "nothing is taken out of an array");
	ok(!gpubpf_map__update_elem(map, &key, 4, value, gpubpf_map__user_value_size(map), 0), "update");
	ok(!gpubpf_map__lookup_elem(map, &key, 4, got, gpubpf_map__user_value_size(map), 0) && got[0] == 7,
	   "what was put in comes out");
	ok(!gpubpf_map__get_next_key(map, NULL, &next, 4) && next == 0, "the first key is 0");
	key = gpubpf_map__max_entries(map);
	ok(gpubpf_map__lookup_elem(map, &key, 4, got, gpubpf_map__user_value_size(map), 0) == -ENOENT,
	   "an index past the end is not there");
	ok(gpubpf_map__drops(map) == 0, "nothing was dropped");
	gpubpf_session__free(s);
}

static struct gpubpf_map *map_of_type(struct gpubpf_session *s, const char *type)
{
	struct gpubpf_map *map = NULL;

	while ((map = gpubpf_session__next_map(s, map)))
		if (!strcmp(gpubpf_map__type_str(map), type) && gpubpf_map__name(map)[0] != '.')
			break;
	return map;
}

static void test_add(struct gpubpf_map *map)
{
	uint32_t key = 0, past = gpubpf_map__max_entries(map);
	size_t size = gpubpf_map__user_value_size(map);
	uint64_t value[64] = { 1000 };

	gpubpf_map__update_elem(map, &key, 4, value, size, 0);
	ok(!gpubpf_map__add(map, &key, 4, 0, 8, 5) && !gpubpf_map__add(map, &key, 4, 0, 8, -1ull), "add");
	ok(!gpubpf_map__lookup_elem(map, &key, 4, value, size, 0) && value[0] == 1004, "what was added is there");
	ok(gpubpf_map__add(map, &past, 4, 0, 8, 1) == -E2BIG, "nothing is added past the end");
	ok(gpubpf_map__add(map, &key, 3, 0, 8, 1) == -EINVAL && gpubpf_map__add(map, &key, 4, 4, 8, 1) == -EINVAL &&
		   gpubpf_map__add(map, &key, 4, 0, 2, 1) == -EINVAL &&
		   gpubpf_map__add(map, &key, 4, size, 8, 1) == -EINVAL,
	   "nor to what is no word of a value");
}

#define KEYS 1000

/*
 * Read the hash table in several batch calls, and delete the elements if take is set. Returns true if each key occurs
 * once, with its value, and wanted keys are found.
 */
static bool walk_batches(const struct gpubpf_map *map, bool take, uint32_t wanted)
{
	uint64_t keys[96], values[96], place = 0, sum = 0, *from = NULL;
	uint32_t n, found = 0;
	int err;

	do {
		n = 96;
		err = take ? gpubpf_map__lookup_and_delete_batch(map, from, &place, keys, values, &n) :
			     gpubpf_map__lookup_batch(map, from, &place, keys, values, &n);
		for (uint32_t i = 0; i < n; i++)
			sum += values[i] == 3 * keys[i] ? keys[i] : 1ull << 40;
		found += n;
		from = &place;
	} while (!err);
	return err == -ENOENT && found == wanted && sum == (uint64_t)wanted * (wanted - 1) / 2;
}

static void test_batches(struct gpubpf_map *map)
{
	static uint64_t keys[KEYS], values[KEYS];
	uint64_t place;
	uint32_t n = KEYS;

	for (uint32_t i = 0; i < KEYS; i++)
		values[i] = 3 * (keys[i] = i);
	ok(!gpubpf_map__update_batch(map, keys, values, &n, 1) && n == KEYS, "update a batch");
	ok(gpubpf_map__update_batch(map, keys, values, &n, 1) == -EEXIST && !n, "what is there is not put in anew");
	ok(walk_batches(map, false, KEYS), "look batches up: each key once, with its value");
	n = KEYS - 900;
	ok(!gpubpf_map__delete_batch(map, keys + 900, &n) && n == 100, "delete a batch");
	n = 2;
	ok(gpubpf_map__delete_batch(map, keys + 899, &n) == -ENOENT && n == 1, "up to what is not there");
	ok(walk_batches(map, true, 899) && walk_batches(map, false, 0), "take all out: it is empty");
	n = 1;
	ok(gpubpf_map__lookup_batch(map, &(uint64_t){ ~0ull }, &place, keys, values, &n) == -ENOENT && !n,
	   "a place that is none");
	ok(!gpubpf_map__add(map, keys, 8, 0, 8, 7) && !gpubpf_map__add(map, keys, 8, 0, 8, 7) &&
		   !gpubpf_map__lookup_elem(map, keys, 8, values, 8, 0) && values[0] == 14,
	   "an add makes what is not there");
}

/*
 * gpubpf_map__memory() fails for a summed map and for a hash table; tests/core/session/package.py tests maps that have
 * memory.
 */
static void test_memory(const struct gpubpf_map *sums, const struct gpubpf_map *hash)
{
	const void *values = NULL;
	size_t stride = 0;

	ok(gpubpf_map__memory(sums, &values, &stride) == -EOPNOTSUPP && !values && !stride,
	   "sums have no memory of theirs alone");
	ok(gpubpf_map__memory(hash, &values, &stride) == -EINVAL && !values, "a hash has none");
}

static void test_many(const char *object)
{
	struct gpubpf_session *s = open_session(object);
	struct gpubpf_map *array = NULL, *hash = NULL;
	uint64_t place, value[64];
	uint32_t key, n = 1;

	if (!ok(!gpubpf_session__load(s) && (array = map_of_type(s, "ARRAY")) && (hash = map_of_type(s, "HASH")) &&
			gpubpf_map__key_size(hash) == 8 && gpubpf_map__value_size(hash) == 8 &&
			gpubpf_map__max_entries(hash) >= KEYS,
		"an array and a hash table")) {
		gpubpf_session__free(s);
		return;
	}
	test_add(array);
	test_memory(array, hash);
	ok(!gpubpf_map__lookup_batch(array, NULL, &place, &key, value, &n) && n == 1 && !key && value[0] == 1004,
	   "a batch of an array");
	n = 1;
	ok(gpubpf_map__lookup_and_delete_batch(array, NULL, &place, &key, value, &n) == -EINVAL && !n,
	   "nothing is taken out of an array");
	test_batches(hash);
	gpubpf_session__free(s);
}

static void test_report(const char *object)
{
	struct gpubpf_report_opts opts = { .sz = sizeof(opts), .json = true };
	struct gpubpf_session *s = open_session(object);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ok(gpubpf_session__report(s, out, &opts) == -EINVAL, "no report before load");
	gpubpf_session__load(s);
	ok(!gpubpf_session__report(s, out, &opts), "a report: %s", gpubpf_session__error(s));
	fflush(out);
	ok(strstr(text, "\"maps\"") && strstr(text, "\"dropped\": 0") && strstr(text, "\"cost\""), "with its members");
	opts.map = "nope";
	ok(gpubpf_session__report(s, out, &opts) == -ENOENT && strstr(gpubpf_session__error(s), "nope"),
	   "a map that is not there is named");
	fclose(out);
	free(text);
	gpubpf_session__free(s);
}

/* Option structs of other library versions: a shorter struct, and one with members that this version does not know. */
static void test_options_size(void)
{
	struct {
		struct gpubpf_session_opts opts;
		uint64_t unknown[2];
	} newer = { .opts.sz = sizeof(newer) };
	struct gpubpf_session_opts older = { .sz = offsetof(struct gpubpf_session_opts, wait_ms) };
	static const size_t wrong[] = { 0, 4, sizeof(size_t) - 1, 4097, SIZE_MAX };
	struct gpubpf_session *s;

	older.cache_dir = "/nonexistent";
	older.sample = ~0ull; /* beyond its size */
	s = gpubpf_session__new(&older);
	ok(s != NULL, "shorter options are taken");
	gpubpf_session__free(s);
	s = gpubpf_session__new(&newer.opts);
	ok(s != NULL, "longer options are taken, what is unknown being zero");
	gpubpf_session__free(s);
	newer.unknown[1] = 1ull << 63;
	errno = 0;
	ok(!gpubpf_session__new(&newer.opts) && errno == EINVAL, "an unknown option is refused");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		older.sz = wrong[i];
		errno = 0;
		ok(!gpubpf_session__new(&older) && errno == EINVAL, "a size of %zu is refused", wrong[i]);
	}
}

static void test_report_size(struct gpubpf_session *s, FILE *out)
{
	struct {
		struct gpubpf_report_opts opts;
		uint64_t unknown;
	} newer = { .opts.sz = sizeof(newer) };
	struct gpubpf_report_opts older = { .sz = offsetof(struct gpubpf_report_opts, map), .map = "not part of it" };

	ok(!gpubpf_session__report(s, out, &older), "a report with shorter options: %s", gpubpf_session__error(s));
	ok(!gpubpf_session__report(s, out, &newer.opts), "with longer ones: %s", gpubpf_session__error(s));
	newer.unknown = 1;
	ok(gpubpf_session__report(s, out, &newer.opts) == -EINVAL && strstr(gpubpf_session__error(s), "newer"),
	   "an unknown option is refused: %s", gpubpf_session__error(s));
}

static void test_stats_size(struct gpubpf_session *s)
{
	struct {
		struct gpubpf_cost_stats stats;
		uint64_t unknown;
	} newer = { .stats.sz = sizeof(newer) };
	struct gpubpf_cost_stats older = { .sz = offsetof(struct gpubpf_cost_stats, lower_ns), .lower_ns = 77 };
	struct gpubpf_kernel_stats kernel = { .sz = offsetof(struct gpubpf_kernel_stats, launches) };

	ok(!gpubpf_session__cost(s, &older) && older.verify_ns > 0 && older.lower_ns == 77,
	   "shorter statistics are filled as far as they go");
	ok(older.sz == offsetof(struct gpubpf_cost_stats, lower_ns), "their size stays");
	ok(!gpubpf_session__cost(s, &newer.stats) && newer.stats.verify_ns > 0 && newer.unknown == 0,
	   "longer ones too; what is unknown stays zero");
	ok(gpubpf_session__kernel(s, 0, &kernel) == -ENOENT, "shorter ones of a kernel");
	newer.unknown = 1;
	ok(gpubpf_session__cost(s, &newer.stats) == -EINVAL, "something in unknown members is refused");
	kernel.sz = 0;
	ok(gpubpf_session__kernel(s, 0, &kernel) == -EINVAL && strstr(gpubpf_session__error(s), "sz is not set"),
	   "so is no size: %s", gpubpf_session__error(s));
}

static void test_sizes(const char *object)
{
	struct gpubpf_session *s = open_session(object);
	FILE *out = fopen("/dev/null", "w");

	test_options_size();
	gpubpf_session__load(s);
	test_report_size(s, out);
	test_stats_size(s);
	fclose(out);
	gpubpf_session__free(s);
}

/*
 * Objects that no session can load, because their maps are too large or too many, with the errors that the header
 * documents.
 */
static void test_room(const char *object, const char *large, const char *crowd)
{
	struct gpubpf_session *s = gpubpf_session__new(NULL);

	gpubpf_session__add_object(s, large);
	ok(gpubpf_session__load(s) == -E2BIG && strstr(gpubpf_session__error(s), "map far"),
	   "maps larger than memory may be: %s", gpubpf_session__error(s));
	gpubpf_session__free(s);
	s = gpubpf_session__new(NULL);
	gpubpf_session__add_object(s, object);
	ok(!gpubpf_session__load(s) && gpubpf_session__add_object(s, large) == -E2BIG &&
		   strstr(gpubpf_session__error(s), "map far"),
	   "they do not join either: %s", gpubpf_session__error(s));
	ok(gpubpf_session__add_object(s, crowd) == -EINVAL && strstr(gpubpf_session__error(s), "maps"),
	   "an object with 257 maps is refused: %s", gpubpf_session__error(s));
	gpubpf_session__free(s);
}

static int load_with(const char *object, const char *map, size_t size, uint64_t *hits)
{
	static const uint64_t values[2] = { 99, 1 };
	struct gpubpf_session *s = gpubpf_session__new(NULL);
	uint32_t key = 0;
	int err;

	gpubpf_session__add_object(s, object);
	err = gpubpf_session__set_initial_value(s, object, map, values, size);
	if (!err)
		err = gpubpf_session__load(s);
	if (err)
		printf("# %s\n", gpubpf_session__error(s));
	else if (gpubpf_session__set_initial_value(s, object, map, values, size) == -EBUSY)
		gpubpf_map__lookup_elem(gpubpf_session__find_map_by_name(s, "session.data"), &key, sizeof(key), hits,
					sizeof(*hits), 0);
	gpubpf_session__free(s);
	return err;
}

static void test_initial(const char *object)
{
	struct gpubpf_session *s = gpubpf_session__new(NULL);
	uint64_t hits = 0;

	ok(!load_with(object, ".data", 8, &hits) && hits == 99,
	   "global data begins with what is given before load, and not after: %llu", (unsigned long long)hits);
	ok(load_with(object, ".data", 16, &hits) == -EINVAL, "other sizes are refused");
	ok(load_with(object, ".rodata", 8, &hits) == -EINVAL && load_with(object, "data", 8, &hits) == -EINVAL,
	   "as is data that the object does not have");
	gpubpf_session__add_object(s, object);
	gpubpf_session__set_initial_value(s, "other.bpf.o", ".data", &hits, sizeof(hits));
	ok(gpubpf_session__load(s) == -EINVAL && strstr(gpubpf_session__error(s), "other.bpf.o"),
	   "and data of an object that was not added: %s", gpubpf_session__error(s));
	gpubpf_session__free(s);
}

/* An object joins a loaded session. Initial values set before the join apply; later ones are refused. */
static void test_joined(const char *first, const char *object)
{
	struct gpubpf_session *s = gpubpf_session__new(NULL);
	uint64_t values[2] = { 77, 1 }, hits = 0;
	uint32_t key = 0;
	char again[4096];

	snprintf(again, sizeof(again), "%s/%s", object[0] == '/' ? "" : ".", object);
	gpubpf_session__add_object(s, first);
	ok(!gpubpf_session__load(s) && gpubpf_session__set_initial_value(s, first, ".data", values, 8) == -EBUSY,
	   "an object that was loaded has begun: %s", gpubpf_session__error(s));
	ok(!gpubpf_session__set_initial_value(s, object, ".data", values, 16) &&
		   gpubpf_session__add_object(s, object) == -EINVAL && strstr(gpubpf_session__error(s), "16 bytes") &&
		   !gpubpf_session__find_map_by_name(s, "session.data"),
	   "one that joins is refused other sizes: %s", gpubpf_session__error(s));
	ok(!gpubpf_session__set_initial_value(s, object, ".data", values, 8) && !gpubpf_session__add_object(s, object) &&
		   !gpubpf_map__lookup_elem(gpubpf_session__find_map_by_name(s, "session.data"), &key, sizeof(key),
					    &hits, sizeof(hits), 0) &&
		   hits == 77,
	   "and begins with what was given last");
	ok(gpubpf_session__set_initial_value(s, object, ".data", values, 8) == -EBUSY, "once");
	ok(!gpubpf_session__add_object(s, object) && !gpubpf_session__add_object(s, again),
	   "it is there, by another name too");
	ok(!gpubpf_session__set_initial_value(s, again, ".data", values, 8) &&
		   gpubpf_session__add_object(s, again) == -EBUSY,
	   "which has no data of its own: %s", gpubpf_session__error(s));
	gpubpf_session__free(s);
}

static void test_bad(void)
{
	struct gpubpf_session_opts opts = { .sz = sizeof(opts), .route = "nowhere" };
	struct gpubpf_session *s;

	s = gpubpf_session__new(NULL);
	gpubpf_session__add_object(s, "/nonexistent/x.bpf.o");
	ok(gpubpf_session__load(s) == -ENOENT && strstr(gpubpf_session__error(s), "/nonexistent/x.bpf.o"),
	   "a missing object is named: %s", gpubpf_session__error(s));
	gpubpf_session__free(s);
	s = gpubpf_session__new(&opts);
	ok(gpubpf_session__load(s) == -EINVAL && strstr(gpubpf_session__error(s), "use one of: ptx wrap spirv amdgpu sass"),
	   "and a route that is none: %s", gpubpf_session__error(s));
	gpubpf_session__free(s);
	gpubpf_session__free(NULL);
	ok(!strncmp(gpubpf_version_string(), "0.", 2), "version %s", gpubpf_version_string());
}

int main(int argc, char **argv)
{
	const char *object = argc > 1 ? argv[1] : "";

	own_dir_make();
	test_order(object);
	test_direct_runs(object);
	test_maps(object);
	test_report(object);
	test_many(argc > 2 ? argv[2] : "");
	test_sizes(object);
	test_room(object, argc > 3 ? argv[3] : "", argc > 4 ? argv[4] : "");
	test_initial(object);
	test_joined(argc > 2 ? argv[2] : "", object);
	test_bad();
	return done();
}
