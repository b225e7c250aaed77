/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_get_attach_cookie() of a program that was attached without a cookie. */
#include "../case.h"

EXPECT("launch 1,1,1 32,1,1");
EXPECT("checks 32");

SEC("gpu/entry/*")
int cookie(struct gpubpf_ctx *ctx)
{
	CHECK(bpf_get_attach_cookie(ctx), 0);
	return 0;
}
