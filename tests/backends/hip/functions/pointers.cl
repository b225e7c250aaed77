/* SPDX-License-Identifier: Apache-2.0 */
// calls through pointers, whose targets are unknown
// launch 64 1 1 64 1 1
// refused call call_exit mem: it calls functions through pointers or addresses in memory
#define CALLED(n) twice(n)
#include "../kernels/pointers.cl"
