/* SPDX-License-Identifier: Apache-2.0 */
/* 3,1,1 blocks of 256,1,1 threads: each thread runs the program once. */
#include "count.h"

EXPECT("launch 3,1,1 256,1,1");
EXPECT("map threads[0] 768");
EXPECT("map linear[0] 294528");
