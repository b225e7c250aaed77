/* SPDX-License-Identifier: Apache-2.0 */
/* Declares the text of prelude.cl and checked.cl, which maps/device/expand.py generates at build time. */
#ifndef GPUBPF_LOWER_CLC_TEXT_H
#define GPUBPF_LOWER_CLC_TEXT_H

extern const char gpubpf_clc_prelude[];
extern const char gpubpf_clc_checked[];

#endif
