/* SPDX-License-Identifier: Apache-2.0 */
#include "clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

/* Declarations from hsa.h and hsa_ext_amd.h. */
typedef struct {
	uint64_t handle;
} hsa_agent;
enum {
	SYSTEM_TIMESTAMP = 2,
	SYSTEM_FREQUENCY = 3,
	AGENT_TYPE = 17,
	AGENT_BDFID = 0xa006,
	AGENT_DOMAIN = 0xa00f,
	TYPE_GPU = 1,
};

#define STEP_TICKS 1000000000ull /* number of ticks over which the counter's frequency is measured */
#define MIN_HZ 1000000ull
#define MAX_HZ 10000000000ull
#define ROUNDS 4
#define MAX_ERROR_NS 1000

static struct hsa {
	int (*agents)(int (*fn)(hsa_agent agent, void *arg), void *arg);
	int (*agent_info)(hsa_agent agent, int what, void *value);
	int (*system_info)(int what, void *value);
	int (*to_system)(hsa_agent agent, uint64_t tick, uint64_t *time);
} hsa;
static bool ready;

static void load(void)
{
	void *lib = dlopen("libhsa-runtime64.so.1", RTLD_LAZY | RTLD_NOLOAD);

	if (!lib)
		return;
	hsa.agents = (typeof(hsa.agents))dlsym(lib, "hsa_iterate_agents");
	hsa.agent_info = (typeof(hsa.agent_info))dlsym(lib, "hsa_agent_get_info");
	hsa.system_info = (typeof(hsa.system_info))dlsym(lib, "hsa_system_get_info");
	hsa.to_system = (typeof(hsa.to_system))dlsym(lib, "hsa_amd_profiling_convert_tick_to_system_domain");
	ready = hsa.agents && hsa.agent_info && hsa.system_info && hsa.to_system;
}

struct search {
	uint32_t domain, bdf;
	hsa_agent agent;
	bool found;
};

static int match_agent(hsa_agent agent, void *arg)
{
	uint32_t type = 0, bdf = 0, domain = 0;
	struct search *s = arg;

	if (hsa.agent_info(agent, AGENT_TYPE, &type) || type != TYPE_GPU || hsa.agent_info(agent, AGENT_BDFID, &bdf))
		return 0;
	hsa.agent_info(agent, AGENT_DOMAIN, &domain); /* older ROCr does not have this attribute; `domain` stays 0 */
	if (bdf == s->bdf && domain == s->domain) {
		s->agent = agent;
		s->found = true;
	}
	return 0;
}

static bool find_agent(const char *pci, hsa_agent *agent)
{
	unsigned domain = 0, bus = 0, slot = 0, function = 0;
	struct search s = { 0 };

	if (sscanf(pci, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
		return false;
	s.domain = domain;
	s.bdf = bus << 8 | slot << 3 | function;
	hsa.agents(match_agent, &s);
	*agent = s.agent;
	return s.found;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* Returns the time that STEP_TICKS ticks take, in units of the system time. Returns 0 if the resulting frequency is
 * implausible. */
static uint64_t measure_rate(hsa_agent agent)
{
	uint64_t from = 0, to = 0, hz = 0;

	if (hsa.system_info(SYSTEM_FREQUENCY, &hz) || !hz || hsa.to_system(agent, 0, &from) ||
	    hsa.to_system(agent, STEP_TICKS, &to) || to <= from)
		return 0;
	to -= from;
	return (unsigned __int128)hz * STEP_TICKS / to >= MIN_HZ && (unsigned __int128)hz * STEP_TICKS / to <= MAX_HZ ?
		       to :
		       0;
}

/*
 * Finds the tick of the current system time by iteration, because the runtime only converts ticks to time. Stores
 * CLOCK_MONOTONIC from before and after the system time was read. Returns 0 or -EOPNOTSUPP.
 */
static int search_tick(hsa_agent agent, uint64_t step, uint64_t *tick, uint64_t *before_ns, uint64_t *after_ns)
{
	uint64_t t = 0, time = 0, then = 0;

	for (int i = 0; i < ROUNDS; i++) {
		*before_ns = now_ns();
		if (hsa.system_info(SYSTEM_TIMESTAMP, &time))
			return -EOPNOTSUPP;
		*after_ns = now_ns();
		if (hsa.to_system(agent, t, &then))
			return -EOPNOTSUPP;
		t += (__int128)(int64_t)(time - then) * (__int128)STEP_TICKS / (__int128)step;
	}
	if (hsa.to_system(agent, t, &then) || then - time + MAX_ERROR_NS > 2 * MAX_ERROR_NS)
		return -EOPNOTSUPP;
	*tick = t;
	return 0;
}

int hip_clock_read(const char *pci, uint64_t *cycles, uint64_t *before_ns, uint64_t *after_ns)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	hsa_agent agent;
	uint64_t step;

	pthread_once(&once, load);
	step = ready && find_agent(pci, &agent) ? measure_rate(agent) : 0;
	return step ? search_tick(agent, step, cycles, before_ns, after_ns) : -EOPNOTSUPP;
}
