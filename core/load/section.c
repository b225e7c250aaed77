/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides by a program's section name whether the program is for a GPU (core/model/places.def,
 * core/model/sections.def).
 */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/places.h"
#include "core/wire/direct.h"
#include "core/wire/kprobe.h"

static const struct {
	const char *prefix;
	enum gpubpf_section_of of;
	enum gpubpf_site site;
} sections[] = {
#define GPU GPUBPF_SECTION_GPU
#define RUN GPUBPF_SECTION_RUN
#define MAYBE GPUBPF_SECTION_MAYBE
#define HOSTPROG GPUBPF_SECTION_HOST
#define GPUBPF_PLACE(NAME, number, name, where, names, operands, meaning) { "gpu/" name "/", GPU, GPUBPF_SITE_##NAME },
#include "core/model/places.def"
#define GPUBPF_SECTION(prefix, site, flags, meaning) { prefix, flags, GPUBPF_SITE_##site },
#include "core/model/sections.def"
#undef GPU
#undef RUN
#undef MAYBE
#undef HOSTPROG
};

#define NSECTIONS (sizeof(sections) / sizeof(sections[0]))

bool gpubpf_section_parse(const char *name, struct gpubpf_section *section)
{
	section->host = 0;
	section->of = GPUBPF_SECTION_GPU;
	if (gpubpf_host_section_parse(name, &section->host, &section->site, &section->pattern))
		return true;
	for (size_t i = 0; i < NSECTIONS; i++) {
		size_t len = strlen(sections[i].prefix);
		/*
		 * the section name is the prefix without its last character, as in "kprobe"; the option --attach then
		 * names the function or GPU kernel
		 */
		bool bare = strlen(name) == len - 1;

		if (strncmp(name, sections[i].prefix, bare ? len - 1 : len))
			continue;
		section->of = sections[i].of;
		section->site = sections[i].site;
		section->pattern = name + (bare ? len - 1 : len);
		if (bare && gpubpf_place_kind(section->site)->operands & GPUBPF_GIVES_CAPTURE)
			section->pattern = "*"; /* a bpftime section that names no GPU kernel is for all GPU kernels */
		if (section->of == GPUBPF_SECTION_RUN)
			section->pattern = GPUBPF_DIRECT_KERNEL;
		if (section->of == GPUBPF_SECTION_MAYBE && gpubpf_kprobe_is_gpu(section->pattern)) {
			section->of = GPUBPF_SECTION_GPU;
			section->pattern = gpubpf_kprobe_kernel(section->pattern);
		}
		return true;
	}
	return false;
}

void gpubpf_section_list(char *buf, size_t size)
{
	static const char *const names[] = {
		[GPUBPF_NAMES_KERNEL] = "KERNEL",  [GPUBPF_NAMES_FUNCTION] = "FUNCTION",
		[GPUBPF_NAMES_OPCODE] = "OPCODE",  [GPUBPF_NAMES_MARK] = "NAME",
		[GPUBPF_NAMES_LINE] = "FILE:LINE",
	};
	size_t at = 0;

	for (size_t i = 0; i < NSECTIONS; i++) {
		const char *what = names[gpubpf_place_kind(sections[i].site)->names];

		if (sections[i].of == GPUBPF_SECTION_HOST)
			continue;
		if (sections[i].of == GPUBPF_SECTION_RUN)
			what = "NAME";
		if (at + strlen(sections[i].prefix) + strlen(what) + sizeof(", , ...") > size) {
			snprintf(buf + at, size - at, ", ...");
			return;
		}
		at += snprintf(buf + at, size - at, "%s%s%s", at ? ", " : "", sections[i].prefix, what);
	}
}

/*
 * Reads /proc/kallsyms, at most once per object and only if needed: procfs generates the text at each read, which takes
 * 0.1 s.
 */
static void read_symbols(struct gpubpf_kallsyms *syms)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	size_t room = 0, n = 1;

	syms->tried = true;
	while (f && n) {
		char *text = syms->size == room ? realloc(syms->text, room += 1 << 20) : syms->text;

		if (!text)
			break;
		syms->text = text;
		n = fread(text + syms->size, 1, room - syms->size, f);
		syms->size += n;
	}
	if (f)
		fclose(f);
}

/*
 * Searches /proc/kallsyms for the function. A line is "address type name", optionally followed by "\tmodule". The names
 * are readable by all users.
 */
bool gpubpf_kernel_has_function(struct gpubpf_kallsyms *syms, const char *function)
{
	const char *at, *end;
	size_t len = strlen(function);

	if (!syms->tried)
		read_symbols(syms);
	at = syms->text;
	end = at + syms->size;
	while (at && (at = memmem(at, end - at, function, len))) {
		const char *after = at + len;

		if (at - syms->text >= 3 && at[-1] == ' ' && after < end && (*after == '\n' || *after == '\t') &&
		    strchr("tTwW", at[-2]))
			return true;
		at = after;
	}
	return false;
}

void gpubpf_kallsyms_finish(struct gpubpf_kallsyms *syms)
{
	free(syms->text);
}
