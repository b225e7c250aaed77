/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake ROCr. Its GPU 0000:03:00.0 has a counter of 100 MHz that started at 7 s. If $GPUBPF_TEST_FAKE_HSA is "broken",
 * the counter does not advance.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
#define CALL(name, parameters) EXPORT int name parameters; EXPORT int name parameters

typedef struct { uint64_t handle; } agent;

CALL(hsa_iterate_agents, (int (*fn)(agent a, void *arg), void *arg))
{
	for (uint64_t i = 1; i < 4; i++)
		fn((agent){ i }, arg);
	return 0;
}

/* Agent 1 is a CPU, agents 2 and 3 are GPUs. */
CALL(hsa_agent_get_info, (agent a, int what, void *value))
{
	*(uint32_t *)value = what == 17 ? a.handle != 1 : what == 0xa006 ? a.handle << 8 : 0;
	return what == 17 || what == 0xa006 || what == 0xa00f ? 0 : 1;
}

CALL(hsa_system_get_info, (int what, void *value))
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	*(uint64_t *)value = what == 3 ? 1000000000 : ts.tv_sec * 1000000000ull + ts.tv_nsec;
	return what == 2 || what == 3 ? 0 : 1;
}

CALL(hsa_amd_profiling_convert_tick_to_system_domain, (agent a, uint64_t tick, uint64_t *time))
{
	*time = getenv("GPUBPF_TEST_FAKE_HSA") ? UINT64_MAX / 2 : 7000000000 + tick * (a.handle == 3 ? 10 : 1);
	return 0;
}
