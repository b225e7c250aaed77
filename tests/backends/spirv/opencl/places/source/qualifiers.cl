/* SPDX-License-Identifier: Apache-2.0 */
/* Qualifiers of OpenCL C 2.0 and 3.0: nosvm buffers, and images that a kernel reads and writes. */
//@ options: -cl-std=CL3.0

//@ run: apart 64 16 buf:256 buf:256
//@ mem: apart mem 128:512
kernel void apart(global int *out, __attribute__((nosvm)) global int *in)
{
	out[get_global_id(0)] = in[get_global_id(0)] + 1;
}

//@ run: pictured 16,16 4,4 img:16 buf:1024

//@ mem: pictured mem 512:2048 branch 256:0

//@ refuses: pictured mem.all an image
kernel void pictured(read_write image2d_t picture, global int *n)
{
	int2 at = (int2)(get_global_id(0), get_global_id(1));
	float4 v = read_imagef(picture, at);

	if (v.x >= 0)
		n[at.y * 16 + at.x] += 3;
	write_imagef(picture, at, v * 0.5f);
}
