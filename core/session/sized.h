/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public structs that begin with their own size, as size_t. Caller and library may be of different versions, and
 * members are only ever added at the end (the rule of libbpf's option structs): a shorter one lacks members, which
 * are then zero; a longer one is fine as long as what this library does not know is zero. None has padding, which a
 * program need not have cleared: members called unused stand there (tests/session/exports compiles with -Wpadded).
 */
#ifndef GPUBPF_SESSION_SIZED_H
#define GPUBPF_SESSION_SIZED_H

#include <stdbool.h>
#include <stddef.h>

/* Larger than any version of any of them: a size beyond was never set. */
#define GPUBPF_SIZED_MAX 4096
#define GPUBPF_SIZED_WHY "sz is not set, or it asks for what only a newer libgpubpf knows"

/* May the caller's struct be used, where `known` bytes of it mean something here? */
bool gpubpf_sized_ok(const void *theirs, size_t known);
/* Their members into ours of `known` bytes, the missing ones zero. 0, or -EINVAL with ours as it was. */
int gpubpf_sized_take(void *ours, size_t known, const void *theirs);
/* Our members, of `known` bytes, as far as theirs has them; their size stays. 0, or -EINVAL with theirs as it was. */
int gpubpf_sized_give(void *theirs, size_t known, const void *ours);

#endif
