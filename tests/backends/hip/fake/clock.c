/* SPDX-License-Identifier: Apache-2.0 */
/* clock: reads the counter of an AMD GPU through the fake ROCr. */
#include "backends/hip/device/clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "tests/tap.h"

int main(int argc, char **argv)
{
	uint64_t cycles = 0, before = 0, after = 0, ns;
	bool loaded = argc == 2 && dlopen(argv[1], RTLD_NOW);

	ok(loaded && !hip_clock_read("0000:03:00.0", &cycles, &before, &after), "the counter is read");
	ns = 7000000000 + 10 * cycles;
	ok(ns + 1000 >= before && ns <= after + 1000, "it is that of the moment: %llu, %llu, %llu", (unsigned long long)before,
	   (unsigned long long)ns, (unsigned long long)after);
	ok(hip_clock_read("0000:04:00.0", &cycles, &before, &after) == -EOPNOTSUPP, "a device that ROCr does not know");
	ok(hip_clock_read("nonsense", &cycles, &before, &after) == -EOPNOTSUPP, "a place that is none");
	setenv("GPUBPF_TEST_FAKE_HSA", "broken", 1);
	ok(hip_clock_read("0000:03:00.0", &cycles, &before, &after) == -EOPNOTSUPP, "a counter that stands still");
	return done();
}
