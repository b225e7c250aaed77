/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a warp without one lane, by the device's own size of warps. */
#include "lanes.h"

EXPECT("launch 5,1,1 WARP-1,1,1");
