/* SPDX-License-Identifier: Apache-2.0 */
#include "places.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "text/nearest.h"

#define ARG GPUBPF_GIVES_ARG
#define RESULT GPUBPF_GIVES_RESULT
#define PLACE GPUBPF_GIVES_PLACE
#define LINE GPUBPF_GIVES_LINE
#define MEM GPUBPF_GIVES_MEM
#define BRANCH GPUBPF_GIVES_BRANCH
#define BARRIER GPUBPF_GIVES_BARRIER
#define ATOMIC GPUBPF_GIVES_ATOMIC
#define OPERAND GPUBPF_GIVES_OPERAND
#define MARK GPUBPF_GIVES_MARK
#define CAPTURE GPUBPF_GIVES_CAPTURE
#define HOST GPUBPF_GIVES_HOST
#define DONE GPUBPF_GIVES_DONE

static const struct gpubpf_place_kind kinds[GPUBPF_NSITES] = {
	[GPUBPF_SITE_NONE] = { .name = "-", .meaning = "" },
#define GPUBPF_PLACE(NAME, number, place, at, of, gives, means)                                              \
	[number] = { .name = place, .where = GPUBPF_WHERE_##at, .names = GPUBPF_NAMES_##of, .operands = gives, \
		     .meaning = means },
#define GPUBPF_HOST_PLACE(NAME, number, place, gives, means) \
	[number] = { .name = place, .where = GPUBPF_WHERE_HOST, .operands = gives, .meaning = means },
#include "places.def"
#define GPUBPF_ACCESSES(NAME, in, of, order)                                          \
	[GPUBPF_SITE_##NAME].spaces = in, [GPUBPF_SITE_##NAME].accesses = of, \
	[GPUBPF_SITE_##NAME].when = GPUBPF_WHEN_##order,
#define GPUBPF_INSN_WHEN(NAME, order) [GPUBPF_SITE_##NAME].when = GPUBPF_WHEN_##order,
#include "places.def"
};

#undef HOST
#undef DONE

#define GPUBPF_PLACE(NAME, number, name, where, names, operands, meaning) \
	_Static_assert(GPUBPF_SITE_##NAME == number, "include/gpubpf/ctx.h must list the same places");
#define GPUBPF_HOST_PLACE(NAME, number, name, operands, meaning) \
	_Static_assert(GPUBPF_SITE_##NAME == number, "include/gpubpf/ctx.h must list the same places");
#include "places.def"

enum {
	EVENT_NONE,
#define GPUBPF_HOST_EVENT(NAME, number, event, of, means) EVENT_##NAME = number,
#include "host_events.def"
	NEVENTS
};

static const struct gpubpf_host_event_kind host_events[NEVENTS] = {
#define GPUBPF_HOST_EVENT(NAME, number, event, of, means) \
	[EVENT_##NAME] = { .name = event, .names = GPUBPF_NAMES_##of, .meaning = means },
#include "host_events.def"
};

static const char *const operands[GPUBPF_NOPERANDS] = {
#define GPUBPF_OPERAND(NAME, field, meaning) [GPUBPF_OPERAND_##NAME] = field,
#include "places.def"
};

const struct gpubpf_place_kind *gpubpf_place_kind(enum gpubpf_site site)
{
	assert((uint32_t)site < GPUBPF_NSITES);
	return &kinds[site];
}

bool gpubpf_place_is_host(enum gpubpf_site site)
{
	return gpubpf_place_kind(site)->where == GPUBPF_WHERE_HOST;
}

const struct gpubpf_host_event_kind *gpubpf_host_event_kind(enum gpubpf_host_event event)
{
	assert(event && (uint32_t)event < NEVENTS);
	return &host_events[event];
}

bool gpubpf_host_provides(enum gpubpf_host_event event, uint32_t offset)
{
	static const struct {
		size_t offset, size;
		bool of_launch; /* only launches and kernels have the field */
	} fields[] = {
#define FIELD(field, of_launch) { offsetof(struct gpubpf_ctx, field), sizeof(((struct gpubpf_ctx *)0)->field), of_launch }
		FIELD(site, false),    FIELD(function_name, false), FIELD(launch, true),
		FIELD(kernel, true),   FIELD(work_dim, true),       FIELD(device, true),
		FIELD(grid_dim, true), FIELD(block_dim, true),      FIELD(kernel_name, true),
#undef FIELD
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (offset >= fields[i].offset && offset - fields[i].offset < fields[i].size)
			return !fields[i].of_launch || event == GPUBPF_HOST_LAUNCH ||
			       event == (enum gpubpf_host_event)EVENT_KERNEL;
	return false;
}

bool gpubpf_host_section_parse(const char *name, enum gpubpf_host_event *event, enum gpubpf_site *site, const char **pattern)
{
	const char *at = name + strlen("host/");

	if (strncmp(name, "host/", strlen("host/")))
		return false;
	for (uint32_t i = 1; i < NEVENTS; i++) {
		size_t len = strlen(host_events[i].name);
		const char *rest = at + len;

		if (strncmp(at, host_events[i].name, len))
			continue;
		*site = strncmp(rest, "_exit", strlen("_exit")) ? GPUBPF_SITE_HOST : GPUBPF_SITE_HOST_EXIT;
		rest += *site == GPUBPF_SITE_HOST_EXIT ? strlen("_exit") : 0;
		*event = i;
		*pattern = *rest == '/' ? rest + 1 : "*";
		return !*rest || *rest == '/';
	}
	return false;
}

static const char *find_nearest_kind(const char *word)
{
	size_t least = strlen(word) / 3 + 2;
	const char *nearest = NULL;

	for (uint32_t i = 1; i < GPUBPF_NSITES; i++) {
		bool on_device = kinds[i].name && kinds[i].where != GPUBPF_WHERE_HOST;
		size_t d = on_device ? gpubpf_distance(word, kinds[i].name) : least;

		if (d >= least)
			continue;
		least = d;
		nearest = kinds[i].name;
	}
	return nearest;
}

bool gpubpf_place_suggest(const char *name, char *buf, size_t size)
{
	const char *at = name, *near;
	char word[32] = "";
	size_t len;

	if (!strncasecmp(at, "gpu/", 4) || !strncasecmp(at, "gpu:", 4))
		at += 4;
	len = strcspn(at, "/:");
	if (!len || len >= sizeof(word))
		return false;
	memcpy(word, at, len);
	near = find_nearest_kind(word);
	if (!near)
		return false;
	at += len + (at[len] != '\0');
	snprintf(buf, size, "gpu/%s/%s", near, *at ? at : "KERNEL");
	return true;
}

struct gpubpf_place gpubpf_place_of(enum gpubpf_site kind, uint32_t id, uint32_t line)
{
	return (struct gpubpf_place){
		.kind = kind, .id = id, .line = line, .name = "", .operands = gpubpf_place_kind(kind)->operands
	};
}

bool gpubpf_place_has_name(enum gpubpf_site kind)
{
	return gpubpf_place_kind(kind)->names >= GPUBPF_NAMES_OPCODE;
}

void gpubpf_place_line_name(const char *file, uint32_t line, char *name, size_t size)
{
	size_t len = strlen(file), most;
	char number[16];

	snprintf(number, sizeof(number), ":%u", line);
	most = size - 1 - strlen(number);
	snprintf(name, size, "%s%s", file + (len > most ? len - most : 0), number);
}

bool gpubpf_place_matches(const struct gpubpf_place *place, const char *pattern)
{
	const char *at = place->name;

	if (gpubpf_place_kind(place->kind)->names != GPUBPF_NAMES_LINE)
		return !fnmatch(pattern, at, 0);
	while (at && fnmatch(pattern, at, 0)) {
		at = strchr(at, '/');
		at += at != NULL;
	}
	return at;
}

/*
 * Returns true if a pattern can match a name of this kind. The name of a line ends with a colon and a number; other
 * names do not.
 */
bool gpubpf_place_can_match(enum gpubpf_site kind, const char *pattern)
{
	const char *colon = strrchr(pattern, ':');
	size_t len = strlen(pattern);

	if (gpubpf_place_kind(kind)->names != GPUBPF_NAMES_LINE || !len)
		return true;
	if (!strpbrk(pattern, "*?["))
		return colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")];
	return strchr("0123456789*?]", pattern[len - 1]);
}

const char *gpubpf_operand_name(uint32_t i)
{
	assert(i < GPUBPF_NOPERANDS);
	return operands[i];
}

uint32_t gpubpf_places_of(enum gpubpf_where where)
{
	uint32_t places = 0;

	for (uint32_t i = 1; i < GPUBPF_NSITES; i++)
		places |= kinds[i].where == where ? 1u << i : 0;
	return places;
}

uint32_t gpubpf_operand_of(const char *field)
{
	size_t n = strcspn(field, ".");
	uint32_t i = 0;

	while (i < GPUBPF_NOPERANDS && (strlen(operands[i]) != n || memcmp(operands[i], field, n)))
		i++;
	assert(i < GPUBPF_NOPERANDS);
	return i;
}
