/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL C 3.0 with and without generic addresses: a saved argument keeps the parameter's address space. */
//@ options: -cl-std=CL3.0

//@ run: threes 64 16 buf:768 buf:768
//@ mem: threes mem 128:1536
kernel void threes(global float *out, global const float *in)
{
	size_t i = get_global_id(0);

	float3 v = vload3(i, in) + 1.0f;

	vstore3(v, i, out);
}

//@ run: chars 64 16 buf:256 buf:256 buf:256
//@ mem: chars mem 192:768
kernel void chars(global char *out, global const char *a, global const char *b)
{
	size_t i = get_global_id(0);

	char4 v = max(vload4(i, a), vload4(i, b));

	vstore4(v, i, out);
}

//@ run: either 64 16 buf:1024 buf:1024
//@ mem: either mem 96:1536
kernel void either(global int4 *out, global const int *in)
{
	size_t i = get_global_id(0);

	out[i] = i & 1 ? vload4(i, in) : (int4)(0);
}
