/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses cubins: ELF64 files with e_machine EM_CUDA and ABI version 7 (up to CUDA 12) or 8. The bytes are not trusted.
 * sass_cubin_open() refuses a file if a section or name extends beyond the end of the file. So callers use sections,
 * names and symbols without more checks.
 */
#ifndef GPUBPF_SASS_CUBIN_H
#define GPUBPF_SASS_CUBIN_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpubpf_diag;

#ifndef EM_CUDA
#define EM_CUDA 190
#endif
#define SASS_STO_ENTRY 0x10        /* bit of st_other: the function is a kernel */
#define SASS_NONE UINT32_MAX
#define SASS_ABI_13 8              /* e_ident[EI_ABIVERSION] from CUDA 13 on */

/* attributes of the items in .nv.info and .nv.info.<kernel>, with cuobjdump's names (EIATTR_*) and the data of an
 * item */
enum sass_attr {
	SASS_ATTR_PARAM_CBANK = 0x0a, /* u32 symbol, u16 offset in c[0x0], u16 size */
	SASS_ATTR_EXTERNS = 0x0f,     /* a list of u32 symbols */
	SASS_ATTR_FRAME_SIZE = 0x11,  /* u32 symbol, u32 bytes; MIN_STACK_SIZE and MAX_STACK_SIZE have the same
	                                    * contents */
	SASS_ATTR_MIN_STACK_SIZE = 0x12,
	SASS_ATTR_KPARAM_INFO = 0x17,  /* 12 bytes per parameter */
	SASS_ATTR_EXIT_OFFSETS = 0x1c, /* a list of u32 offsets in the code */
	SASS_ATTR_MAX_STACK_SIZE = 0x23,
	SASS_ATTR_REGCOUNT = 0x2f,       /* u32 symbol, u32 number of registers */
	SASS_ATTR_INSTR_REG_MAP = 0x40,  /* a list of triples: u32 offset in the code, u32 kind, u32 register */
	SASS_ATTR_NUM_BARRIERS = 0x4c,   /* the value is the number of block barriers of the kernel */
	SASS_ATTR_KPARAM_INFO_V2 = 0x45, /* 12 bytes per parameter, in kernels with many bytes of parameters */
};

/* how an item stores its value (EIFMT_*) */
enum sass_format {
	SASS_FORMAT_SIZED = 4, /* the u16 of the item is the size in bytes of the data that follow; in other formats
	                        * the u16 is the value */
};

struct sass_item {
	uint8_t format, attr;
	uint16_t size;       /* number of bytes in data; without data, the value itself */
	const uint8_t *data; /* NULL unless the format is SASS_FORMAT_SIZED */
};

struct sass_section {
	Elf64_Shdr head;
	const char *name;
	const uint8_t *data; /* NULL if the section is NOBITS or empty */
	size_t size;         /* 0 if data is NULL, even if the header says otherwise */
};

struct sass_symbol {
	Elf64_Sym head;
	const char *name;
	uint32_t section; /* index of the symbol's section, with extended section indices resolved. It is 0 for an
	                   * undefined symbol and SASS_NONE for a special section index. */
};

/* a kernel: a function of the symbol table that can be launched */
struct sass_kernel {
	uint32_t symbol, text; /* indices of its symbol and of its code section */
	uint32_t info;         /* index of section .nv.info.<kernel>; 0: none */
	uint32_t regs;         /* registers per thread; 0: unknown */
	uint32_t frame, stack; /* in bytes: EIATTR_FRAME_SIZE and EIATTR_MIN_STACK_SIZE */
};

/* Lists of numbers in rising order, one list per key. The list of a key begins with first[key]. next[number] is the
 * number after `number` in its list; 0 ends the list. */
struct sass_chains {
	uint32_t *first, *next; /* malloc'd, as one block */
	uint32_t nkeys;
};

struct sass_cubin {
	const uint8_t *data;
	size_t size;
	Elf64_Ehdr head;
	uint32_t sm; /* 90 for sm_90 and sm_90a */
	struct sass_section *sections;
	uint32_t nsections;
	struct sass_symbol *symbols;
	uint32_t nsymbols, symtab; /* symtab: index of the section that holds the symbols */
	struct sass_kernel *kernels;
	uint32_t nkernels;
	/* With these lists, callers find the sections, symbols and items of one kernel without a search through
	 * thousands of other kernels. */
	struct sass_chains sections_by_name, sections_by_info; /* sections_by_name: sections by the hash of their
	                                                        * name. sections_by_info: sections by sh_info, which
	                                                        * may be the index of a section. */
	struct sass_chains general; /* key 0: sections that are neither code nor attached to a code section */
	struct sass_chains symbols_by_section; /* symbols by their section */
	struct sass_chains reserved;           /* key 0: symbols of the shared memory that the driver reserves */
	struct sass_chains kernels_by_name;    /* kernels, numbered from 1, by the hash of their short name */
	struct sass_chains items;              /* items of .nv.info, numbered from 1, by their symbol; items without a
	                                    * symbol have key nsymbols */
	uint32_t *item_at;                     /* item_at[i]: offset in .nv.info of item i, counted from 1 */
	uint64_t symbol_attrs[4];              /* bit a: some item with a symbol has attribute a */
	struct sass_section_results *section_results; /* malloc'd */
};

/* Results of backends/cuda/sass/analysis/callees.c about code sections, shared by the kernels that call the same
 * functions. */
struct sass_section_results {
	bool pointed;      /* find_address_taken() has run */
	uint8_t section[]; /* flags of enum sass_finding, per section */
};

/* Opens a cubin. Returns 0; -EINVAL with the reason in *diag; -ENOMEM. The caller owns the bytes, which must outlive
 * the cubin. */
int sass_cubin_open(const void *data, size_t size, struct sass_cubin *cubin, struct gpubpf_diag *diag);
void sass_cubin_finish(struct sass_cubin *cubin);

/* Reads the item of .nv.info at offset *at and advances *at. Returns false at the end, or if the rest is
 * malformed. */
bool sass_item_next(const uint8_t *data, size_t size, size_t *at, struct sass_item *item);
/* Returns the first number in the list of a key. This loop visits the whole list: for (i = sass_first(chains, key);
 * i; i = chains->next[i]). */
static inline uint32_t sass_first(const struct sass_chains *chains, uint32_t key)
{
	return key < chains->nkeys ? chains->first[key] : 0;
}

/* The first function returns the first section of that name. The second function returns the section whose name has
 * the prefix and whose sh_info is the code section `text`. Both return 0 if there is no such section. */
uint32_t sass_section_find(const struct sass_cubin *cubin, const char *name);
uint32_t sass_section_of(const struct sass_cubin *cubin, const char *prefix, uint32_t text);
/* Returns the kernel with that short name (core/wire/name.h); NULL: there is none. */
const struct sass_kernel *sass_kernel_find(const struct sass_cubin *cubin, const char *name);
/* Returns the index of the nonempty relocation section that applies to a section; 0: there is none. */
uint32_t sass_relocations_of(const struct sass_cubin *cubin, uint32_t section);

/* A relocation: the driver computes a value from a symbol and writes it at offset `off` of a section. type:
 * R_CUDA_*, see enum sass_relocation_type. */
struct sass_relocation {
	uint64_t off;
	uint32_t symbol, type; /* symbol: index of a symbol, may be out of range */
	int64_t addend;
};
enum sass_relocation_type {
	SASS_RELOCATION_64 = 2,     /* an 8-byte address */
	SASS_RELOCATION_LOW = 0x38, /* the low or high half of an address, in bits 32 to 63 of an instruction */
	SASS_RELOCATION_HIGH = 0x39,
	SASS_RELOCATION_CALL = 0x4b, /* the target of a call instruction */
};
/* Calls fn for each relocation of a section, in the order of the table. A nonzero result of fn ends the walk and is
 * returned. */
int sass_relocations_each(const struct sass_cubin *cubin, uint32_t section,
			  int (*fn)(void *arg, const struct sass_relocation *relocation), void *arg);

/* Both functions read a little-endian number, because cubins are little-endian. */
static inline uint32_t sass_get32(const uint8_t *at)
{
	return at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint16_t sass_get16(const uint8_t *at)
{
	return at[0] | at[1] << 8;
}

#endif
