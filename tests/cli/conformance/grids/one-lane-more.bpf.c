/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks with one lane more than a warp of the device. */
#include "lanes.h"

EXPECT("launch 5,1,1 WARP+1,1,1");
