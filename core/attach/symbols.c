/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds exported functions of libraries in another process. It reads the ELF headers and the hash table from memory,
 * since the process may have other mounts, and the file may be replaced. Nothing there is trusted: all counts have
 * bounds, and a failed read means "not found".
 */
#include "remote.h"

#include <elf.h>
#include <string.h>

#define MAX_HEADERS 64
#define MAX_DYNAMIC 256
#define MAX_CHAIN 65536 /* symbols in one hash bucket */

struct library {
	uint64_t bias, symbols, strings, strings_size, gnu_hash, hash;
};

static bool read_dynamic(const struct remote *r, uint64_t base, uint64_t dynamic, struct library *lib)
{
	for (int i = 0; i < MAX_DYNAMIC; i++) {
		Elf64_Dyn d;
		uint64_t address;

		if (remote_read(r, lib->bias + dynamic + i * sizeof(d), &d, sizeof(d)) < 0)
			return false;
		/*
		 * glibc has replaced the offsets in the dynamic section by addresses; a value below `base` is still an
		 * offset
		 */
		address = d.d_un.d_ptr < base ? d.d_un.d_ptr + lib->bias : d.d_un.d_ptr;
		switch (d.d_tag) {
		case DT_NULL:
			return lib->symbols && lib->strings && (lib->gnu_hash || lib->hash);
		case DT_SYMTAB:
			lib->symbols = address;
			break;
		case DT_STRTAB:
			lib->strings = address;
			break;
		case DT_STRSZ:
			lib->strings_size = d.d_un.d_val;
			break;
		case DT_GNU_HASH:
			lib->gnu_hash = address;
			break;
		case DT_HASH:
			lib->hash = address;
			break;
		}
	}
	return false;
}

static bool open_library(const struct remote *r, uint64_t base, struct library *lib)
{
	Elf64_Phdr headers[MAX_HEADERS];
	uint64_t dynamic = 0, first = UINT64_MAX;
	Elf64_Ehdr elf;

	if (remote_read(r, base, &elf, sizeof(elf)) < 0 || memcmp(elf.e_ident, ELFMAG, SELFMAG) ||
	    elf.e_phentsize != sizeof(headers[0]) || elf.e_phnum > MAX_HEADERS ||
	    remote_read(r, base + elf.e_phoff, headers, elf.e_phnum * sizeof(headers[0])) < 0)
		return false;
	for (int i = 0; i < elf.e_phnum; i++) {
		if (headers[i].p_type == PT_LOAD && first == UINT64_MAX)
			first = headers[i].p_vaddr;
		if (headers[i].p_type == PT_DYNAMIC)
			dynamic = headers[i].p_vaddr;
	}
	if (!dynamic || first == UINT64_MAX)
		return false;
	*lib = (struct library){ .bias = base - first };
	return read_dynamic(r, base, dynamic, lib);
}

/* Returns the address of symbol `index` if it is the defined function `name`, else 0. */
static uint64_t match_symbol(const struct remote *r, const struct library *lib, uint32_t index, const char *name)
{
	char text[64];
	size_t size = strlen(name) + 1;
	Elf64_Sym sym;

	if (size > sizeof(text) || remote_read(r, lib->symbols + (uint64_t)index * sizeof(sym), &sym, sizeof(sym)) < 0 ||
	    !sym.st_shndx || ELF64_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_name + size > lib->strings_size ||
	    remote_read(r, lib->strings + sym.st_name, text, size) < 0 || memcmp(text, name, size))
		return 0;
	return lib->bias + sym.st_value;
}

static uint32_t hash_gnu(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/*
 * The DT_GNU_HASH table begins with the number of buckets, the first symbol, the number of words of the Bloom filter,
 * and the shift. The filter, the buckets and the chains follow.
 */
static uint64_t find_by_gnu_hash(const struct remote *r, const struct library *lib, const char *name)
{
	uint32_t head[4], index, word, hash = hash_gnu(name);
	uint64_t buckets, chains, found = 0;

	if (remote_read(r, lib->gnu_hash, head, sizeof(head)) < 0 || !head[0])
		return 0;
	buckets = lib->gnu_hash + sizeof(head) + 8ull * head[2];
	chains = buckets + 4ull * head[0];
	if (remote_read(r, buckets + 4ull * (hash % head[0]), &index, sizeof(index)) < 0 || index < head[1])
		return 0;
	for (int i = 0; i < MAX_CHAIN && !found; i++, index++) {
		if (remote_read(r, chains + 4ull * (index - head[1]), &word, sizeof(word)) < 0)
			return 0;
		if ((word | 1) == (hash | 1))
			found = match_symbol(r, lib, index, name);
		if (word & 1)
			break;
	}
	return found;
}

/* Compare the name of every symbol. The DT_HASH table only gives the number of symbols. */
static uint64_t find_by_number(const struct remote *r, const struct library *lib, const char *name)
{
	uint32_t head[2];
	uint64_t found = 0;

	if (remote_read(r, lib->hash, head, sizeof(head)) < 0)
		return 0;
	for (uint32_t i = 1; i < head[1] && i < MAX_CHAIN && !found; i++)
		found = match_symbol(r, lib, i, name);
	return found;
}

uint64_t remote_symbol(const struct remote *r, uint64_t base, const char *name)
{
	struct library lib;

	if (!open_library(r, base, &lib))
		return 0;
	return lib.gnu_hash ? find_by_gnu_hash(r, &lib, name) : find_by_number(r, &lib, name);
}
