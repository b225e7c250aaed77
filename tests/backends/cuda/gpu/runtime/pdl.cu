/* SPDX-License-Identifier: Apache-2.0 */
/* Programmatic dependent launch: the second kernel begins before the first has ended. */
#include "../threads.cuh"

__global__ void produce(unsigned *data)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	cudaTriggerProgrammaticLaunchCompletion();
	data[i] = i * 7;
}

__global__ void consume(const unsigned *data, unsigned *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	cudaGridDependencySynchronize();
	out[i] = data[i] + 1;
}

int main()
{
	device_array<unsigned> data(64 * 128), out(64 * 128);
	cudaLaunchAttribute attribute = {};
	cudaLaunchConfig_t config = {};
	cudaStream_t stream;

	check(cudaStreamCreate(&stream));
	check(cudaDeviceSynchronize());
	attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	attribute.val.programmaticStreamSerializationAllowed = 1;
	config.gridDim = dim3(64);
	config.blockDim = dim3(128);
	config.stream = stream;
	config.attrs = &attribute;
	config.numAttrs = 1;
	for (int i = 0; i < 10; i++) {
		produce<<<64, 128, 0, stream>>>(data.data);
		check(cudaLaunchKernelEx(&config, consume, (const unsigned *)data.data, out.data));
	}
	check(cudaStreamSynchronize(stream));
	return report(out.digest(), 2 * 10 * 64 * 128);
}
