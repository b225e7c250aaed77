/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a cluster read each other's shared memory. The kernel or the launch states the cluster size. */
#include <cooperative_groups.h>
#include "../threads.cuh"

namespace cg = cooperative_groups;

static __device__ void exchange(unsigned *out)
{
	__shared__ unsigned tile[128];
	cg::cluster_group cluster = cg::this_cluster();
	unsigned rank = cluster.block_rank(), t = threadIdx.x;

	tile[t] = blockIdx.x * 1000 + t;
	cluster.sync();
	out[blockIdx.x * 128 + t] = cluster.map_shared_rank(tile, (rank + 1) % cluster.num_blocks())[127 - t];
	cluster.sync();
}

__global__ void __cluster_dims__(2) cluster_fixed(unsigned *out)
{
	exchange(out);
}

__global__ void cluster_chosen(unsigned *out)
{
	exchange(out);
}

int main()
{
	device_array<unsigned> out(32 * 128);
	cudaLaunchConfig_t config = {};
	cudaLaunchAttribute attribute = {};
	uint64_t digest;

	cluster_fixed<<<32, 128>>>(out.data);
	digest = out.digest();
	attribute.id = cudaLaunchAttributeClusterDimension;
	attribute.val.clusterDim = { 4, 1, 1 };
	config.gridDim = dim3(32);
	config.blockDim = dim3(128);
	config.attrs = &attribute;
	config.numAttrs = 1;
	check(cudaLaunchKernelEx(&config, cluster_chosen, out.data));
	return report(out.digest(digest), 2 * 32 * 128);
}
