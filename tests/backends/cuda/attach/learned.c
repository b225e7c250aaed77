/* SPDX-License-Identifier: Apache-2.0 */
/* A library with a fat binary that defines the kernel "learned". */
#include "fatbin.h"

static const struct container image = CONTAINER("learned", "");

__attribute__((visibility("default"))) struct wrapper learned_wrapper = { 0x466243b1u, 1, &image, 0 };
