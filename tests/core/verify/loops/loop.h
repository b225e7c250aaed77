/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common code of the files in this folder. Each LOOP is one program; it reads and writes global data of unknown
 * content.
 */
#ifndef GPUBPF_TESTS_VERIFY_LOOPS_LOOP_H
#define GPUBPF_TESTS_VERIFY_LOOPS_LOOP_H

#include <stdbool.h>

#include <gpubpf/probe.h>

#define LOOP(name)                 \
	SEC("kprobe/loop")         \
	int name(void *ctx)

u8 bytes[256];
u16 halves[128];
u32 words[64];
u64 longs[32];
u8 text[64];
u8 made[256];
u32 made32[64];
u64 made64[32];
u32 length;
u64 result;

char _license[] SEC("license") = "GPL";

#endif
