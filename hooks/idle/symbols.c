/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the symbol tables of loaded files. The library finds the next dlsym() itself, since a C library has dlsym() in
 * libc or in libdl, by version. Its own symbol table is the table of the thunks' names.
 */
#include "private.h"

#include <string.h>

struct symbols {
	ElfW(Addr) bias;
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash, *hash;
};

/* Pass an address in the dynamic section. Some C libraries have replaced the file's offset by the address. */
static const void *locate(ElfW(Addr) bias, ElfW(Addr) address)
{
	return (const void *)(address < bias ? address + bias : address);
}

static struct symbols open_symbols(ElfW(Addr) bias, const ElfW(Dyn) * d)
{
	struct symbols s = { .bias = bias };

	for (; d->d_tag != DT_NULL; d++)
		switch (d->d_tag) {
		case DT_SYMTAB:
			s.symbols = locate(bias, d->d_un.d_ptr);
			break;
		case DT_STRTAB:
			s.strings = locate(bias, d->d_un.d_ptr);
			break;
		case DT_GNU_HASH:
			s.gnu_hash = locate(bias, d->d_un.d_ptr);
			break;
		case DT_HASH:
			s.hash = locate(bias, d->d_un.d_ptr);
			break;
		}
	return s;
}

static void *match(const struct symbols *s, uint32_t i, const char *name)
{
	const ElfW(Sym) *sym = &s->symbols[i];

	return sym->st_shndx && !strcmp(s->strings + sym->st_name, name) ? (void *)(s->bias + sym->st_value) : NULL;
}

/* DT_HASH: number of buckets, number of symbols, buckets, chains */
static void *find_by_number(const struct symbols *s, const char *name)
{
	void *found = NULL;

	for (uint32_t i = 1; i < s->hash[1] && !found; i++)
		found = match(s, i, name);
	return found;
}

/*
 * DT_GNU_HASH: number of buckets, first symbol, words of the Bloom filter, shift; then the filter, the buckets and the
 * chains. The last entry of a chain is odd.
 */
static const uint32_t *buckets_of(const struct symbols *s)
{
	return s->gnu_hash + 4 + s->gnu_hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
}

static void *find_by_gnu_hash(const struct symbols *s, const char *name)
{
	const uint32_t *buckets = buckets_of(s), *chain = buckets + s->gnu_hash[0];
	uint32_t hash = 5381, i;
	void *found = NULL;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	i = s->gnu_hash[0] ? buckets[hash % s->gnu_hash[0]] : 0;
	if (i < s->gnu_hash[1])
		return NULL;
	for (bool is_last = false; !found && !is_last; i++) {
		uint32_t word = chain[i - s->gnu_hash[1]];

		if ((word | 1) == (hash | 1))
			found = match(s, i, name);
		is_last = word & 1;
	}
	return found;
}

void *idle_symbol(ElfW(Addr) bias, const ElfW(Dyn) * dynamic, const char *name)
{
	struct symbols s = open_symbols(bias, dynamic);

	if (!s.symbols || !s.strings)
		return NULL;
	return s.gnu_hash ? find_by_gnu_hash(&s, name) : s.hash ? find_by_number(&s, name) : NULL;
}

extern const ElfW(Ehdr) own_file __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const ElfW(Dyn) own_dynamic[] __asm__("_DYNAMIC") __attribute__((visibility("hidden")));

int idle_function_of(const char *name)
{
	const char *found = idle_symbol((ElfW(Addr)) & own_file, own_dynamic, name);
	ptrdiff_t at = found - idle_thunks;

	return found && at >= 0 && at < IDLE_FUNCTIONS * IDLE_THUNK_SIZE ? at / IDLE_THUNK_SIZE : -1;
}

const char *idle_name_of(uint32_t function)
{
	struct symbols s = open_symbols((ElfW(Addr)) & own_file, own_dynamic);
	ElfW(Addr) value = idle_thunks + function * IDLE_THUNK_SIZE - (const char *)&own_file;
	uint32_t i = s.gnu_hash[1];

	while (s.symbols[i].st_value != value)
		i++;
	return s.strings + s.symbols[i].st_name;
}
