/* SPDX-License-Identifier: Apache-2.0 */
#define GPU_LAST
#include "bridged.bpf.c"
