/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the symbols of the running Linux kernel from /proc/kallsyms, each time that one is needed. */
#include <string.h>

#include "cli/lang/lang.h"

/* Parse a line: the address, the kind and the name of a symbol. */
static bool parse_line(const char *line, uint64_t *address, char *kind, char name[256])
{
	unsigned long long at;

	if (sscanf(line, "%llx %c %255s", &at, kind, name) != 3)
		return false;
	*address = at;
	return true;
}

bool lang_kernel_symbol_address(const char *name, uint64_t *address)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512], found[256], kind;
	bool ok = false;

	while (f && !ok && fgets(line, sizeof(line), f))
		ok = parse_line(line, address, &kind, found) && *address && !strcmp(found, name);
	if (f)
		fclose(f);
	return ok;
}

bool lang_kernel_symbol(uint64_t address, char *buf, size_t size)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512], name[256], best[256] = "", kind;
	uint64_t at, nearest = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (!parse_line(line, &at, &kind, name) || !strchr("tTwW", kind) || !at || at > address || at < nearest)
			continue;
		nearest = at;
		memcpy(best, name, sizeof(best));
	}
	if (f)
		fclose(f);
	snprintf(buf, size, "%s+%llu", best, (unsigned long long)(address - nearest));
	return nearest;
}
