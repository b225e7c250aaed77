/* SPDX-License-Identifier: Apache-2.0 */
/* 4096,1,1 blocks of 4,1,1 threads: each thread runs the program once. */
#include "count.h"

EXPECT("launch 4096,1,1 4,1,1");
EXPECT("map threads[0] 16384");
EXPECT("map linear[0] 134209536");
