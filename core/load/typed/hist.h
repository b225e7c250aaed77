/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms that types declare (<gpubpf/probe.h>): the ranges of their slots, and statistics. */
#ifndef GPUBPF_LOAD_HIST_H
#define GPUBPF_LOAD_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPUBPF_HIST_SLOTS 1024
#define GPUBPF_HISTS 16            /* maximum histograms of a value that are drawn */
#define GPUBPF_HIST_PATH 128

struct btf;

struct gpubpf_hist_shape {
	uint32_t n;      /* number of slots: 2 to GPUBPF_HIST_SLOTS */
	uint32_t width;  /* bytes of one slot: 4 or 8 */
	uint32_t offset; /* byte offset in the value of the first slot */
	uint64_t step;   /* not 0: linear slots. Slot 0 counts values below min, slot i values from min +
				    * (i - 1) step on, the last has no upper bound */
	uint64_t min;
	bool zeros;    /* step 0: logarithmic slots as in gpubpf_log2(). If false, as in libbpf-tools:
				    * slot i counts values of [2^i, 2^(i+1)), slot 0 also zeros */
	uint32_t bits; /* step 0, if not 0: 2^bits slots for each power of two, and one for each value
				    * below 2^bits */
	bool each;     /* draw each slot; if false (gpubpf_quantiles), draw one bar for each power of two */
};

/* Is the type of a map's value one slot of a histogram, gpubpf_log2_slot? */
bool gpubpf_hist_slot(const struct btf *btf, uint32_t type, struct gpubpf_hist_shape *shape);
/*
 * Is the type a whole histogram: struct gpubpf_hist or gpubpf_quantiles, a type of GPUBPF_LINEAR_HIST(), or an array of
 * gpubpf_log2_slot?
 */
bool gpubpf_hist_type(const struct btf *btf, uint32_t type, struct gpubpf_hist_shape *shape);
/*
 * Is the type struct gpubpf_amounts or gpubpf_times, that is { u64 count, sum; quantiles }? Sets *ns if the amounts are
 * nanoseconds.
 */
bool gpubpf_amounts_type(const struct btf *btf, uint32_t type, struct gpubpf_hist_shape *shape, bool *ns);
/*
 * Does the global variable of that name have this declaration tag (btf_decl_tag)? Slots declared as "gpubpf:hist" count
 * as in libbpf-tools.
 */
bool gpubpf_var_tagged(const struct btf *btf, const char *variable, const char *tag);

/*
 * Finds the histograms in a value of a type, except the quantiles of amounts: their offsets and paths (".ns", "" for
 * the value itself). Finds at most GPUBPF_HISTS. *only: the value contains nothing else.
 */
struct gpubpf_hists {
	struct gpubpf_hist_shape shape[GPUBPF_HISTS];
	char path[GPUBPF_HISTS][GPUBPF_HIST_PATH];
	uint32_t n;
	bool only;
};
void gpubpf_hists_find(const struct btf *btf, uint32_t type, size_t size, struct gpubpf_hists *hists);

/* Adds the slots of a value to slot[]. data points to the value. */
void gpubpf_hist_add(const struct gpubpf_hist_shape *shape, const void *data, uint64_t *slot);
/* Returns the range of slot i: low <= value <= high. */
void gpubpf_hist_bounds(const struct gpubpf_hist_shape *shape, uint32_t i, uint64_t *low, uint64_t *high);
uint64_t gpubpf_hist_count(const struct gpubpf_hist_shape *shape, const uint64_t *slot);
/*
 * Returns the percentile, assuming an even distribution in each slot. In the last non-empty slot it returns the slot's
 * start, which is never above the largest value. 0 without values.
 */
uint64_t gpubpf_hist_percentile(const struct gpubpf_hist_shape *shape, const uint64_t *slot, unsigned int percent);
/*
 * Returns the percentile like gpubpf_hist_percentile(), for values whose sum is known. In the last slot it returns the
 * lower bound of the mean that the sum implies.
 */
uint64_t gpubpf_amounts_percentile(const struct gpubpf_hist_shape *shape, const uint64_t *slot, uint64_t sum,
				   unsigned int percent);

/* Return the histogram as JSON: [{min, max, count}] of its non-empty slots; and {p50, p90, p99} if there are values. */
struct json_object;
struct json_object *gpubpf_hist_json(const struct gpubpf_hist_shape *shape, const uint64_t *slot, bool wide_as_text);
struct json_object *gpubpf_percentiles_json(const struct gpubpf_hist_shape *shape, const uint64_t *slot, bool wide_as_text);
/*
 * Returns a number. With wide_as_text, numbers beyond 2^53 become text, because readers that only have doubles would
 * round them.
 */
struct json_object *gpubpf_json_int(uint64_t v, bool is_signed, bool wide_as_text);

#endif
