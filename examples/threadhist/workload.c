/* SPDX-License-Identifier: Apache-2.0 */
/* Launches a kernel with fewer and fewer threads: thread 0 runs in all launches, thread 4095 in one. */
#include "vector_add.h"

int main(void)
{
	struct opencl cl = opencl_start(vector_add_source);
	int wrong = 0;

	for (cl_uint n = 4096; n >= 64; n /= 2)
		wrong |= vector_add(&cl, n, 64, 1);
	opencl_stop(&cl);
	return wrong;
}
