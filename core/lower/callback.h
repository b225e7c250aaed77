/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the function of a program that a helper calls back. */
#ifndef GPUBPF_CORE_LOWER_CALLBACK_H
#define GPUBPF_CORE_LOWER_CALLBACK_H

#include <stdint.h>

struct gpubpf_diag;
struct gpubpf_prog;

/*
 * Sets *target to the first pc of the function that the helper called at `pc` calls back. Some path must reach this
 * call. Returns -EINVAL and a diagnostic if the facts do not name exactly one function.
 */
int lower_callback(const struct gpubpf_prog *prog, uint32_t pc, uint32_t *target, struct gpubpf_diag *diag);

#endif
