/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skeleton RUNTIME-DIR WORKERS AGENT APPLICATION...: a tool with a BPF skeleton. It attaches its BPF programs, runs
 * APPLICATION in the session, and prints the counts.
 */
#include "probe.skel.h"
#include "skeleton.h"

static unsigned long long value(const struct gpubpf_map *map, unsigned int key)
{
	unsigned long long v = 0;

	gpubpf_map__lookup_elem(map, &key, sizeof(key), &v, sizeof(v), 0);
	return v;
}

int main(int argc, char **argv)
{
	struct gpubpf_session_opts opts = skeleton_opts(argv);
	struct probe *obj = probe__open_opts(&opts);
	int status;

	if (!obj || probe__load(obj) < 0 || probe__attach(obj) < 0 || gpubpf_session__start(obj->session) < 0) {
		fprintf(stderr, "%s\n", obj ? gpubpf_session__error(obj->session) : "no memory");
		return 1;
	}
	gpubpf_link__detach(obj->links.leave);
	status = argc > 4 ? skeleton_run(obj->session, argv + 4) : 1;
	printf("status %d entries %llu exits %llu rodata %s rings %s\n", status, value(obj->maps.counts, 0), value(obj->maps.counts, 1),
	       gpubpf_map__name(obj->maps.rodata), gpubpf_map__type_str(obj->maps.records));
	probe__detach(obj);
	probe__destroy(obj);
	return 0;
}
