/* SPDX-License-Identifier: Apache-2.0 */
/* After launches outside of a capture, captures a stream for two seconds; the test reads maps during the capture.
 * With the argument FILE it creates FILE.running when the capture has started, and FILE.ended shortly before it ends */
#include <string>
#include <unistd.h>
#include "../threads.cuh"

__global__ void step(unsigned *out)
{
	out[blockIdx.x * blockDim.x + threadIdx.x] += threadIdx.x;
}

static void touch(const std::string &file)
{
	if (FILE *f = fopen(file.c_str(), "w"))
		fclose(f);
}

int main(int argc, char **argv)
{
	std::string file = argc > 1 ? argv[1] : "/tmp/gpubpf-captured";
	device_array<unsigned> out(1024);
	cudaGraphExec_t ready;
	cudaStream_t stream;
	cudaGraph_t graph;

	check(cudaStreamCreate(&stream));
	for (int i = 0; i < 4; i++)
		step<<<8, 128, 0, stream>>>(out.data);
	check(cudaDeviceSynchronize());
	check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	touch(file + ".running");
	for (int i = 0; i < 40; i++) {
		step<<<8, 128, 0, stream>>>(out.data);
		usleep(50000);
	}
	touch(file + ".ended");
	check(cudaStreamEndCapture(stream, &graph));
	check(cudaGraphInstantiate(&ready, graph, 0));
	for (int i = 0; i < 3; i++)
		check(cudaGraphLaunch(ready, stream));
	return report(out.digest(), (4 + 3 * 40) * 1024);
}
