/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restores patched functions (private.h). No thread stands inside of a patch, which is one instruction. The 5 bytes must
 * lie in one aligned word of 8 bytes. Then a processor fetches them at once, from the old page or from the new one. Other
 * functions wait for the tool, which stops all threads.
 */
#include "private.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A mapping of code. */
struct code {
	uint64_t from, to, offset;
	char path[4096];
};

static bool find_code(uint64_t address, struct code *c)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4352], flags[5];
	bool found = false;
	int at;

	while (maps && !found && fgets(line, sizeof(line), maps)) {
		at = 0;
		found = sscanf(line, "%lx-%lx %4s %lx %*s %*s %n", &c->from, &c->to, flags, &c->offset, &at) >= 4 &&
			address >= c->from && address < c->to && !strcmp(flags, "r-xp") && line[at] == '/';
		if (found)
			snprintf(c->path, sizeof(c->path), "%.*s", (int)strcspn(line + at, "\n"), line + at);
	}
	if (maps)
		fclose(maps);
	return found;
}

static bool is_in_word(uint64_t at)
{
	return at / 8 == (at + GPUBPF_PATCH_SIZE - 1) / 8;
}

/* Undo the patches of a page in a copy of it. Returns false if a patch of this page must not be undone without a stop. */
static bool undo_in_copy(const struct gpubpf_journal *j, uint64_t page, uint64_t size, char *copy)
{
	bool may = true;

	for (uint32_t i = 0; i < j->nsites; i++) {
		const struct gpubpf_patch_site *s = &j->sites[i];

		if (s->state != GPUBPF_PATCH_READY || s->at + GPUBPF_PATCH_SIZE <= page || s->at >= page + size ||
		    memcmp((void *)s->at, s->after, GPUBPF_PATCH_SIZE))
			continue;
		may &= is_in_word(s->at) && s->at >= page;
		if (may)
			memcpy(copy + (s->at - page), s->before, GPUBPF_PATCH_SIZE);
	}
	return may;
}

static void restore_page(const struct gpubpf_journal *j, uint64_t page, uint64_t size)
{
	struct code *c = malloc(sizeof(*c));
	char *copy = malloc(2 * size);
	int fd = -1;

	if (c && copy && find_code(page, c))
		fd = open(c->path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && pread(fd, copy + size, size, c->offset + (page - c->from)) == (ssize_t)size) {
		memcpy(copy, (void *)page, size);
		if (undo_in_copy(j, page, size, copy) && !memcmp(copy, copy + size, size))
			mmap((void *)page, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
			     c->offset + (page - c->from));
	}
	if (fd >= 0)
		close(fd);
	free(copy);
	free(c);
}

void gpubpf_entry_restore_pages(const struct gpubpf_journal *j)
{
	uint64_t size = sysconf(_SC_PAGESIZE);

	for (uint32_t i = 0; i < j->nsites; i++) {
		const struct gpubpf_patch_site *s = &j->sites[i];

		if (s->state == GPUBPF_PATCH_READY && !memcmp((void *)s->at, s->after, GPUBPF_PATCH_SIZE))
			restore_page(j, s->at & ~(size - 1), size);
	}
}
