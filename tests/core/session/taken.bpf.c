/* SPDX-License-Identifier: Apache-2.0 */
/* A program at single instructions, with the longest name that a program can have. */
#include <gpubpf/probe.h>

SEC("gpu/mem_before.all/*")
int a_program_whose_name_has_as_many_letters_as_any_one_can_have_63(struct gpubpf_ctx *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
