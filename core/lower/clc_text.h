/* SPDX-License-Identifier: Apache-2.0 */
/* prelude.cl and checked.cl as text, made at build time by maps/expand.py. */
#ifndef GPUBPF_LOWER_CLC_TEXT_H
#define GPUBPF_LOWER_CLC_TEXT_H

extern const char gpubpf_clc_prelude[];
extern const char gpubpf_clc_checked[];

#endif
