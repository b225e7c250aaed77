/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_CORE_DURATION_H
#define GPUBPF_CORE_DURATION_H

#include <stdint.h>

/* 1234567 ns as "1.2 ms" */
const char *gpubpf_duration(uint64_t ns, char buf[24]);

#endif
