/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `gpubpf export`: samples of the metrics, their formats, the HTTP server and the sender. */
#ifndef GPUBPF_CLI_EXPORT_EXPORT_H
#define GPUBPF_CLI_EXPORT_EXPORT_H

#include <pthread.h>
#include <stdio.h>

#include "cli/figures/figures.h"

enum export_kind {
	EXPORT_COUNTER,
	EXPORT_GAUGE,
	EXPORT_HISTOGRAM,
};

enum export_metric {
#define EXPORT_METRIC(id, kind, otel, unit, prometheus, meaning) EXPORT_##id,
#include "metrics.def"
	EXPORT_METRICS,
};

struct export_info {
	enum export_kind kind;
	const char *otel, *unit, *prometheus, *meaning;
};
extern const struct export_info export_info[EXPORT_METRICS];

#define EXPORT_LABELS 6
/*
 * The bounds of the histograms are 2^n ns. The histograms of probes have slots that end there, so the counts are exact.
 * The last bucket has all longer launches.
 */
#define EXPORT_FIRST_BIT 10
#define EXPORT_BOUNDS 25
static inline double export_bound(uint32_t i)
{
	return (double)(1ull << (EXPORT_FIRST_BIT + i)) / 1e9;
}

struct export_sample {
	enum export_metric metric;
	struct export_label {
		const char *name;
		char *value;
	} label[EXPORT_LABELS];
	uint32_t nlabels;
	double value;
	uint64_t count, sum_ns, bucket[EXPORT_BOUNDS + 1]; /* of a histogram */
};

struct export_samples {
	struct export_sample *sample; /* [n] sorted by metric */
	uint32_t n, room;
	uint64_t read_unix_ns, start_unix_ns; /* CLOCK_REALTIME of the reading, and of the first reading of the session */
};

/*
 * The kernels that have samples of their names; the samples of all others are added up under the name "other". A kernel
 * never changes between both, because then a counter would fall.
 */
struct export_named {
	char **name; /* [limit] */
	uint32_t n, limit;
};

/* samples.c: make the samples of a reading. f may be NULL: there is no session. Returns 0 or -ENOMEM. */
int export_make_samples(const struct figures *f, struct export_named *named, uint64_t lost, struct export_samples *s);
void export_samples_finish(struct export_samples *s);
void export_named_finish(struct export_named *named);

/* text.c: write the samples in Prometheus's text format 0.0.4. otlp.c: as an OTLP request in JSON. */
void export_write_text(const struct export_samples *s, FILE *out);
void export_write_otlp(const struct export_samples *s, FILE *out);

/*
 * server.c: serve the page /metrics at ADDR:PORT, from other threads. The function page() returns its malloc'd text. It returns
 * NULL if memory is exhausted. export_server_start() returns an exit status.
 */
struct export_server;
int export_server_start(const char *address, char *(*page)(void *ctx, size_t *size), void *ctx,
			struct export_server **server);
void export_server_stop(struct export_server *server);

/*
 * sender.c: send requests to a collector from another thread. The queue has at most EXPORT_QUEUE requests; when it is full,
 * the oldest is lost. export_sender_send() takes ownership of the body. Returns NULL after printing the error.
 */
#define EXPORT_QUEUE 32
struct export_sender;
struct export_sender *export_sender_start(const char *url);
void export_sender_send(struct export_sender *sender, char *body, size_t size);
uint64_t export_sender_lost(struct export_sender *sender);
/* Send the rest of the queue, for at most a few seconds. Returns the number of lost requests. */
uint64_t export_sender_stop(struct export_sender *sender);

#endif
