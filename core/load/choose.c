/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: selects the programs of an object that libbpf loads.
 * Before: libbpf has opened the object and would load all its programs.
 * After: libbpf loads only programs for a GPU, with type kprobe, and pins no map.
 * Requires: nothing.
 */
#include "internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "core/model/diag.h"
#include "core/model/places.h"
#include "core/wire/kprobe.h"
#include "core/wire/match.h"

const struct gpubpf_attach *gpubpf_attach_of(const struct gpubpf_loading *l, const struct bpf_program *prog)
{
	for (uint32_t i = 0; i < l->opts->nattach; i++)
		if (!strcmp(l->opts->attach[i].prog, bpf_program__name(prog)))
			return &l->opts->attach[i];
	return NULL;
}

static int refuse_section(struct gpubpf_loading *l, const struct bpf_program *prog, const char *why)
{
	const char *section = bpf_program__section_name(prog);
	char list[160], near[160], hint[256] = "";
	struct gpubpf_section known;

	gpubpf_section_list(list, sizeof(list));
	if (!gpubpf_section_parse(section, &known) && gpubpf_place_suggest(section, near, sizeof(near)))
		snprintf(hint, sizeof(hint), ", did you mean %s?", near);
	gpubpf_diag_where(l->diag, "%s: section '%s', program '%s'", l->path, section, bpf_program__name(prog));
	return gpubpf_diag_set(l->diag, GPUBPF_E_BAD_SECTION, GPUBPF_NOPC, "%s%s; sections for a GPU are %s", why, hint,
			       list);
}

/* Returns true for a place in a function of the Linux kernel, such as vfs_read+0. No GPU kernel is probed at an offset. */
static bool has_offset(const char *pattern)
{
	const char *plus = strrchr(pattern, '+');
	char *end;

	if (!plus || plus == pattern || !isdigit((unsigned char)plus[1]))
		return false;
	strtoul(plus + 1, &end, 0);
	return !*end;
}

/*
 * Returns 1 if the program is for a GPU, or 0 if it is for the Linux kernel, by the rules of core/model/sections.def.
 */
static int is_ours(struct gpubpf_loading *l, const struct bpf_program *prog, const struct gpubpf_section *section)
{
	const char *name = bpf_program__name(prog);

	if (section->of == GPUBPF_SECTION_GPU || section->of == GPUBPF_SECTION_RUN || gpubpf_attach_of(l, prog) ||
	    l->opts->all_gpu)
		return section->of != GPUBPF_SECTION_HOST;
	if (section->of == GPUBPF_SECTION_HOST)
		return 0;
	if (gpubpf_kprobe_is_gpu(name) || gpubpf_pattern_is_glob(section->pattern))
		return 1;
	if (has_offset(section->pattern))
		return 0;
	if (section->pattern[0] && gpubpf_kernel_has_function(&l->kallsyms, section->pattern)) {
		gpubpf_load_note(l->out,
				 "%s (%s) is left to the Linux kernel, which has a function of that name; pass --gpu "
				 "or --attach %s=KERNEL to load it for a GPU",
				 name, bpf_program__section_name(prog), name);
		return 0;
	}
	return 1;
}

static int add_host_program(struct gpubpf_loading *l, const struct bpf_program *prog)
{
	void *grown = reallocarray(l->host, l->nhost + 1, sizeof(*l->host));

	if (!grown) {
		gpubpf_diag_set(l->diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "no memory for the names of programs");
		return -ENOMEM;
	}
	l->host = grown;
	snprintf(l->host[l->nhost++], sizeof(*l->host), "%s", bpf_program__name(prog));
	return 0;
}

bool gpubpf_has_prog_array(const struct bpf_object *obj)
{
	struct bpf_map *map;
	bool found = false;

	bpf_object__for_each_map(map, obj) found |= gpubpf_map_type_has(bpf_map__type(map), GPUBPF_MAP_PROGS);
	return found;
}

static int choose_program(struct gpubpf_loading *l, struct bpf_program *prog)
{
	const struct gpubpf_attach *attach = gpubpf_attach_of(l, prog);
	struct gpubpf_section section;
	char stored[GPUBPF_NAME_SIZE];
	int ours;

	if (!bpf_program__autoload(prog) && !attach)
		return 0;
	if (!gpubpf_section_parse(bpf_program__section_name(prog), &section))
		return refuse_section(l, prog,
				      strcmp(bpf_program__section_name(prog), ".text") ? "the section is unknown" :
											 "the function has no SEC()");
	if (attach && section.of == GPUBPF_SECTION_HOST && strncmp(bpf_program__section_name(prog), "uprobe", 6) &&
	    strncmp(bpf_program__section_name(prog), "uretprobe", 9))
		return refuse_section(l, prog,
				      "--attach names a program for the Linux kernel, which attaches only to the target in its "
				      "section name");
	ours = is_ours(l, prog, &section);
	l->mixed |= !ours;
	bpf_program__set_autoload(prog, ours);
	if (!ours)
		return add_host_program(l, prog);
	if (!attach && !section.pattern[0] && !gpubpf_has_prog_array(l->obj))
		return refuse_section(l, prog, "the section names no kernel");
	if (attach && section.of == GPUBPF_SECTION_RUN)
		return refuse_section(l, prog,
				      "the program runs in a kernel of gpubpf, so --attach cannot name another kernel; use "
				      "gpubpf prog run");
	if (!strcmp(section.pattern, GPUBPF_KPROBE_RUN))
		return refuse_section(l, prog, GPUBPF_KPROBE_NOT_RUN);
	if ((attach || section.pattern[0]) && !gpubpf_pattern_store(attach ? attach->pattern : section.pattern, stored))
		return refuse_section(l, prog,
				      "a pattern with * or ? may have at most 255 bytes, a kernel's full name 4095");
	if (!gpubpf_place_can_match(section.site, attach ? attach->pattern : section.pattern))
		return refuse_section(l, prog,
				      "a line is named FILE:NUMBER, as in gpu/line/add.cu:12, or by a pattern of that "
				      "form");
	bpf_program__set_type(prog, BPF_PROG_TYPE_KPROBE);
	return 0;
}

static int record_types(struct gpubpf_loading *l)
{
	struct bpf_map *map;
	uint32_t n = 0;

	bpf_object__for_each_map(map, l->obj) n++;
	l->types = calloc(n + 1, sizeof(*l->types));
	if (!l->types) {
		gpubpf_diag_set(l->diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "no memory for the types of maps");
		return -ENOMEM;
	}
	n = 0;
	bpf_object__for_each_map(map, l->obj)
		l->types[n++] = (struct gpubpf_types){ bpf_map__btf_key_type_id(map), bpf_map__btf_value_type_id(map) };
	return 0;
}

int gpubpf_object_choose(struct gpubpf_loading *l)
{
	struct bpf_program *prog;
	struct bpf_map *map;
	int err = record_types(l);

	if (err < 0)
		return err;

	bpf_object__for_each_program(prog, l->obj)
	{
		err = choose_program(l, prog);
		if (err < 0)
			return err;
	}
	bpf_object__for_each_map(map, l->obj)
	{
		if (!bpf_map__pin_path(map))
			continue;
		gpubpf_load_note(l->out, "map %s is not pinned: a map for a GPU exists only as long as its session",
				 bpf_map__name(map));
		bpf_map__set_pin_path(map, NULL);
	}
	return 0;
}
