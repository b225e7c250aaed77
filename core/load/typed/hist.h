/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms that BTF types declare (<gpubpf/probe.h>): the value ranges of their slots, and statistics. */
#ifndef GPUBPF_LOAD_HIST_H
#define GPUBPF_LOAD_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPUBPF_HIST_SLOTS 1024
#define GPUBPF_HISTS 16            /* maximum number of histograms drawn for one value */
#define GPUBPF_HIST_PATH 128

struct btf;

struct gpubpf_hist_shape {
	uint32_t n;      /* number of slots: 2 to GPUBPF_HIST_SLOTS */
	uint32_t width;  /* size of a slot in bytes: 4 or 8 */
	uint32_t offset; /* byte offset of the first slot in the value */
	/*
	 * If not 0, slots are linear: slot 0 counts values below min, and slot i counts values from min + (i - 1) *
	 * step on. The last slot has no upper bound. If 0, slots are logarithmic.
	 */
	uint64_t step;
	uint64_t min;
	/*
	 * For logarithmic slots: true if the slots are as in gpubpf_log2(). Otherwise they are as in
	 * libbpf-tools: slot i counts values of [2^i, 2^(i+1)), and slot 0 also zeros.
	 */
	bool zeros;
	/*
	 * For logarithmic slots: if not 0, each power of two has 2^bits slots, and each value below 2^bits its own
	 * slot.
	 */
	uint32_t bits;
	bool each; /* draw a bar for each slot, else (gpubpf_quantiles) for each power of two */
};

/* Returns true if the type is one slot of a histogram, gpubpf_log2_slot. */
bool gpubpf_hist_slot(const struct btf *btf, uint32_t type, struct gpubpf_hist_shape *shape);
/*
 * Returns true if the type is a complete histogram. These types are struct gpubpf_hist and gpubpf_quantiles, types of
 * GPUBPF_LINEAR_HIST(), and arrays of gpubpf_log2_slot.
 */
bool gpubpf_hist_type(const struct btf *btf, uint32_t type, struct gpubpf_hist_shape *shape);
/*
 * Returns true if the type is struct gpubpf_amounts or gpubpf_times, that is { u64 count, sum; quantiles }. The result
 * *ns is true if the amounts are nanoseconds.
 */
bool gpubpf_amounts_type(const struct btf *btf, uint32_t type, struct gpubpf_hist_shape *shape, bool *ns);
/*
 * Returns true if the global variable of that name has this declaration tag (btf_decl_tag). The tag "gpubpf:hist" means
 * slots as in libbpf-tools.
 */
bool gpubpf_var_tagged(const struct btf *btf, const char *variable, const char *tag);

/*
 * The histograms in a value, at most GPUBPF_HISTS. The array path[] has their positions, such as ".ns", or "" for the
 * value itself. The member `only` is true if the value contains nothing else. The quantiles inside a struct
 * gpubpf_amounts or gpubpf_times are not listed.
 */
struct gpubpf_hists {
	struct gpubpf_hist_shape shape[GPUBPF_HISTS];
	char path[GPUBPF_HISTS][GPUBPF_HIST_PATH];
	uint32_t n;
	bool only;
};
void gpubpf_hists_find(const struct btf *btf, uint32_t type, size_t size, struct gpubpf_hists *hists);

/* Adds the slots of the histogram in the value at `data` to slot[]. */
void gpubpf_hist_add(const struct gpubpf_hist_shape *shape, const void *data, uint64_t *slot);
/* Stores the range of slot i, so that low <= value <= high. */
void gpubpf_hist_bounds(const struct gpubpf_hist_shape *shape, uint32_t i, uint64_t *low, uint64_t *high);
uint64_t gpubpf_hist_count(const struct gpubpf_hist_shape *shape, const uint64_t *slot);
/*
 * Returns a percentile, assuming an even distribution in each slot. In the last non-empty slot, returns the start of
 * the slot, which is never above the largest value. Returns 0 if there are no values.
 */
uint64_t gpubpf_hist_percentile(const struct gpubpf_hist_shape *shape, const uint64_t *slot, unsigned int percent);
/*
 * Returns a percentile like gpubpf_hist_percentile(), for values whose sum is known. In the last non-empty slot,
 * returns a lower bound of the mean of its values, computed from the sum.
 */
uint64_t gpubpf_amounts_percentile(const struct gpubpf_hist_shape *shape, const uint64_t *slot, uint64_t sum,
				   unsigned int percent);

/*
 * gpubpf_hist_json() returns a JSON list [{min, max, count}] of the non-empty slots. gpubpf_percentiles_json() returns
 * a JSON object {p50, p90, p99}. The object is empty if there are no values.
 */
struct json_object;
struct json_object *gpubpf_hist_json(const struct gpubpf_hist_shape *shape, const uint64_t *slot, bool wide_as_text);
struct json_object *gpubpf_percentiles_json(const struct gpubpf_hist_shape *shape, const uint64_t *slot, bool wide_as_text);
/*
 * Returns a number as JSON. With wide_as_text, a number beyond 2^53 becomes a string, because readers that store
 * numbers as doubles would round it.
 */
struct json_object *gpubpf_json_int(uint64_t v, bool is_signed, bool wide_as_text);

#endif
