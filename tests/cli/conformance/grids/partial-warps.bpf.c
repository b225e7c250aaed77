/* SPDX-License-Identifier: Apache-2.0 */
/* 7,1,1 blocks of 33,1,1 threads: each thread runs the program once. */
#include "count.h"

EXPECT("launch 7,1,1 33,1,1");
EXPECT("map threads[0] 231");
EXPECT("map linear[0] 26565");
