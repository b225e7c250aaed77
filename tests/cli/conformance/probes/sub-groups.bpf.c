/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels built for each sub-group size that the device offers, with full and partial sub-groups, and with diverging
 * lanes.
 */
#define KERNEL "sized"
#define LAUNCH "5,1,1 77,1,1"
#include "entry_exit.h"

EXPECT("sub-groups");
