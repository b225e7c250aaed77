/* SPDX-License-Identifier: Apache-2.0 */
/* A texture object over pitched memory and a surface object over an array. */
#include "../threads.cuh"

__global__ void fetch(cudaTextureObject_t texture, cudaSurfaceObject_t surface, float *out, int width)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	float v = tex2D<float>(texture, x + 0.5f, y + 0.5f);

	surf2Dwrite(v * 2, surface, x * (int)sizeof(float), y);
	out[y * width + x] = v;
}

__global__ void read_back(cudaSurfaceObject_t surface, float *out, int width)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	out[y * width + x] += surf2Dread<float>(surface, x * (int)sizeof(float), y);
}

int main()
{
	const int width = 128, height = 64;
	cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
	std::vector<float> host(width * height);
	device_array<float> out(width * height);
	cudaArray_t in, drawn;
	cudaResourceDesc what = {};
	cudaTextureDesc how = {};
	cudaTextureObject_t texture;
	cudaSurfaceObject_t surface;

	for (int i = 0; i < width * height; i++)
		host[i] = i * 0.25f;
	check(cudaMallocArray(&in, &format, width, height));
	check(cudaMallocArray(&drawn, &format, width, height, cudaArraySurfaceLoadStore));
	check(cudaMemcpy2DToArray(in, 0, 0, host.data(), width * 4, width * 4, height, cudaMemcpyHostToDevice));
	what.resType = cudaResourceTypeArray;
	what.res.array.array = in;
	check(cudaCreateTextureObject(&texture, &what, &how, nullptr));
	what.res.array.array = drawn;
	check(cudaCreateSurfaceObject(&surface, &what));
	fetch<<<dim3(8, 8), dim3(16, 8)>>>(texture, surface, out.data, width);
	read_back<<<dim3(8, 8), dim3(16, 8)>>>(surface, out.data, width);
	return report(out.digest(), 2 * width * height);
}
