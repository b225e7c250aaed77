/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers that call back a function of the program. */
#ifndef GPUBPF_CORE_LOWER_CALLBACK_H
#define GPUBPF_CORE_LOWER_CALLBACK_H

#include <stdint.h>

struct gpubpf_diag;
struct gpubpf_prog;

/*
 * Finds the function that the helper called at pc calls back; *target is its first pc. Some path must reach the call.
 * -EINVAL if the facts do not name exactly one function.
 */
int lower_callback(const struct gpubpf_prog *prog, uint32_t pc, uint32_t *target, struct gpubpf_diag *diag);

#endif
