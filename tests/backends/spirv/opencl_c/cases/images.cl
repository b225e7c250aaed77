//@ run: blur 16,16 8,8 img:16 img:16 sampler i32:2
//@ arg: blur 0 0
//@ arg: blur 2 0
//@ arg: blur 3 0x2
__constant sampler_t own = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
__kernel void blur(__write_only image2d_t dst, __read_only image2d_t src, sampler_t s, int radius)
{
	int2 at = (int2)(get_global_id(0), get_global_id(1));
	uint4 sum = read_imageui(src, s, at);

	for (int i = -radius; i <= radius; i++)
		sum += read_imageui(src, own, at + (int2)(i, 0));
	write_imageui(dst, at, sum / (uint)(2 * radius + 2));
}
