/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include <time.h>

#include "hooks/process/time.h"

bool gpubpf_calls_wait(const struct gpubpf_calls *calls, uint64_t ns)
{
	const struct timespec nap = { 0, 100000 };
	uint64_t deadline = gpubpf_now_ns() + ns;

	for (int i = 0; i < GPUBPF_CALL_SHARDS;) {
		if (atomic_load(&calls->shard[i].n) <= 0)
			i++;
		else if (gpubpf_now_ns() > deadline)
			return false;
		else
			nanosleep(&nap, NULL);
	}
	return true;
}

void gpubpf_calls_reset(struct gpubpf_calls *calls)
{
	for (int i = 0; i < GPUBPF_CALL_SHARDS; i++)
		atomic_store(&calls->shard[i].n, 0);
}
