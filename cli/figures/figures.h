/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of a running session for `top` and `export`: launches and times of its kernels, its processes, lost records
 * and the cost of probes. They come from the JSON report of the session, so they need no other query. Rates are the
 * differences between two readings.
 */
#ifndef GPUBPF_CLI_FIGURES_FIGURES_H
#define GPUBPF_CLI_FIGURES_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;

/* a slot of a histogram: the amounts from min to max */
struct figures_slot {
	uint64_t min, max, count;
};

struct figures_kernel {
	const char *name, *backend, *outcome; /* the document owns these strings */
	uint64_t launches, probed;
	/* Times of probed launches, from the map kerneltime. has_times: the map has an entry of this kernel. */
	bool has_times;
	uint64_t timed, time_ns;
	struct figures_slot *slot; /* [nslots] sorted by min */
	uint32_t nslots;
	/* sum of the members named bytes, loaded and stored in maps whose keys are kernels */
	bool has_bytes;
	uint64_t bytes;
};

/* a process on a device */
struct figures_process {
	uint32_t process, device, pid;
	const char *program, *backend, *device_name;
	uint64_t launches, probed;
};

struct figures {
	struct json_object *document;
	uint64_t read_ns;              /* CLOCK_MONOTONIC of the reading */
	struct figures_kernel *kernel; /* [nkernels] sorted by name, then backend */
	uint32_t nkernels;
	struct figures_process *process;
	uint32_t nprocesses;
	bool has_times, has_bytes; /* a probe of the session measures times, counts bytes */
	uint64_t launches, dropped;
	/* time of probed launches, divided by the time of unprobed ones; 0: no unprobed launch was measured */
	double cost_factor;
};

/*
 * Query the session at the socket `path`. Returns 0, or -errno with the reason in `why`.
 */
int figures_read(const char *path, struct figures *f, char *why, size_t why_size);
/* Returns true if this error of figures_read() means that the session has ended. */
bool figures_has_ended(int err);
/* Returns the member of a JSON object, or NULL if `o` is not an object or lacks the member. */
struct json_object *figures_member(struct json_object *o, const char *name);
/* Parse a report. Takes ownership of the document. Returns 0 or -errno. */
int figures_parse(struct json_object *document, struct figures *f);
void figures_finish(struct figures *f);
const struct figures_kernel *figures_find(const struct figures *f, const char *name, const char *backend);

/* A kernel between two readings. Without an earlier reading, the values count from the start of the session. */
struct figures_rate {
	const struct figures_kernel *kernel;
	uint64_t launches, timed, time_ns, bytes;
	double launches_per_s, bytes_per_s; /* per second of wall time; negative: not known */
	double share;                       /* of the time of all kernels, from 0 to 1 */
	uint64_t mean_ns, p50_ns, p99_ns;   /* of the launches between the readings, else of all launches */
};

struct figures_rates {
	struct figures_rate *rate; /* [n] in the order of figures.kernel */
	uint32_t n;
	double seconds, launches_per_s;
	/*
	 * Lower bound of the share of time in which the device ran no kernel, from 0 to 1. Kernels may overlap, so the
	 * sum of their times is an upper bound of the busy time. Negative: not known, because launches ran without the
	 * probe, or several devices ran kernels.
	 */
	double idle;
};

/* Compute the rates from `was` (NULL: none) to `is`. Returns 0 or -ENOMEM. */
int figures_rates(const struct figures *was, const struct figures *is, struct figures_rates *r);
void figures_rates_finish(struct figures_rates *r);
/* Returns the amount below which `part` (0 to 1) of the histogram's amounts are; 0: the histogram is empty. */
uint64_t figures_quantile(const struct figures_slot *slot, uint32_t n, double part);

#endif
