/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program on two sets of maps. The interpreter runs it on gpubpf's maps. If bpf(2) is permitted, the Linux
 * kernel runs it on its own maps with BPF_PROG_TEST_RUN. Map 0, map0, is an array with one value, which passes
 * arguments and results.
 */
#ifndef GPUBPF_TESTS_MAPS_BOTH_H
#define GPUBPF_TESTS_MAPS_BOTH_H

#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/interp/interp.h"
#include "tests/maps/fixture.h"
#include "tests/tap.h"
#include "tests/core/verify/asm.h"
#include "tests/core/verify/linux.h"

#define BOTH_ARGUMENT_USE (GPUBPF_USE_LOOKUP | GPUBPF_USE_READ | GPUBPF_USE_WRITE)

struct both {
	struct fixture f;
	struct assembly a;
	struct gpubpf_insn insns[ASM_MAX];
	struct linux_verifier kernel;
	int prog;             /* file descriptor of the program in the Linux kernel; < 0: not available */
};

static int bpf(int cmd, union bpf_attr *attr)
{
	int fd = (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return fd < 0 ? -errno : fd;
}

static int both_kernel(int cmd, int map, const void *key, const void *value)
{
	union bpf_attr attr = { .map_fd = (uint32_t)map, .key = (uintptr_t)key, .value = (uintptr_t)value };

	return bpf(cmd, &attr);
}

static bool both_assemble(struct both *b, const char *text)
{
	char *lines = strdup(text);
	bool good = lines;

	b->a.maps = b->f.maps;
	b->a.nmaps = b->f.unit.nmaps;
	for (char *save, *line = lines ? strtok_r(lines, "\n", &save) : NULL; line && good; line = strtok_r(NULL, "\n", &save))
		good = asm_line(&b->a, line);
	free(lines);
	return good && asm_finish(&b->a);
}

/*
 * Assemble the program and create the maps, after the caller has added the maps to b->f. On failure prints a note and
 * returns false.
 */
static bool both_begin(struct both *b, const char *text)
{
	struct fixture *f = &b->f;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	b->prog = -1;
	if (fixture_ready(f) || !both_assemble(b, text))
		return note("%s", b->a.error), false;
	f->prog = (struct gpubpf_prog){ .name = "both", .site = GPUBPF_SITE_ENTRY, .insns = b->insns, .ninsns = b->a.n };
	if (gpubpf_insn_decode(b->a.insns, b->a.n, b->insns, &diag) < 0 ||
	    gpubpf_verify(&f->unit, &f->prog, &(struct gpubpf_verify_opts){ 0 }, &diag) < 0)
		return note("%s", diag.what), false;
	b->prog = linux_open(&b->kernel, f->maps, f->unit.nmaps);
	if (!b->prog)
		b->prog = linux_load(&b->kernel, BPF_PROG_TYPE_SOCKET_FILTER, b->a.insns, b->a.n);
	return true;
}

static void both_end(struct both *b)
{
	if (b->prog >= 0)
		close(b->prog);
	linux_close(&b->kernel);
	gpubpf_facts_destroy(b->f.prog.facts);
	fixture_end(&b->f);
}

static bool both_run_ours(struct both *b, void *told)
{
	static const struct gpubpf_ctx ctx;
	const struct gpubpf_interp_job job = { .unit = &b->f.unit, .prog = &b->f.prog, .ctx = &ctx, .arena = b->f.arena, .layout = &b->f.layout };
	struct gpubpf_interp_result result;
	struct gpubpf_diag diag;
	uint32_t zero = 0;

	gpubpf_diag_init(&diag);
	if (gpubpf_map_update(&b->f.view[0], &zero, told, 0) || gpubpf_interp_run(&job, &result, &diag))
		return note("%s", diag.what), false;
	return !gpubpf_map_lookup(&b->f.view[0], &zero, told);
}

static bool both_run_kernels(struct both *b, void *told)
{
	char packet[64] = { 0 };
	union bpf_attr attr = { .test = { .prog_fd = (uint32_t)b->prog, .data_in = (uintptr_t)packet, .data_size_in = sizeof(packet) } };
	uint32_t zero = 0;

	return !both_kernel(BPF_MAP_UPDATE_ELEM, b->kernel.fds[0], &zero, told) && !bpf(BPF_PROG_TEST_RUN, &attr) &&
	       !both_kernel(BPF_MAP_LOOKUP_ELEM, b->kernel.fds[0], &zero, told);
}

#endif
