/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms that types declare (<gpubpf/probe.h>): what their slots count, and what they tell. */
#ifndef GPUBPF_LOAD_HIST_H
#define GPUBPF_LOAD_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPUBPF_HIST_SLOTS 1024
#define GPUBPF_HISTS 16            /* of a value that are drawn */
#define GPUBPF_HIST_PATH 128

struct btf;

struct gpubpf_hist_shape {
	uint32_t n;                /* slots: 2 to GPUBPF_HIST_SLOTS */
	uint32_t width;            /* bytes of one: 4 or 8 */
	uint32_t offset;           /* of the first one in the value */
	uint64_t step;             /* linear: slot 0 below min, slot i from min + (i - 1) step, the last from there on; */
	uint64_t min;
	bool zeros;                /* log2 (step 0): as gpubpf_log2() has it; else as libbpf-tools: slot i counts values
				    * of [2^i, 2^(i+1)), slot 0 zeros too */
	uint32_t bits;             /* log2, not 0: 2^bits slots to a power of two, and one each for values below 2^bits */
	bool each;                 /* these are drawn one by one; else, of gpubpf_quantiles, a power of two has one bar */
};

/* Is the type of a map's value a slot: gpubpf_log2_slot? */
bool gpubpf_hist_slot(const struct btf *btf, uint32_t type, struct gpubpf_hist_shape *shape);
/* Is it a whole histogram: struct gpubpf_hist or gpubpf_quantiles, one of GPUBPF_LINEAR_HIST(), an array of
 * gpubpf_log2_slot? */
bool gpubpf_hist_type(const struct btf *btf, uint32_t type, struct gpubpf_hist_shape *shape);
/* Is it struct gpubpf_amounts or gpubpf_times: { u64 count, sum; quantiles }? *ns: the amounts are nanoseconds. */
bool gpubpf_amounts_type(const struct btf *btf, uint32_t type, struct gpubpf_hist_shape *shape, bool *ns);
/* Does a variable, of that name, carry that declaration tag? Slots that "gpubpf:hist" declares count as those of
 * libbpf-tools. */
bool gpubpf_var_tagged(const struct btf *btf, const char *variable, const char *tag);

/* The histograms in a value of a type, but for the quantiles of amounts: their places and paths (".ns", "" of the value
 * itself). How many, at most GPUBPF_HISTS; *only: there is nothing else in it. */
struct gpubpf_hists {
	struct gpubpf_hist_shape shape[GPUBPF_HISTS];
	char path[GPUBPF_HISTS][GPUBPF_HIST_PATH];
	uint32_t n;
	bool only;
};
void gpubpf_hists_find(const struct btf *btf, uint32_t type, size_t size, struct gpubpf_hists *hists);

/* Add a value's slots up; data is the value's. */
void gpubpf_hist_add(const struct gpubpf_hist_shape *shape, const void *data, uint64_t *slot);
/* What slot i counts: low <= value <= high. */
void gpubpf_hist_bounds(const struct gpubpf_hist_shape *shape, uint32_t i, uint64_t *low, uint64_t *high);
uint64_t gpubpf_hist_count(const struct gpubpf_hist_shape *shape, const uint64_t *slot);
/* The value that `percent` of all values reach at most, as if those of a slot lay evenly within it. In the last slot that
 * has any, where the slot begins: that is never above the largest value. 0 without values. */
uint64_t gpubpf_hist_percentile(const struct gpubpf_hist_shape *shape, const uint64_t *slot, unsigned int percent);
/* The same where the sum of the values is known too: of the last slot, what that leaves for the mean of its values at least. */
uint64_t gpubpf_amounts_percentile(const struct gpubpf_hist_shape *shape, const uint64_t *slot, uint64_t sum, unsigned int percent);

/* The same as JSON: [{min, max, count}] of slots that are not empty, {p50, p90, p99} where there are values. */
struct json_object;
struct json_object *gpubpf_hist_json(const struct gpubpf_hist_shape *shape, const uint64_t *slot, bool wide_as_text);
struct json_object *gpubpf_percentiles_json(const struct gpubpf_hist_shape *shape, const uint64_t *slot,
					    bool wide_as_text);
/* A number, or where that is asked for text if it is beyond 2^53, which readers that have doubles alone would round. */
struct json_object *gpubpf_json_int(uint64_t v, bool is_signed, bool wide_as_text);

#endif
