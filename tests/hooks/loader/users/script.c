/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script APP FOLDER STEP...: a loader with a skeleton, as in libbpf-tools, that performs these steps:
 *
 * `step=N`: set the global variable before the load; the next step loads the object.
 * `enter, leave`: attach that program to step_one() of APP.
 * `-enter, -leave`: destroy the program's link.
 * `run=N`: run APP N 0.
 * `put=K=N, del=K`: update or delete key K of the map seen.
 * `zero`: set the global variable total to 0.
 * `counts, events`: print the counts, or the number of new records.
 * `pin=WHAT=NAME`: pin a map, a program (prog-enter) or a link (link-enter) in the folder; unpin=WHAT removes the pin.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "script.skel.h"

static struct script_bpf *skel;
static struct bpf_link *links[2]; /* links of the programs enter and leave */
static struct ring_buffer *ring;
static const char *app, *folder;
static unsigned int records;

static int silent(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

static int see(void *ctx, void *data, size_t size)
{
	records += size == 8 && *(unsigned long long *)data == 7;
	return 0;
}

static int load(void)
{
	int err = skel->maps.events && bpf_map__fd(skel->maps.events) >= 0 ? 0 : script_bpf__load(skel);

	if (!err && !ring)
		ring = ring_buffer__new(bpf_map__fd(skel->maps.events), see, NULL, NULL);
	return err ? err : ring ? 0 : -errno;
}

static int attach(int which)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .func_name = "step_one", .retprobe = which);

	if (links[which])
		return -EALREADY;
	links[which] = bpf_program__attach_uprobe_opts(which ? skel->progs.leave : skel->progs.enter, -1, app, 0, &opts);
	return links[which] ? 0 : -errno;
}

static int destroy_link(int which)
{
	int err = links[which] ? bpf_link__destroy(links[which]) : -ENOENT;

	links[which] = NULL;
	return err;
}

static int run(const char *launches)
{
	char command[600];

	snprintf(command, sizeof(command), "%s %s 0 > /dev/null", app, launches);
	return system(command) < 0 ? -errno : 0;
}

static int update_seen(const char *what)
{
	char *end;
	unsigned int key = strtoul(what, &end, 0);
	unsigned long long value = strtoull(end + 1, NULL, 0);

	return bpf_map__update_elem(skel->maps.seen, &key, sizeof(key), &value, sizeof(value), BPF_ANY);
}

static int delete(const char *what)
{
	unsigned int key = strtoul(what, NULL, 0);

	return bpf_map__delete_elem(skel->maps.seen, &key, sizeof(key), 0);
}

static int zero(const char *unused)
{
	skel->bss->total = 0;
	return 0;
}

static int print_counts(const char *unused)
{
	int cpus = libbpf_num_possible_cpus();
	unsigned long long *each = calloc(cpus, sizeof(*each)), sum = 0, n = 0;
	unsigned int key;

	for (key = 0; key < 3; key++, n = 0) {
		bpf_map__lookup_elem(skel->maps.counts, &key, sizeof(key), &n, sizeof(n), 0);
		printf("counts %llu ", n);
	}
	key = 0;
	if (bpf_map__lookup_elem(skel->maps.split, &key, sizeof(key), each, cpus * sizeof(*each), 0))
		printf("split: %s ", strerror(errno));
	for (int i = 0; i < cpus; i++)
		sum += each[i];
	printf("split %llu total %llu ", sum, (unsigned long long)skel->bss->total);
	for (unsigned int *last = NULL; !bpf_map__get_next_key(skel->maps.seen, last, &key, sizeof(key)); last = &key)
		if (!bpf_map__lookup_elem(skel->maps.seen, &key, sizeof(key), &n, sizeof(n), 0))
			sum += n * (key + 1);
	printf("seen %llu ", sum);
	free(each);
	return 0;
}

static int print_events(const char *unused)
{
	int err;

	records = 0;
	err = ring_buffer__consume(ring);
	printf("events %u ", records);
	return err < 0 ? err : 0;
}

static int pin(const char *what)
{
	char path[600];
	const char *name = strchr(what, '=') + 1;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (!strncmp(what, "prog-", 5))
		return bpf_program__pin(what[5] == 'e' ? skel->progs.enter : skel->progs.leave, path);
	if (!strncmp(what, "link-", 5))
		return links[what[5] == 'l'] ? bpf_link__pin(links[what[5] == 'l'], path) : -ENOENT;
	return bpf_map__pin(*what == 'c' ? skel->maps.counts : *what == 's' ? skel->maps.seen : skel->maps.split, path);
}

static int unpin(const char *what)
{
	if (!strncmp(what, "link-", 5))
		return links[what[5] == 'l'] ? bpf_link__unpin(links[what[5] == 'l']) : -ENOENT;
	return bpf_map__unpin(*what == 'c' ? skel->maps.counts : skel->maps.seen, NULL);
}

static int set_step(const char *n)
{
	if (bpf_map__fd(skel->maps.counts) >= 0)
		return -EBUSY;
	skel->rodata->step = strtoull(n, NULL, 0);
	return 0;
}

static int do_step(const char *what)
{
	static const struct {
		const char *name;
		int (*does)(const char *what);
	} steps[] = { { "run=", run }, { "put=", update_seen }, { "del=", delete }, { "zero", zero }, { "counts", print_counts },
		      { "events", print_events }, { "pin=", pin }, { "unpin=", unpin } };
	int err;

	if (!strncmp(what, "step=", 5))
		return set_step(what + 5);
	err = load();
	if (err)
		return err;
	if (strstr("-enter-leave", what) && *what != 'p')
		return *what == '-' ? destroy_link(what[1] == 'l') : attach(*what == 'l');
	for (unsigned int i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		if (!strncmp(what, steps[i].name, strlen(steps[i].name)))
			return steps[i].does(what + strlen(steps[i].name));
	return -ENOSYS;
}

int main(int argc, char **argv)
{
	libbpf_set_print(silent);
	app = argv[1];
	folder = argv[2];
	skel = script_bpf__open();
	if (!skel)
		return 1;
	for (int i = 3; i < argc; i++) {
		int err = do_step(argv[i]);

		printf("%s: %s\n", argv[i], err ? strerror(-err) : "done");
		fflush(stdout);
	}
	for (int which = 0; which < 2; which++)
		if (links[which])
			bpf_link__destroy(links[which]);
	ring_buffer__free(ring);
	script_bpf__destroy(skel);
	return 0;
}
