/* SPDX-License-Identifier: Apache-2.0 */
/* Only bytes in the data have an address, and only at offsets that fit the alignment of their size. */
#include "../case.h"

EXPECT("run");
EXPECT("data 64");
EXPECT("checks 12");

/* asm: otherwise clang keeps the address instead of the result of the comparison, and spills it */
#define HAS(offset, size) ({ \
	int yes = 0; \
	if (gpubpf_data(offset, size)) \
		yes = 1; \
	asm volatile("" : "+r"(yes)); \
	yes; \
})

SEC("gpu/run/edges")
int edges(struct gpubpf_ctx *ctx)
{
	__u64 size = gpubpf_data_size();

	CHECK(HAS(size - 8, 8), 1);
	CHECK(HAS(size, 1), 0);
	CHECK(HAS(size - 7, 8), 0);
	CHECK(HAS(size - 4, 8), 0);
	CHECK(HAS(~0ull, 1), 0);
	CHECK(HAS(~0ull - 7, 8), 0);
	CHECK(HAS(0ull - 8, 16), 0);
	CHECK(HAS(4, 8), 0);
	CHECK(HAS(2, 4), 0);
	CHECK(HAS(4, 4), 1);
	CHECK(HAS(3, 1), 1);
	CHECK(HAS(0, 1 << 20), 0);
	return 0;
}
