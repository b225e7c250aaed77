/* SPDX-License-Identifier: Apache-2.0 */

/* Addresses that code reads from c[0x4]. The driver stores them there when it loads the module. */
#ifndef GPUBPF_SASS_ADDRESSES_H
#define GPUBPF_SASS_ADDRESSES_H

#include "code.h"

/* Sets *off to the offset in c[0x4] that instruction i reads: its literal offset, plus a constant that the code
 * moves into the index register shortly before. False: the offset is unknown. */
bool sass_reads_address(const struct sass_code *code, uint32_t i, uint64_t *off);

/* Finds the relocation of the address at `off` in c[0x4]; its symbol index is valid. False: there is none. */
bool sass_address_at(const struct sass_cubin *cubin, uint64_t off, struct sass_relocation *address);
/* Calls fn for each address in c[0x4]. A nonzero result of fn ends the walk and is returned. */
int sass_addresses_each(const struct sass_cubin *cubin, int (*fn)(void *arg, const struct sass_relocation *address),
			void *arg);
/* Is the symbol a function of the driver (vprintf, __assertfail) whose state belongs to the context, so that another
 * module can call it too? */
bool sass_is_system_call(const struct sass_symbol *symbol);

#endif
