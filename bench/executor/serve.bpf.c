/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs for bench/executor/serve.c and tests/cli/direct/serve.sh. Each works on batches of records of 64 bytes: the threads of a
 * block take the records of their request in turn.
 */
#include <gpubpf/probe.h>

#define MAX_ROUNDS 4096 /* bound for the verifier; 128 threads take the records of 4 MiB in 512 rounds */
#define HASH_START 0xcbf29ce484222325ull
#define HASH_FACTOR 0x100000001b3ull

struct record {
	__u64 word[8];
};

struct prefix {
	__u32 bits, address;
};

GPUBPF_ARRAY(slots, __u64, 64);
GPUBPF_ARRAY(totals, __u64, 2);

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, __u64);
} routes SEC(".maps");

/* Returns the record of this thread in a round, or NULL after the last one. */
static __always_inline struct record *find_record(struct gpubpf_ctx *ctx, __u64 round)
{
	__u64 i = round * ctx->block_dim[0] + ctx->thread_idx[0];

	return gpubpf_data(i * sizeof(struct record), sizeof(struct record));
}

SEC("gpu/run/nothing") int nothing(struct gpubpf_ctx *ctx)
{
	return 7;
}

/* Returns the first word of the data plus 1. Shows which data a request has. */
SEC("gpu/run/first") int first(struct gpubpf_ctx *ctx)
{
	__u64 *word = gpubpf_data(0, 8);

	return word ? *word + gpubpf_data_size() : 0;
}

/* Keeps records whose first word is a multiple of 4: the last word becomes 1 or 0. */
SEC("gpu/run/filter") int filter(struct gpubpf_ctx *ctx)
{
	int round;

	bpf_for(round, 0, MAX_ROUNDS)
	{
		struct record *r = find_record(ctx, round);

		if (!r)
			break;
		r->word[7] = r->word[0] % 4 == 0;
	}
	return 0;
}

/* Stores a hash of the first seven words in the last word. */
SEC("gpu/run/hash") int hash(struct gpubpf_ctx *ctx)
{
	int round;

	bpf_for(round, 0, MAX_ROUNDS)
	{
		struct record *r = find_record(ctx, round);
		__u64 h = HASH_START;

		if (!r)
			break;
		for (int i = 0; i < 7; i++)
			h = (h ^ r->word[i]) * HASH_FACTOR;
		r->word[7] = h;
	}
	return 0;
}

/* Stores the Internet checksum of the first 56 bytes in the last word. */
SEC("gpu/run/checksum") int checksum(struct gpubpf_ctx *ctx)
{
	int round;

	bpf_for(round, 0, MAX_ROUNDS)
	{
		struct record *r = find_record(ctx, round);
		__u64 sum = 0;

		if (!r)
			break;
		for (int i = 0; i < 7; i++)
			sum += (r->word[i] & 0xffff) + (r->word[i] >> 16 & 0xffff) + (r->word[i] >> 32 & 0xffff) +
			       (r->word[i] >> 48);
		sum = (sum & 0xffff) + (sum >> 16);
		sum = (sum & 0xffff) + (sum >> 16);
		r->word[7] = ~sum & 0xffff;
	}
	return 0;
}

/* Counts records by the low 6 bits of their first word. */
SEC("gpu/run/histogram") int histogram(struct gpubpf_ctx *ctx)
{
	int round;

	bpf_for(round, 0, MAX_ROUNDS)
	{
		struct record *r = find_record(ctx, round);

		if (!r)
			break;
		gpubpf_add(&slots, r->word[0] & 63, 1);
	}
	return 0;
}

/* Stores the value of the longest prefix of the first word, an IPv4 address in network byte order, or 0. */
SEC("gpu/run/lookup") int lookup(struct gpubpf_ctx *ctx)
{
	int round;

	bpf_for(round, 0, MAX_ROUNDS)
	{
		struct record *r = find_record(ctx, round);
		struct prefix key = { 32, 0 };
		__u64 *value;

		if (!r)
			break;
		key.address = r->word[0];
		value = bpf_map_lookup_elem(&routes, &key);
		r->word[7] = value ? *value : 0;
	}
	return 0;
}

/* Adds the first word of all records, and counts them. */
SEC("gpu/run/aggregate") int aggregate(struct gpubpf_ctx *ctx)
{
	__u64 sum = 0, n = 0;
	int round;

	bpf_for(round, 0, MAX_ROUNDS)
	{
		struct record *r = find_record(ctx, round);

		if (!r)
			break;
		sum += r->word[0];
		n++;
	}
	gpubpf_add(&totals, 0, sum);
	gpubpf_add(&totals, 1, n);
	return n;
}

char LICENSE[] SEC("license") = "GPL";
