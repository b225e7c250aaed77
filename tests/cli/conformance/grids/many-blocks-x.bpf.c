/* SPDX-License-Identifier: Apache-2.0 */
/* More blocks in x than 16 bits hold, if the device allows it: each thread runs the program once. */
#include "count.h"

EXPECT("launch 70000,1,1 1,1,1");
EXPECT("map threads[0] 70000");
EXPECT("map linear[0] 2449965000");
