/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the numbers that the agent reads from the environment (hooks/process/environ.c). An invalid value counts as
 * unset.
 */
#include <stdlib.h>

#include "hooks/agent.h"
#include "tests/tap.h"

static void expect_value(const char *name, const char *value, uint64_t (*read)(void), uint64_t wanted)
{
	uint64_t got;

	value ? setenv(name, value, 1) : unsetenv(name);
	got = read();
	ok(got == wanted, "%s=%s: %llu", name, value ? value : "(not set)", (unsigned long long)got);
}

int main(void)
{
	static const char *const none[] = { NULL, "", "0", "-1", " 4", "4 ", "4x", "x", "33", "18446744073709551616" };

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		expect_value("GPUBPF_DRAIN_THREADS", none[i], gpubpf_env_drain_threads, 0);
	expect_value("GPUBPF_DRAIN_THREADS", "1", gpubpf_env_drain_threads, 1);
	expect_value("GPUBPF_DRAIN_THREADS", "32", gpubpf_env_drain_threads, 32);
	expect_value("GPUBPF_DRAIN_BYTES", "1048576", gpubpf_env_drain_bytes, 1048576);
	expect_value("GPUBPF_DRAIN_BYTES", "1073741825", gpubpf_env_drain_bytes, 0);
	return done();
}
