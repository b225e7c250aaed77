/* SPDX-License-Identifier: Apache-2.0 */
/* 1,1,64 blocks of 1,1,16 threads: each thread runs the program once. */
#include "count.h"

EXPECT("launch 1,1,64 1,1,16");
EXPECT("map threads[0] 1024");
EXPECT("map linear[0] 523776");
