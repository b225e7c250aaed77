/* SPDX-License-Identifier: Apache-2.0 */
// a kernel with nothing but its end
// launch 128 1 1 64 1 1
kernel void k(global uint *out, global const uint *in, uint n)
{
}
