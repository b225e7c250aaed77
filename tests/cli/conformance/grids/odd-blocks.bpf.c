/* SPDX-License-Identifier: Apache-2.0 */
/* 3,5,7 blocks of 3,5,7 threads: each thread runs the program once. */
#include "count.h"

EXPECT("launch 3,5,7 3,5,7");
EXPECT("map threads[0] 11025");
EXPECT("map linear[0] 60769800");
