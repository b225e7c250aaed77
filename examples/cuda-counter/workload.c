/* SPDX-License-Identifier: Apache-2.0 */
/* Launches one kernel repeatedly. Only a part of the last work-group has elements. */
#include "vector_add.h"

int main(void)
{
	struct opencl cl = opencl_start(vector_add_source);
	int wrong = vector_add(&cl, 10000, 128, 20);

	opencl_stop(&cl);
	return wrong;
}
