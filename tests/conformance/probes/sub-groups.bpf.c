/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels with each sub-group size that the device offers: full and partial sub-groups, and diverging lanes. */
#define KERNEL "sized"
#define LAUNCH "5,1,1 77,1,1"
#include "entry_exit.h"

EXPECT("sub-groups");
