/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dynptrs: records of a size that depends on the thread, and parts of map values. Readers get the submitted records.
 */
#include "../case.h"

EXPECT("launch 4,1,1 32,1,1");
EXPECT("records ring 64");
EXPECT("drops ring 0");
EXPECT("checks 2816");

extern __u32 bpf_dynptr_size(const struct bpf_dynptr *ptr) __ksym __weak;
extern _Bool bpf_dynptr_is_null(const struct bpf_dynptr *ptr) __ksym __weak;
extern _Bool bpf_dynptr_is_rdonly(const struct bpf_dynptr *ptr) __ksym __weak;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} ring SEC(".maps");

struct part {
	__u64 words[4];
};
GPUBPF_ARRAY(values, struct part, 128);

static __always_inline void check_record(struct bpf_dynptr *record, __u32 size, __u64 who)
{
	__u64 word = who, back = 0, *data;

	CHECK(bpf_dynptr_size(record), size);
	CHECK(bpf_dynptr_is_null(record), 0);
	CHECK(bpf_dynptr_is_rdonly(record), 0);
	CHECK(bpf_dynptr_write(record, size - 8, &word, 8, 0), 0);
	CHECK(bpf_dynptr_write(record, size - 7, &word, 8, 0), -7);
	CHECK(bpf_dynptr_write(record, 0, &word, 8, 1), -22);
	CHECK(bpf_dynptr_read(&back, 8, record, size - 8, 0), 0);
	CHECK(back, who);
	CHECK(bpf_dynptr_read(&back, 8, record, size, 0), -7);
	CHECK(back, 0);
	data = bpf_dynptr_data(record, 8, 8);
	CHECK(data != NULL, 1);
	if (data)
		*data = who + 1;
	CHECK(bpf_dynptr_read(&back, 3, record, 8, 0), 0);
	CHECK(back & 0xffffff, (who + 1) & 0xffffff);
	CHECK(bpf_dynptr_data(record, 0, 4096) == NULL, 1);
}

static __always_inline void check_value(__u32 who)
{
	struct part *part = bpf_map_lookup_elem(&values, &who);
	struct bpf_dynptr ptr;
	__u32 word = who;

	if (!part)
		return;
	CHECK(bpf_dynptr_from_mem(&part->words[1], 16, 0, &ptr), 0);
	CHECK(bpf_dynptr_write(&ptr, 8, &word, 4, 0), 0);
	CHECK(part->words[2], who);
	CHECK(bpf_dynptr_write(&ptr, 13, &word, 4, 0), -7);
	CHECK(bpf_dynptr_from_mem(part, 16, 5, &ptr), -22);
	CHECK(bpf_dynptr_is_null(&ptr), 1);
}

SEC("gpu/entry/*")
int dynptr(struct gpubpf_ctx *ctx)
{
	__u32 who = (__u32)ctx->global_linear & 127, size = 16 + who;
	struct bpf_dynptr record;

	CHECK(bpf_ringbuf_reserve_dynptr(&ring, size, 0, &record), 0);
	check_record(&record, size, who);
	if (who & 1)
		bpf_ringbuf_discard_dynptr(&record, 0);
	else
		bpf_ringbuf_submit_dynptr(&record, 0);
	check_value(who);
	CHECK(bpf_ringbuf_reserve_dynptr(&ring, 8, 1, &record), -22);
	bpf_ringbuf_submit_dynptr(&record, 0);
	return 0;
}
