/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaches uprobes to GPU kernels. The loader sets a uprobe at a kernel's host stub, the host function that launches
 * the kernel. The stub's name is, or contains, the kernel's name. For the kernel _Z3addPf, nvcc's stub is
 * __device_stub__Z3addPf, and hipcc's stub is _Z18__device_stub__addPf.
 */
#include "private.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/stacks/symbols.h"
#include "core/wire/match.h"

#define STUB "__device_stub_"

/*
 * Convert the mangled name of a stub to the kernel's mangled name, which is shorter by "__device_stub__". Returns false
 * if symbol is not the name of a stub.
 */
static bool unstub_mangled(const char *symbol, char *out, size_t size)
{
	char *end;
	unsigned long n = !strncmp(symbol, "_Z", 2) && isdigit((unsigned char)symbol[2]) ? strtoul(symbol + 2, &end, 10) :
											   0;

	if (n <= strlen(STUB "_") || strncmp(end, STUB "_", strlen(STUB "_")) || strlen(end) < n)
		return false;
	if (end[strlen(STUB "_")] == 'Z') /* in nvcc's stub, the kernel's mangled name follows: Z3addPf after "_" */
		snprintf(out, size, "_%.*s", (int)(n - strlen(STUB "_")), end + strlen(STUB "_"));
	else
		snprintf(out, size, "_Z%zu%s", (size_t)n - strlen(STUB "_"), end + strlen(STUB "_"));
	return true;
}

static void copy_kernel_name(const char *symbol, char *out, size_t size)
{
	if (!strncmp(symbol, STUB, strlen(STUB)))
		snprintf(out, size, "%s", symbol + strlen(STUB));
	else if (!unstub_mangled(symbol, out, size))
		snprintf(out, size, "%s", symbol);
}

static int find_kernel_name(struct sys_call *c, uint64_t offset, char out[GPUBPF_NAME_SIZE])
{
	struct gpubpf_symbols *symbols = c->request_fd < 0 ? NULL : gpubpf_symbols_read(c->request_fd);
	char whole[GPUBPF_WHOLE_NAME_SIZE] = "";
	uint64_t from = 1;
	const char *symbol = symbols ? gpubpf_symbols_find(symbols, offset, &from) : NULL;
	bool named = symbol && !from;

	if (named)
		copy_kernel_name(symbol, whole, sizeof(whole));
	if (!gpubpf_pattern_store(whole, out))
		named = false;
	if (!named)
		gpubpf_session_note(c->s,
				    "a uprobe at byte %llu of a file: no function of its symbol table begins there; "
				    "set the uprobe at the host stub of a GPU kernel",
				    (unsigned long long)offset);
	gpubpf_symbols_free(symbols);
	return named ? 0 : -EINVAL;
}

int sys_uprobe_open(struct sys_call *c)
{
	uint64_t offset = gpubpf_get_u64(c->r);
	bool returns = gpubpf_get_u32(c->r);
	struct sys_object *o;
	int err;

	if (c->r->failed)
		return -EPROTO;
	o = sys_object_new(c->s, GPUBPF_BPF_PERF, &sys_perf_ops, &err);
	if (!o)
		return err;
	o->perf.place = returns ? SYS_AT_EXIT : SYS_AT_ENTRY;
	return sys_object_answer(c, o, find_kernel_name(c, offset, o->perf.function));
}
