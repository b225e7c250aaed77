/* SPDX-License-Identifier: Apache-2.0 */
#include "session_reads.h"

#include <stdlib.h>
#include <string.h>

#include "core/session/session.h"

static const struct gpubpf_map *find(const struct judging *j, const char *name)
{
	return gpubpf_session__find_map_by_name(((const struct probed *)j)->s, name);
}

static const struct btf *btf(const struct judging *j)
{
	return gpubpf_session_loaded(((const struct probed *)j)->s)->objects[0].btf;
}

static void walk(const struct judging *j, const struct gpubpf_map *map,
		 bool (*fn)(void *arg, const void *key, const void *value), void *arg)
{
	size_t key_size = gpubpf_map__key_size(map), size = gpubpf_map__user_value_size(map);
	uint8_t *key = malloc(key_size), *value = malloc(size);
	const void *last = NULL;

	(void)j;
	while (key && value && gpubpf_map__get_next_key(map, last, key, key_size) == 0) {
		last = key;
		if (gpubpf_map__lookup_elem(map, key, key_size, value, size, 0) == 0 && !fn(arg, key, value))
			break;
	}
	free(key);
	free(value);
}

static uint64_t records(const struct judging *j, const struct gpubpf_map *map)
{
	const struct probed *p = (const struct probed *)j;

	for (size_t i = 0; i < sizeof(p->records) / sizeof(p->records[0]); i++)
		if (p->records[i].map == map)
			return p->records[i].n;
	return 0;
}

static uint64_t drops(const struct judging *j, const struct gpubpf_map *map)
{
	(void)j;
	return gpubpf_map__drops(map);
}

static uint64_t prints(const struct judging *j, const char *text, char *other, size_t size)
{
	const struct probed *p = (const struct probed *)j;
	uint64_t n = 0;

	for (uint32_t i = 0; i < p->nprints; i++)
		if (!strcmp(p->prints[i], text))
			n++;
		else
			snprintf(other, size, "%s", p->prints[i]);
	return n;
}

void session_on_event(void *ctx, const struct gpubpf_event *event)
{
	struct probed *p = ctx;

	for (size_t i = 0; i < sizeof(p->records) / sizeof(p->records[0]); i++)
		if (!p->records[i].map || p->records[i].map == event->map) {
			p->records[i].map = event->map;
			p->records[i].n++;
			return;
		}
}

void session_on_print(void *ctx, const struct gpubpf_print_record *record)
{
	struct probed *p = ctx;
	char (*grown)[128] = realloc(p->prints, (p->nprints + 1) * sizeof(*grown));

	if (!grown)
		return;
	p->prints = grown;
	snprintf(grown[p->nprints++], sizeof(*grown), "%s", record->text);
}

const struct judge_ops session_reads = { find, btf, walk, records, drops, prints };
