/* SPDX-License-Identifier: Apache-2.0 */
/* prelude.cl and checked.cl as text; maps/device/expand.py generates it at build time. */
#ifndef GPUBPF_LOWER_CLC_TEXT_H
#define GPUBPF_LOWER_CLC_TEXT_H

extern const char gpubpf_clc_prelude[];
extern const char gpubpf_clc_checked[];

#endif
