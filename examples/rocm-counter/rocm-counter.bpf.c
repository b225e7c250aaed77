/* SPDX-License-Identifier: Apache-2.0 */
/* The counter of cuda-counter, as it is: the same program runs in HIP's kernels. */
#include "../cuda-counter/cuda-counter.bpf.c"
