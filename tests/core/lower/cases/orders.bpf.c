/* SPDX-License-Identifier: Apache-2.0 */
/* An acquire load needs a fence after it, a release store one before it. Neither may be accumulated per lane. */
/* mcpu v4 */
#include <gpubpf/probe.h>

struct cells {
	__u64 ready, data;
	__u16 narrow;
};

GPUBPF_ARRAY(cells, struct cells, 1);

SEC("gpu/entry/*")
int orders(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	struct cells *c = bpf_map_lookup_elem(&cells, &key);

	if (!c)
		return 0;
	c->data = __atomic_load_n(&c->narrow, __ATOMIC_ACQUIRE);
	__atomic_store_n(&c->ready, __atomic_load_n(&c->ready, __ATOMIC_ACQUIRE) + 1, __ATOMIC_RELEASE);
	return 0;
}
