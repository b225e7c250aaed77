/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of a helper or of a kernel function. tests/core/load/linux_helpers.c replaces the number or the name in the
 * object.
 */
#include <gpubpf/probe.h>

#ifdef KFUNC
extern int bpf_gpubpf_template_of_the_name_of_a_function(void *ctx) __ksym;
#define CALL bpf_gpubpf_template_of_the_name_of_a_function(ctx)
#else
#define CALL ((long (*)(void *))0x1234)(ctx)
#endif

SEC("gpu/entry/*")
int call(struct gpubpf_ctx *ctx)
{
	return CALL != 0;
}
