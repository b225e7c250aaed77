/* SPDX-License-Identifier: Apache-2.0 */
/* libgpubpf as a user's own program sees it: the public header alone, linked to the shared library. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpubpf/gpubpf.h"
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
	ok(gpubpf_session__stop(s) == -EINVAL, "stop before start is too early");
	err = gpubpf_session__load(s);
	if (!ok(!err, "load: %s", gpubpf_session__error(s)))
		return;
	ok(gpubpf_session__load(s) == -EBUSY, "load again is too late");
	ok(gpubpf_session__add_object(s, object) == -EBUSY, "add_object after load is too late");
	ok(gpubpf_session__attach(s, "p", "k") == -EBUSY, "attach after load is too late");
	ok(!gpubpf_session__start(s), "start: %s", gpubpf_session__error(s));
	ok(gpubpf_session__start(s) == -EBUSY, "start again is too late");
	ok(gpubpf_session__fd(s) >= 0 && !access(gpubpf_session__path(s), F_OK), "the socket is there");
	ok(gpubpf_session__poll(s, 0) == 0, "poll finds nothing to do");
	ok(!gpubpf_session__cost(s, &cost) && cost.verify_ns > 0, "verifying took time");
	ok(!gpubpf_session__stop(s) && !gpubpf_session__stop(s), "stop, and again");
	ok(access(gpubpf_session__path(s), F_OK) < 0, "the socket is gone");
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

static void test_bad(void)
{
	struct gpubpf_session_opts small = { .sz = 4 };
	struct gpubpf_session *s;

	errno = 0;
	ok(!gpubpf_session__new(&small) && errno == EINVAL, "options of no known size are refused");
	s = gpubpf_session__new(NULL);
	gpubpf_session__add_object(s, "/nonexistent/x.bpf.o");
	ok(gpubpf_session__load(s) < 0 && strstr(gpubpf_session__error(s), "/nonexistent/x.bpf.o"),
	   "a missing object is named: %s", gpubpf_session__error(s));
	gpubpf_session__free(s);
	gpubpf_session__free(NULL);
	ok(!strncmp(gpubpf_version_string(), "0.", 2), "version %s", gpubpf_version_string());
}

int main(int argc, char **argv)
{
	const char *object = argc > 1 ? argv[1] : "";

	test_order(object);
	test_maps(object);
	test_report(object);
	test_bad();
	return done();
}
