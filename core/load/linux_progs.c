/* SPDX-License-Identifier: Apache-2.0 */
#include "linux_progs.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "core/model/diag.h"
#include "gpubpf/allocation.h"
#include "gpubpf/arm.h"
#include "gpubpf/placement.h"
#include "internal.h"

#define EVENT_SECTION "perf_event/"
#define MAX_TARGET 4096                /* maximum length in bytes of an attach target */
#define MAX_USED 256                   /* maximum number of maps examined for one program */

struct gpubpf_linux {
	struct bpf_object *obj;
	struct bpf_link **more; /* [nmore] further links of programs that are attached to each CPU */
	uint32_t nmore;
	struct bpf_link **links; /* [nlinks]: by index in object->host, or NULL if not attached */
	uint32_t nlinks;
	uint32_t *used; /* [nused]: ids of the maps that loaded programs use */
	uint32_t nused;
};

/*
 * Writes a reason of one line: the operation `what` and its error. If rights are missing, writes the required rights
 * instead.
 */
static int set_reason(int err, const char *what, char *why, size_t size)
{
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (err == -EPERM || err == -EACCES)
		snprintf(why, size, "%s requires root, or CAP_BPF and CAP_PERFMON", what);
	else {
		gpubpf_log_refuse(&diag, what, err);
		snprintf(why, size, "%s", diag.what);
	}
	return err;
}

static bool is_ours(const struct gpubpf_loaded_object *object, const char *program)
{
	for (uint32_t i = 0; i < object->nhost; i++)
		if (!strcmp(object->host[i], program))
			return true;
	return false;
}

static const struct gpubpf_map *unit_map(const struct gpubpf_unit *unit, int index, const char *name)
{
	for (uint32_t i = 0; i < unit->nmaps; i++)
		if (unit->maps[i].object == index && !strcmp(unit->maps[i].name, name))
			return &unit->maps[i];
	return NULL;
}

/*
 * Returns true if the map is an initial element of a map of maps. The flags of such a map must not change: the Linux
 * kernel requires that they equal the prototype's flags.
 */
static bool is_element(const struct gpubpf_unit *unit, const struct gpubpf_map *map)
{
	for (uint32_t i = 0; i < unit->nmaps; i++)
		for (uint32_t e = 0; unit->maps[i].inner && e < unit->maps[i].nelements; e++)
			if (map == &unit->maps[unit->maps[i].elements[e].map])
				return true;
	return false;
}

/*
 * Prepares a map for the Linux kernel. Arrays that a GPU uses too become mappable. Map types that the Linux kernel does
 * not have are not created. Maps that contain GPU programs are not created either. Their type becomes ARRAY, because
 * libbpf would fill the slots of every PROG_ARRAY.
 */
static void choose_map(struct bpf_map *map, const struct gpubpf_map *other, const struct gpubpf_unit *unit)
{
	uint32_t type = bpf_map__type(map);
	bool progs = type == BPF_MAP_TYPE_PROG_ARRAY && other && other->nelements;

	if (type == GPUBPF_SHARED_ARRAY || progs)
		bpf_map__set_type(map, BPF_MAP_TYPE_ARRAY);
	if (progs || (type >= GPUBPF_FIRST_OWN_TYPE && type != GPUBPF_SHARED_ARRAY))
		bpf_map__set_autocreate(map, false);
	else if (other && !other->rdonly && bpf_map__type(map) == BPF_MAP_TYPE_ARRAY && !is_element(unit, other))
		bpf_map__set_map_flags(map, bpf_map__map_flags(map) | BPF_F_MMAPABLE);
	/*
	 * the key and value types of a ring buffer only tell its reader the type of the records; the Linux kernel
	 * refuses them
	 */
	if (type == BPF_MAP_TYPE_RINGBUF || type == BPF_MAP_TYPE_PERF_EVENT_ARRAY) {
		bpf_map__set_key_size(map, type == BPF_MAP_TYPE_RINGBUF ? 0 : sizeof(uint32_t));
		bpf_map__set_value_size(map, type == BPF_MAP_TYPE_RINGBUF ? 0 : sizeof(uint32_t));
	}
	/* remove flags that exist only for GPUs */
	bpf_map__set_map_flags(map, bpf_map__map_flags(map) &
					    ~(uint32_t)(GPUBPF_F_PLACE_MASK | GPUBPF_F_ALLOCATIONS | GPUBPF_F_ARMS));
	bpf_map__set_pin_path(map, NULL);
	if (other && other->global_data && other->init)
		bpf_map__set_initial_value(map, other->init, other->value_size);
}

static void choose(struct bpf_object *obj, const struct gpubpf_loaded_object *object, const struct gpubpf_unit *unit,
		   int index)
{
	struct bpf_program *prog;
	struct bpf_map *map;

	bpf_object__for_each_program(prog, obj)
	{
		bpf_program__set_autoload(prog, is_ours(object, bpf_program__name(prog)));
		if (!strncmp(bpf_program__section_name(prog), EVENT_SECTION, strlen(EVENT_SECTION)))
			bpf_program__set_type(prog, BPF_PROG_TYPE_PERF_EVENT);
	}
	bpf_object__for_each_map(map, obj) choose_map(map, unit_map(unit, index, bpf_map__name(map)), unit);
}

static int add_used(struct gpubpf_linux *k, int fd)
{
	uint32_t ids[MAX_USED], *grown;
	struct bpf_prog_info info = { .nr_map_ids = MAX_USED, .map_ids = (uintptr_t)ids };
	uint32_t size = sizeof(info), n;

	if (bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
		return -errno;
	n = info.nr_map_ids < MAX_USED ? info.nr_map_ids : MAX_USED;
	grown = reallocarray(k->used, k->nused + n + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memcpy(grown + k->nused, ids, n * sizeof(*ids));
	k->used = grown;
	k->nused += n;
	return 0;
}

static int find_used(struct gpubpf_linux *k)
{
	struct bpf_program *prog;
	int err = 0;

	bpf_object__for_each_program(prog, k->obj) if (!err && bpf_program__autoload(prog))
		err = add_used(k, bpf_program__fd(prog));
	return err;
}

static int load(struct gpubpf_linux *k, const struct gpubpf_loaded_object *object, const struct gpubpf_unit *unit,
		int index, char *why, size_t size)
{
	char name[64];
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = name);
	int err;

	gpubpf_object_name(object->path, name, sizeof(name));
	k->links = calloc(object->nhost, sizeof(*k->links));
	k->nlinks = object->nhost;
	if (!k->links)
		return set_reason(-ENOMEM, "loading the object", why, size);
	k->obj = bpf_object__open_mem(object->image, object->size, &opts);
	if (!k->obj)
		return set_reason(-errno, "opening the object for the Linux kernel", why, size);
	choose(k->obj, object, unit, index);
	err = bpf_object__load(k->obj);
	if (!err)
		err = find_used(k);
	return err < 0 ? set_reason(err, "loading the object into the Linux kernel", why, size) : 0;
}

int gpubpf_linux_load(const struct gpubpf_loaded_object *object, const struct gpubpf_unit *unit, int index,
		      struct gpubpf_linux **kernel, char *why, size_t size)
{
	struct gpubpf_linux *k = calloc(1, sizeof(*k));
	int err = -ENOMEM;

	gpubpf_libbpf_lock();
	if (k)
		err = load(k, object, unit, index, why, size);
	else
		set_reason(err, "loading it", why, size);
	gpubpf_libbpf_unlock();
	if (err < 0)
		gpubpf_linux_destroy(k);
	else
		*kernel = k;
	return err;
}

static const struct bpf_map *find_used_map(const struct gpubpf_linux *k, const char *name)
{
	struct bpf_map *map;
	struct bpf_map_info info;
	uint32_t size;

	bpf_object__for_each_map(map, k->obj)
	{
		size = sizeof(info);
		memset(&info, 0, sizeof(info));
		if (strcmp(bpf_map__name(map), name) || bpf_map__fd(map) < 0 ||
		    bpf_obj_get_info_by_fd(bpf_map__fd(map), &info, &size) < 0)
			continue;
		for (uint32_t i = 0; i < k->nused; i++)
			if (k->used[i] == info.id)
				return map;
	}
	return NULL;
}

int gpubpf_linux_map(const struct gpubpf_linux *k, const char *name)
{
	const struct bpf_map *map = find_used_map(k, name);

	return map ? bpf_map__fd(map) : -1;
}

static bool is_map(const struct bpf_insn *insn, int fd)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW) && insn->src_reg == BPF_PSEUDO_MAP_FD && insn->imm == fd;
}

/*
 * Returns true if r1 may hold the map of this file descriptor at the call. Examines only the instructions directly
 * before the call.
 */
static bool may_pass_map(const struct bpf_insn *insns, size_t call, int fd)
{
	for (size_t i = call; i-- > 0 && BPF_CLASS(insns[i].code) != BPF_JMP && BPF_CLASS(insns[i].code) != BPF_JMP32;)
		if (insns[i].dst_reg == 1 && insns[i].code == (BPF_LD | BPF_IMM | BPF_DW))
			return is_map(&insns[i], fd);
	return true;
}

static bool calls(const struct bpf_insn *insns, size_t n, int fd, int helper)
{
	bool names = false, any = false;

	for (size_t i = 0; i < n; i++) {
		names |= is_map(&insns[i], fd);
		any |= insns[i].code == (BPF_JMP | BPF_CALL) && !insns[i].src_reg && insns[i].imm == helper &&
		       may_pass_map(insns, i, fd);
	}
	return names && any;
}

bool gpubpf_linux_calls(const struct gpubpf_linux *k, const char *map, const int *helpers, uint32_t n)
{
	int fd = gpubpf_linux_map(k, map);
	struct bpf_program *prog;
	bool any = false;

	bpf_object__for_each_program(prog, k->obj) for (uint32_t i = 0; bpf_program__autoload(prog) && fd >= 0 && i < n;
							i++)
		any |= calls(bpf_program__insns(prog), bpf_program__insn_cnt(prog), fd, helpers[i]);
	return any;
}

bool gpubpf_linux_mappable(const struct gpubpf_linux *k, const char *name)
{
	const struct bpf_map *map = find_used_map(k, name);

	return map && bpf_map__map_flags(map) & BPF_F_MMAPABLE;
}

static bool is_place(const char *target)
{
	const char *colon = strrchr(target, ':');

	return colon && colon != target && colon[1] && strlen(target) < MAX_TARGET;
}

/* Attaches a uprobe to a target of the form BINARY:FUNCTION[+OFFSET]. */
static struct bpf_link *attach_at(const struct bpf_program *prog, const char *target)
{
	char binary[MAX_TARGET], function[MAX_TARGET];
	const char *colon = strrchr(target, ':'), *section = bpf_program__section_name(prog);
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .func_name = function, .retprobe = !strncmp(section, "uretprobe", 9));
	unsigned long offset = 0;
	char *plus;

	snprintf(binary, sizeof(binary), "%.*s", (int)(colon - target), target);
	snprintf(function, sizeof(function), "%s", colon + 1);
	plus = strrchr(function, '+');
	if (plus) {
		*plus = '\0';
		offset = strtoul(plus + 1, NULL, 0);
	}
	return bpf_program__attach_uprobe_opts(prog, -1, binary, offset, &opts);
}

/* Attaches a uprobe to an offset in a file: uprobe/FILE:+0xOFFSET:0xSEMAPHORE, for a static probe. */
static struct bpf_link *attach_offset(const struct bpf_program *prog)
{
	const char *section = bpf_program__section_name(prog) + strlen("uprobe/"), *place = strstr(section, ":+0x");
	LIBBPF_OPTS(bpf_uprobe_opts, opts);
	char file[MAX_TARGET];
	char *end;
	unsigned long offset = strtoul(place + 2, &end, 0);

	if (*end == ':')
		opts.ref_ctr_offset = strtoul(end + 1, NULL, 0);
	snprintf(file, sizeof(file), "%.*s", (int)(place - section), section);
	return bpf_program__attach_uprobe_opts(prog, -1, file, offset, &opts);
}

/* Sets the event to accesses of `bytes` bytes at an address. `mode`: r, w, rw or x. */
static void watch_address(struct perf_event_attr *attr, unsigned long long address, const char *mode,
			  unsigned long long bytes)
{
	attr->config = 0;
	attr->sample_period = 1;
	attr->bp_addr = address;
	attr->bp_len = bytes;
	attr->bp_type = (strchr(mode, 'r') ? HW_BREAKPOINT_R : 0) | (strchr(mode, 'w') ? HW_BREAKPOINT_W : 0) |
			(strchr(mode, 'x') ? HW_BREAKPOINT_X : 0);
	if (attr->bp_type == HW_BREAKPOINT_X)
		attr->bp_len = sizeof(long); /* the length that the Linux kernel requires for code */
}

/* Opens the event TYPE:CONFIG:freq:N, TYPE:CONFIG:period:N or 5:ADDRESS:MODE:BYTES on one CPU. */
static int open_event(const char *event, int cpu)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	unsigned long long config, n;
	char kind[16];
	unsigned int type;

	if (sscanf(event, "%u:%llu:%15[a-z]:%llu", &type, &config, kind, &n) != 4)
		return -EINVAL;
	attr.type = type;
	attr.config = config;
	attr.freq = !strcmp(kind, "freq");
	attr.sample_period = n; /* a union with sample_freq */
	if (type == PERF_TYPE_BREAKPOINT)
		watch_address(&attr, config, kind, n);
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Attaches a program to an event of each CPU that runs. Returns the first link. */
static struct bpf_link *attach_event(struct gpubpf_linux *k, const struct bpf_program *prog)
{
	const char *event = bpf_program__section_name(prog) + strlen(EVENT_SECTION);
	struct bpf_link *first = NULL, *link, **grown;
	int cpus = libbpf_num_possible_cpus(), err = 0;

	for (int cpu = 0; cpu < cpus; cpu++) {
		int fd = open_event(event, cpu);

		link = fd < 0 ? NULL : bpf_program__attach_perf_event(prog, fd);
		if (!link) {
			err = fd < 0 ? fd : -errno;
			if (fd >= 0)
				close(fd);
			continue; /* the CPU may be off */
		}
		grown = first ? reallocarray(k->more, k->nmore + 1, sizeof(*grown)) : NULL;
		if (!first) {
			first = link;
		} else if (grown) {
			k->more = grown;
			k->more[k->nmore++] = link;
		} else {
			bpf_link__destroy(link);
		}
	}
	errno = first ? 0 : -err;
	return first;
}

static struct bpf_link *attach_by_section(struct gpubpf_linux *k, const struct bpf_program *prog)
{
	const char *section = bpf_program__section_name(prog);

	if (!strncmp(section, EVENT_SECTION, strlen(EVENT_SECTION)))
		return attach_event(k, prog);
	return !strncmp(section, "uprobe/", 7) && strstr(section, ":+0x") ? attach_offset(prog) :
									    bpf_program__attach(prog);
}

static int attach(struct gpubpf_linux *k, const char *name, uint32_t i, const char *target, char *why, size_t size)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(k->obj, name);

	if (!prog)
		return set_reason(-ENOENT, "attaching it", why, size);
	if (target && !is_place(target)) {
		snprintf(why, size, "%s names no function of a binary; pass --attach %s=BINARY:FUNCTION", target, name);
		return -EINVAL;
	}
	k->links[i] = target ? attach_at(prog, target) : attach_by_section(k, prog);
	if (k->links[i])
		return 0;
	if (errno == EOPNOTSUPP && !target && gpubpf_has_prog_array(k->obj))
		return 0;
	if (errno == EOPNOTSUPP && !target) {
		snprintf(why, size, "its section names no function; pass --attach %s=BINARY:FUNCTION", name);
		return -EOPNOTSUPP;
	}
	return set_reason(-errno, "attaching it", why, size);
}

int gpubpf_linux_attach(struct gpubpf_linux *k, const struct gpubpf_loaded_object *object, uint32_t i,
			const char *target, char *why, size_t size)
{
	int err;

	gpubpf_libbpf_lock();
	err = attach(k, object->host[i], i, target, why, size);
	gpubpf_libbpf_unlock();
	return err;
}

void gpubpf_linux_detach(struct gpubpf_linux *k)
{
	for (uint32_t i = 0; k && k->links && i < k->nlinks; i++) {
		bpf_link__destroy(k->links[i]);
		k->links[i] = NULL;
	}
	for (uint32_t i = 0; k && i < k->nmore; i++)
		bpf_link__destroy(k->more[i]);
	if (k)
		k->nmore = 0;
}

void gpubpf_linux_destroy(struct gpubpf_linux *k)
{
	if (!k)
		return;
	gpubpf_linux_detach(k);
	bpf_object__close(k->obj);
	free(k->links);
	free(k->more);
	free(k->used);
	free(k);
}
