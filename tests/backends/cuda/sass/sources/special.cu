/* SPDX-License-Identifier: Apache-2.0 */
/* Rare features: textures and surfaces passed as kernel arguments, and,
 * for sm_90a, warps that release and acquire registers (setmaxnreg). */
extern "C" __global__ void sampled(float *out, cudaTextureObject_t image, cudaTextureObject_t line, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = tex2D<float>(image, i % 32 + 0.5f, i / 32 + 0.5f) + tex1Dfetch<float>(line, i) +
			 tex2DLod<float4>(image, 0.25f, 0.5f, 1).y + tex3D<float>(image, 0.5f, 1.5f, i);
}

extern "C" __global__ void drawn(cudaSurfaceObject_t from, cudaSurfaceObject_t to, unsigned n)
{
	unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
	float4 value;

	if (x >= n)
		return;
	surf2Dread(&value, from, x * sizeof(value), y);
	value.x += 1;
	surf2Dwrite(value, to, x * sizeof(value), y);
	surf2Dwrite(value.y, to, x * sizeof(float), y, cudaBoundaryModeZero);
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(__CUDA_ARCH_FEAT_SM100_ALL)
extern "C" __global__ void __launch_bounds__(384, 1) shared_out(const float *in, float *out, unsigned n)
{
	__shared__ float tile[2][128];
	unsigned group = threadIdx.x / 128, lane = threadIdx.x % 128;
	float sums[32] = { 0 };

	if (!group) {
		asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
		for (unsigned i = 0; i < n; i++) {
			tile[i & 1][lane] = in[i * 128 + lane];
			asm volatile("bar.sync 1, 384;");
		}
	} else {
		asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
		for (unsigned i = 0; i < n; i++) {
			asm volatile("bar.sync 1, 384;");
			for (unsigned k = 0; k < 32; k++)
				sums[k] += tile[i & 1][(lane + k * group) % 128];
		}
		for (unsigned k = 0; k < 32; k++)
			out[(blockIdx.x * 384 + threadIdx.x) * 32 + k] = sums[k];
	}
}
#endif
