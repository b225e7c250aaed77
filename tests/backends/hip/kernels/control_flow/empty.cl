/* SPDX-License-Identifier: Apache-2.0 */
// the kernel consists of s_endpgm only
// launch 128 1 1 64 1 1
kernel void k(global uint *out, global const uint *in, uint n)
{
}
