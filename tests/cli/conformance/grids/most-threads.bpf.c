/* SPDX-License-Identifier: Apache-2.0 */
/* The largest block that the device supports. */
#include "once.h"

EXPECT("launch 2,1,1 MOST,1,1");
