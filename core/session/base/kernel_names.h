/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the GPU kernels that a session knows. Per kernel: id, name, parameters, and the target that built its
 * twin.
 */
#ifndef GPUBPF_SESSION_KERNEL_NAMES_H
#define GPUBPF_SESSION_KERNEL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#define GPUBPF_MAX_KERNEL_IDS 65536

struct gpubpf_session;
struct gpubpf_signature;

int gpubpf_kernels_create(struct gpubpf_session *s); /* 0 or -ENOMEM */
void gpubpf_kernels_destroy(struct gpubpf_session *s);

uint32_t gpubpf_kernels_count(const struct gpubpf_session *s); /* number of kernels; their ids are 0 to count - 1 */
/* Returns the id of the kernel with that name. A new name is added first. Returns UINT32_MAX if the table is full. */
uint32_t gpubpf_kernel_id(struct gpubpf_session *s, const char *name);
/* Store the untruncated name of a kernel whose short name may be truncated. */
void gpubpf_kernel_set_full_name(struct gpubpf_session *s, uint32_t id, const char *whole);
/*
 * Store the target that built the kernel's twin, and the user's assembler that turned the twin into machine code ("":
 * none).
 */
void gpubpf_kernel_set_route(struct gpubpf_session *s, uint32_t id, const char *route, const char *assembler);
/*
 * Store the kernel's parameters. Takes ownership of *signature and sets it to NULL. If the kernel already has a
 * signature, *signature stays with the caller.
 */
void gpubpf_kernel_set_signature(struct gpubpf_session *s, uint32_t id, struct gpubpf_signature **signature);
const struct gpubpf_signature *gpubpf_kernel_signature(const struct gpubpf_session *s, uint64_t id);
/* Returns the untruncated name, or "" if no kernel has that id. */
const char *gpubpf_kernel_full_name(const struct gpubpf_session *s, uint64_t id);
/* Returns the name to show: the untruncated name, or its demangled form if `demangle` is set. */
const char *gpubpf_kernel_display_name(struct gpubpf_session *s, uint64_t id, bool demangle);
/*
 * Return the target that built the kernel's twin, and the assembler that turned the twin into machine code. "": none,
 * or not known.
 */
const char *gpubpf_kernel_route(const struct gpubpf_session *s, uint64_t id);
const char *gpubpf_kernel_assembler(const struct gpubpf_session *s, uint64_t id);

#endif
