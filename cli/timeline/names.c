/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline.h"

#include <stdlib.h>
#include <string.h>

struct timeline_names {
	char **text; /* [n] */
	uint32_t n, room;
	uint32_t *slot; /* [slots]: 1 + number of a name; slots is a power of two */
	uint32_t slots;
};

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3ull;
	return hash ^ hash >> 29;
}

static uint32_t *find_slot(const struct timeline_names *names, const char *text)
{
	uint32_t i = hash_text(text) & (names->slots - 1);

	while (names->slot[i] && strcmp(names->text[names->slot[i] - 1], text))
		i = (i + 1) & (names->slots - 1);
	return &names->slot[i];
}

static bool grow(struct timeline_names *names)
{
	uint32_t room = names->room ? 2 * names->room : 256;
	char **text = realloc(names->text, room * sizeof(*text));
	uint32_t *slot = calloc(4 * (size_t)room, sizeof(*slot));

	names->text = text ? text : names->text;
	if (!text || !slot) {
		free(slot);
		return false;
	}
	free(names->slot);
	names->slot = slot;
	names->room = room;
	names->slots = 4 * room;
	for (uint32_t i = 0; i < names->n; i++)
		*find_slot(names, names->text[i]) = i + 1;
	return true;
}

struct timeline_names *timeline_names_create(void)
{
	struct timeline_names *names = calloc(1, sizeof(*names));

	if (!names || !grow(names) || timeline_name(names, "") || !names->n) {
		timeline_names_destroy(names);
		return NULL;
	}
	return names;
}

void timeline_names_destroy(struct timeline_names *names)
{
	if (!names)
		return;
	for (uint32_t i = 0; i < names->n; i++)
		free(names->text[i]);
	free(names->text);
	free(names->slot);
	free(names);
}

uint32_t timeline_name(struct timeline_names *names, const char *text)
{
	uint32_t *slot = find_slot(names, text);
	char *copy;

	if (*slot)
		return *slot - 1;
	if (names->n == names->room && !grow(names))
		return 0;
	copy = strdup(text);
	if (!copy)
		return 0;
	slot = find_slot(names, text);
	names->text[names->n++] = copy;
	*slot = names->n;
	return names->n - 1;
}

const char *timeline_name_text(const struct timeline_names *names, uint32_t name)
{
	return name < names->n ? names->text[name] : "";
}

uint32_t timeline_names_count(const struct timeline_names *names)
{
	return names->n;
}
