/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers that call a function of the program's back. */
#ifndef GPUBPF_CORE_LOWER_CALLBACK_H
#define GPUBPF_CORE_LOWER_CALLBACK_H

#include <stdint.h>

struct gpubpf_diag;
struct gpubpf_prog;

/* The one function that the call at pc, which was reached, has called back: the pc where it begins. -EINVAL where the facts have none. */
int lower_callback(const struct gpubpf_prog *prog, uint32_t pc, uint32_t *target, struct gpubpf_diag *diag);

#endif
