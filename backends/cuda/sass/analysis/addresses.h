/* SPDX-License-Identifier: Apache-2.0 */

/* Addresses that code reads from c[0x4], where the driver stores them. */
#ifndef GPUBPF_SASS_ADDRESSES_H
#define GPUBPF_SASS_ADDRESSES_H

#include "code.h"

/* The offset at which instruction i reads c[0x4]: its literal offset, plus the constant that the code moves into the
 * index register just before. False: the offset is unknown. */
bool sass_reads_address(const struct sass_code *code, uint32_t i, uint64_t *off);

/* Finds the address at `off` in c[0x4], where the driver stores it. The symbol exists. */
bool sass_address_at(const struct sass_cubin *cubin, uint64_t off, struct sass_relocation *address);
/* Calls fn for each such address; fn's non-zero return ends the walk and is returned. */
int sass_addresses_each(const struct sass_cubin *cubin, int (*fn)(void *arg, const struct sass_relocation *address), void *arg);
/* A function of the driver that a module with separate state can call too: its state belongs to the context. */
bool sass_is_system_call(const struct sass_symbol *symbol);

#endif
