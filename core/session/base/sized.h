/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies public structs whose first member is their size (a size_t). An application and the library may have different
 * versions of such a struct. New members are only added at the end, as in libbpf's option structs.
 *
 * If the application's struct is shorter, the missing members count as zero. If it is longer, the members that this
 * library does not know must be zero. The structs have no padding, because an application might not clear padding;
 * members called unused fill the gaps. tests/core/session/exports compiles with -Wpadded.
 */
#ifndef GPUBPF_SESSION_SIZED_H
#define GPUBPF_SESSION_SIZED_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The maximum accepted size. It is larger than all versions of these structs, so a larger `sz` was never initialized.
 */
#define GPUBPF_SIZED_MAX 4096
#define GPUBPF_SIZED_WHY "sz is not set, or it uses members that only a newer libgpubpf knows"

/* Returns true if this library, which knows the first `known` bytes of the struct, can use the caller's struct. */
bool gpubpf_sized_is_valid(const void *theirs, size_t known);
/*
 * Copy the caller's members into our struct of `known` bytes; missing members become zero. Returns 0, or -EINVAL
 * without a change of our struct.
 */
int gpubpf_sized_copy_in(void *ours, size_t known, const void *theirs);
/*
 * Copy our members into the caller's struct up to its size, and keep its `sz`. Returns 0, or -EINVAL without a change
 * of the caller's struct.
 */
int gpubpf_sized_copy_out(void *theirs, size_t known, const void *ours);

#endif
