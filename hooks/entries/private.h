/* SPDX-License-Identifier: Apache-2.0 */
/* Private to hooks/entries: memory of slots, and pages of patched code. */
#ifndef GPUBPF_HOOKS_ENTRIES_PRIVATE_H
#define GPUBPF_HOOKS_ENTRIES_PRIVATE_H

#include <stdint.h>

#include "core/attach/journal.h"

/* slots.c: returns the address of a new slot in reach of the function, or 0. */
uint64_t gpubpf_entry_slot(uint64_t function);
/*
 * pages.c: restore the patched functions without stopping a thread. A page of code that equals the library's file except
 * for patches is replaced by a new mapping of that file. The other pages stay.
 */
void gpubpf_entry_restore_pages(const struct gpubpf_journal *journal);

#endif
