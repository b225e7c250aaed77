/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the samples of all metrics from a reading of the session. */
#include "export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OTHER "other"

const struct export_info export_info[EXPORT_METRICS] = {
#define EXPORT_METRIC(id, kind, otel, unit, prometheus, meaning) \
	[EXPORT_##id] = { EXPORT_##kind, otel, unit, prometheus, meaning },
#include "metrics.def"
};

static uint64_t unix_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* -- samples -- */

static struct export_sample *add_sample(struct export_samples *s, enum export_metric metric)
{
	uint32_t room = s->room ? 2 * s->room : 64;
	struct export_sample *grown;

	if (s->n == s->room) {
		grown = reallocarray(s->sample, room, sizeof(*grown));
		if (!grown)
			return NULL;
		s->sample = grown;
		s->room = room;
	}
	s->sample[s->n] = (struct export_sample){ .metric = metric };
	return &s->sample[s->n++];
}

static int add_label(struct export_sample *e, const char *name, const char *value)
{
	struct export_label *label = &e->label[e->nlabels];

	*label = (struct export_label){ name, strdup(value) };
	if (!label->value)
		return -ENOMEM;
	e->nlabels++;
	return 0;
}

static int add_value(struct export_samples *s, enum export_metric metric, double value)
{
	struct export_sample *e = add_sample(s, metric);

	if (!e)
		return -ENOMEM;
	e->value = value;
	return 0;
}

/* Find or add the sample of a kernel. Kernels without a name of their own share one sample per runtime. */
static struct export_sample *find_or_add_kernel(struct export_samples *s, enum export_metric metric, const char *name,
						const char *runtime)
{
	struct export_sample *e;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->sample[i].metric == metric && !strcmp(s->sample[i].label[0].value, name) &&
		    !strcmp(s->sample[i].label[1].value, runtime))
			return &s->sample[i];
	e = add_sample(s, metric);
	return e && !add_label(e, "kernel", name) && !add_label(e, "runtime", runtime) ? e : NULL;
}

/* -- kernels -- */

static bool is_named(const struct export_named *named, const char *name)
{
	for (uint32_t i = 0; i < named->n; i++)
		if (!strcmp(named->name[i], name))
			return true;
	return false;
}

static int by_time(const void *a, const void *b)
{
	const struct figures_kernel *x = *(const struct figures_kernel *const *)a,
				    *y = *(const struct figures_kernel *const *)b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? 1 : -1;
	return (x->launches < y->launches) - (x->launches > y->launches);
}

/* Choose the kernels that get names while there is room, the ones with the largest times first. */
static int choose_names(const struct figures *f, struct export_named *named)
{
	const struct figures_kernel **order = calloc(f->nkernels + 1, sizeof(*order));

	if (!named->name)
		named->name = calloc(named->limit + 1, sizeof(*named->name));
	if (!order || !named->name) {
		free(order);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < f->nkernels; i++)
		order[i] = &f->kernel[i];
	qsort(order, f->nkernels, sizeof(*order), by_time);
	for (uint32_t i = 0; i < f->nkernels && named->n < named->limit; i++)
		if (!is_named(named, order[i]->name) && (named->name[named->n] = strdup(order[i]->name)))
			named->n++;
	free(order);
	return 0;
}

static void add_slots(const struct figures_kernel *k, struct export_sample *e)
{
	e->count += k->timed;
	e->sum_ns += k->time_ns;
	for (uint32_t i = 0; i < k->nslots; i++) {
		uint32_t bucket = 0;

		while (bucket < EXPORT_BOUNDS && k->slot[i].max > 1ull << (EXPORT_FIRST_BIT + bucket))
			bucket++;
		e->bucket[bucket] += k->slot[i].count;
	}
}

static int add_counter(struct export_samples *s, enum export_metric metric, const char *name, const char *runtime,
		       uint64_t value)
{
	struct export_sample *e = find_or_add_kernel(s, metric, name, runtime);

	if (!e)
		return -ENOMEM;
	e->value += (double)value;
	return 0;
}

static int add_kernel(const struct figures_kernel *k, const struct export_named *named, struct export_samples *s)
{
	const char *name = is_named(named, k->name) ? k->name : OTHER;
	struct export_sample *e;
	int err = add_counter(s, EXPORT_LAUNCHES, name, k->backend, k->launches);

	if (!err)
		err = add_counter(s, EXPORT_PROBED, name, k->backend, k->probed);
	if (!err && k->has_bytes)
		err = add_counter(s, EXPORT_IO, name, k->backend, k->bytes);
	if (err || !k->has_times)
		return err;
	e = find_or_add_kernel(s, EXPORT_DURATION, name, k->backend);
	if (!e)
		return -ENOMEM;
	add_slots(k, e);
	return 0;
}

static int add_cuda(const struct figures *f, struct export_samples *s)
{
	uint64_t launches = 0;
	bool found = false;

	for (uint32_t i = 0; i < f->nkernels; i++) {
		if (strcmp(f->kernel[i].backend, "cuda"))
			continue;
		launches += f->kernel[i].launches;
		found = true;
	}
	return found ? add_value(s, EXPORT_CUDA_LAUNCHES, (double)launches) : 0;
}

/* -- devices -- */

static bool has_same_labels(const struct export_sample *a, const struct export_sample *b)
{
	bool same = a->metric == b->metric && a->nlabels == b->nlabels;

	for (uint32_t i = 0; same && i < a->nlabels; i++)
		same = !strcmp(a->label[i].value, b->label[i].value);
	return same;
}

/*
 * Add the last sample to an earlier one with the same labels. A program that has called execve(2) connects as another
 * process, and so does a later process with the same pid.
 */
static void merge_last(struct export_samples *s)
{
	struct export_sample *last = &s->sample[s->n - 1], *e = s->sample;

	while (!has_same_labels(e, last))
		e++;
	if (e == last)
		return;
	e->value += last->value;
	while (last->nlabels)
		free(last->label[--last->nlabels].value);
	s->n--;
}

/* The labels have the names that dcgm-exporter uses: gpu, modelName, hostname. */
static int add_device(const struct figures_process *p, struct export_samples *s)
{
	const char *slash = strrchr(p->program, '/');
	char host[256] = "", pid[16], gpu[16];
	struct export_sample *e = add_sample(s, EXPORT_DEVICE_LAUNCHES);

	gethostname(host, sizeof(host) - 1);
	snprintf(pid, sizeof(pid), "%u", p->pid);
	snprintf(gpu, sizeof(gpu), "%u", p->device);
	if (!e || add_label(e, "gpu", gpu) || add_label(e, "modelName", p->device_name) ||
	    add_label(e, "hostname", host) || add_label(e, "runtime", p->backend) || add_label(e, "pid", pid) ||
	    add_label(e, "program", slash ? slash + 1 : p->program))
		return -ENOMEM;
	e->value = (double)p->launches;
	merge_last(s);
	return 0;
}

static int by_metric(const void *a, const void *b)
{
	const struct export_sample *x = a, *y = b;

	return x->metric != y->metric ? (x->metric > y->metric) - (x->metric < y->metric) : 0;
}

static int add_session(const struct figures *f, struct export_named *named, struct export_samples *s)
{
	int err = choose_names(f, named);

	for (uint32_t i = 0; i < f->nkernels && !err; i++)
		err = add_kernel(&f->kernel[i], named, s);
	for (uint32_t i = 0; i < f->nprocesses && !err; i++)
		err = add_device(&f->process[i], s);
	if (!err)
		err = add_cuda(f, s);
	if (!err)
		err = add_value(s, EXPORT_DROPPED, (double)f->dropped);
	if (!err && f->cost_factor > 0)
		err = add_value(s, EXPORT_COST, f->cost_factor);
	return err;
}

int export_make_samples(const struct figures *f, struct export_named *named, uint64_t lost, struct export_samples *s)
{
	int err;

	*s = (struct export_samples){ .read_unix_ns = unix_ns() };
	err = add_value(s, EXPORT_UP, f != NULL);
	if (!err)
		err = add_value(s, EXPORT_LOST, (double)lost);
	if (!err && f)
		err = add_session(f, named, s);
	qsort(s->sample, s->n, sizeof(*s->sample), by_metric);
	return err;
}

void export_samples_finish(struct export_samples *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		for (uint32_t k = 0; k < s->sample[i].nlabels; k++)
			free(s->sample[i].label[k].value);
	free(s->sample);
	*s = (struct export_samples){ 0 };
}

void export_named_finish(struct export_named *named)
{
	for (uint32_t i = 0; i < named->n; i++)
		free(named->name[i]);
	free(named->name);
	named->name = NULL;
	named->n = 0;
}
