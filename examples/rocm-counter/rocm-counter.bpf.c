/* SPDX-License-Identifier: Apache-2.0 */
/* The unchanged counter of cuda-counter: the same program runs in HIP kernels. */
#include "../cuda-counter/cuda-counter.bpf.c"
