/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public structs that begin with their own size, as size_t. Caller and library may have different versions. New
 * members are only added at the end, as in libbpf's option structs. A shorter struct lacks members, which count as
 * zero. A longer one is accepted if the members that this library does not know are zero. The structs have no padding,
 * which a program need not clear: members called unused fill the gaps. tests/session/exports compiles with -Wpadded.
 */
#ifndef GPUBPF_SESSION_SIZED_H
#define GPUBPF_SESSION_SIZED_H

#include <stdbool.h>
#include <stddef.h>

/* Maximum accepted size, larger than any version of these structs: a larger `sz` was never initialized. */
#define GPUBPF_SIZED_MAX 4096
#define GPUBPF_SIZED_WHY "sz is not set, or it uses members that only a newer libgpubpf knows"

/* Can this library, which knows `known` bytes of the struct, use the caller's struct? */
bool gpubpf_sized_is_valid(const void *theirs, size_t known);
/* Copy the caller's members into our struct of `known` bytes; missing members become zero. 0, or -EINVAL with our
 * struct unchanged. */
int gpubpf_sized_copy_in(void *ours, size_t known, const void *theirs);
/* Copy our members into the caller's struct up to its size, and keep its `sz`. 0, or -EINVAL with the caller's struct
 * unchanged. */
int gpubpf_sized_copy_out(void *theirs, size_t known, const void *ours);

#endif
