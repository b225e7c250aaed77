/* SPDX-License-Identifier: Apache-2.0 */

/* Finds the addresses that machine code reads from constant bank 4, c[0x4]. The driver stores them there when it
 * loads the module. */
#ifndef GPUBPF_SASS_ADDRESSES_H
#define GPUBPF_SASS_ADDRESSES_H

#include "code.h"

/* Sets *off to the offset in c[0x4] that instruction i reads. The offset is the literal in the instruction plus the
 * constant that an earlier instruction has moved into the index register. Returns false if the offset is unknown. */
bool sass_reads_address(const struct sass_code *code, uint32_t i, uint64_t *off);

/* Stores in *address the relocation that fills offset `off` of c[0x4]; its symbol index is valid. Returns false if
 * there is no such relocation. */
bool sass_address_at(const struct sass_cubin *cubin, uint64_t off, struct sass_relocation *address);
/* Calls fn with the relocation of each address in c[0x4]. A nonzero result of fn ends the walk and is returned. */
int sass_addresses_each(const struct sass_cubin *cubin, int (*fn)(void *arg, const struct sass_relocation *address),
			void *arg);
/* Is the symbol a function of the driver (vprintf, __assertfail)? The state of these functions belongs to the CUDA
 * context, so that any module of the context can call them. */
bool sass_is_system_call(const struct sass_symbol *symbol);

#endif
