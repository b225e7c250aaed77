/* SPDX-License-Identifier: Apache-2.0 */
/* Sub-groups of each size that the device offers, asked of it by the kernel: whole ones and the rest of a block, lanes that part. */
#define KERNEL "sized"
#define LAUNCH "5,1,1 77,1,1"
#include "entry_exit.h"

EXPECT("sub-groups");
