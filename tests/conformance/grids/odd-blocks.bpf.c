/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of 3,5,7 threads, 3,5,7 of them: each thread runs the program once. */
#include "count.h"

EXPECT("launch 3,5,7 3,5,7");
EXPECT("map threads[0] 11025");
EXPECT("map linear[0] 60769800");
