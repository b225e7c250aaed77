/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of 256,1,1 threads, 3,1,1 of them: each thread runs the program once. */
#include "count.h"

EXPECT("launch 3,1,1 256,1,1");
EXPECT("map threads[0] 768");
EXPECT("map linear[0] 294528");
