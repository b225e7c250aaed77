/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

__thread const struct gpubpf_host_thread *gpubpf_host_thread;

void gpubpf_host_thread_set(const struct gpubpf_host_thread *thread)
{
	gpubpf_host_thread = thread;
}
