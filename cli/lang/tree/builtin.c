/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks up words in one-liners: builtins of the language, words of bpftrace that gpubpf does not support, and fields of
 * the context.
 */
#include "cli/lang/lang.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/text/nearest.h"
#include "gpubpf/ctx.h"

#define FIELD(name) offsetof(struct gpubpf_ctx, name)

static const struct lang_builtin builtins[] = {
#define LANG_BUILTIN(name, type, source, at, size, meaning) { name, LANG_##type, LANG_SOURCE_##source, at, size },
#include "cli/lang/tree/builtins.def"
};

enum field_source { ENV, ARG, CONST, DEVICE, PLACE, LANES };

static const struct {
	const char *name;
	uint32_t at, size, count;
	enum field_source source;
} fields[] = {
#define GPUBPF_CTX_FIELD(field, count, size, source) { #field, FIELD(field), size, count, source },
#include "core/model/ctx_fields.def"
};

static const struct {
	const char *word, *why, *instead;
} refused[] = {
#define LANG_REFUSED(word, why, instead) { word, why, instead },
#include "cli/lang/tree/refused.def"
};

static bool argument(const char *word, struct lang_builtin *builtin)
{
	char *end;
	unsigned long i;

	if (strncmp(word, "arg", 3) || !isdigit((unsigned char)word[3]))
		return false;
	i = strtoul(word + 3, &end, 10);
	if (*end || i >= GPUBPF_CTX_ARGS)
		return false;
	*builtin = (struct lang_builtin){ "arg", LANG_INT, LANG_SOURCE_CTX, FIELD(arg) + 8 * (uint32_t)i, 8 };
	return true;
}

bool lang_host_word_find(const char *word, struct lang_builtin *builtin)
{
	static const struct lang_builtin words[] = {
		{ "pid", LANG_INT, LANG_SOURCE_HOST, LANG_HOST_PID, 8 },
		{ "tid", LANG_INT, LANG_SOURCE_HOST, LANG_HOST_TID, 8 },
		{ "uid", LANG_INT, LANG_SOURCE_HOST, LANG_HOST_UID, 8 },
		{ "gid", LANG_INT, LANG_SOURCE_HOST, LANG_HOST_GID, 8 },
		{ "cpu", LANG_INT, LANG_SOURCE_HOST, LANG_HOST_CPU, 8 },
		{ "numaid", LANG_INT, LANG_SOURCE_HOST, LANG_HOST_NODE, 8 },
		{ "ppid", LANG_INT, LANG_SOURCE_HOST, LANG_HOST_PPID, 8 },
		{ "username", LANG_LABEL, LANG_SOURCE_HOST, LANG_HOST_USER, 8 },
		{ "comm", LANG_NAME, LANG_SOURCE_HOST, LANG_HOST_COMM, 0 },
		{ "jiffies", LANG_INT, LANG_SOURCE_HOST, LANG_HOST_JIFFIES, 8 },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i].name, word)) {
			*builtin = words[i];
			return true;
		}
	return false;
}

bool lang_builtin_find(const char *word, struct lang_builtin *builtin)
{
	for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
		if (!strcmp(builtins[i].name, word)) {
			*builtin = builtins[i];
			return true;
		}
	return argument(word, builtin);
}

bool lang_builtin_option(const char *word, const char *option)
{
	if (!strcmp(word, "pid") || !strcmp(word, "tid"))
		return !strcmp(option, "curr_ns") || !strcmp(option, "init");
	return !strcmp(word, "nsecs") && (!strcmp(option, "monotonic") || !strcmp(option, "boot") ||
					  !strcmp(option, "tai") || !strcmp(option, "sw_tai"));
}

const char *lang_builtin_options(const char *word)
{
	return !strcmp(word, "nsecs") ? "nsecs(monotonic), nsecs(boot), nsecs(tai) and nsecs(sw_tai) are possible" :
					"write the word without parentheses";
}

bool lang_builtin_named(struct lang *l, const char *name, struct lang_builtin *builtin)
{
	uint32_t at = 0, size = strlen(name) + 1;

	while (at < l->names_size && strcmp(l->names + at, name))
		at += strlen(l->names + at) + 1;
	if (size > sizeof(l->names) - at)
		return false;
	*builtin = (struct lang_builtin){ "args", LANG_INT, LANG_SOURCE_NAMED, at, 0 };
	if (at < l->names_size)
		return true;
	memcpy(l->names + at, name, size);
	l->names_size += size;
	return true;
}

bool lang_field_find(const char *field, uint64_t index, struct lang_builtin *builtin)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strcmp(fields[i].name, field) || index >= fields[i].count)
			continue;
		*builtin = (struct lang_builtin){
			fields[i].name,  strcmp(field, "mem.addr") ? LANG_INT : LANG_ADDRESS,
			LANG_SOURCE_CTX, fields[i].at + (uint32_t)index * fields[i].size,
			fields[i].size,
		};
		return true;
	}
	return false;
}

const char *lang_place_field(uint32_t at)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i].source >= PLACE && at >= fields[i].at && at - fields[i].at < fields[i].size * fields[i].count)
			return fields[i].name;
	return NULL;
}

const char *lang_refused(const char *word, const char **instead)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (!strcmp(refused[i].word, word)) {
			*instead = refused[i].instead;
			return refused[i].why;
		}
	return NULL;
}

static void nearer(const char *word, const char *name, size_t *least, const char **found)
{
	size_t d = gpubpf_distance(word, name);

	if (d < *least && d < strlen(name)) {
		*least = d;
		*found = name;
	}
}

const char *lang_nearest_word(const char *word, char *buf, size_t size)
{
	const struct lang_function *f;
	const char *found = NULL;
	size_t least = 3;

	for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
		nearer(word, builtins[i].name, &least, &found);
	for (uint32_t i = 0; (f = lang_function_at(i)); i++)
		nearer(word, f->name, &least, &found);
	if (found)
		snprintf(buf, size, "did you mean %s?", found);
	else
		snprintf(buf, size, "gpubpf-lang(7) lists the words; maps begin with @, variables with $");
	return buf;
}
