/* SPDX-License-Identifier: Apache-2.0 */
/* One launch of 1024 threads, each with a different amount of work. */
#include "vector_add.h"

int main(void)
{
	struct opencl cl = opencl_start(vector_add_source);
	int wrong = vector_add(&cl, 1000, 64, 1);

	opencl_stop(&cl);
	return wrong;
}
