/* SPDX-License-Identifier: Apache-2.0 */
/* The device's maximum number of blocks in y, at most 65535. */
#include "once.h"

EXPECT("launch 1,MOST,1 1,1,1");
