/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the rows of the table: formats the figures, then filters and sorts the rows. */
#include "top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/text/duration.h"

char *__cxa_demangle(const char *mangled, char *buf, size_t *size, int *status);

const struct top_column_info top_columns[TOP_COLUMNS] = {
#define TOP_COLUMN(id, view, heading, width, room, sorts, meaning) \
	[TOP_##id] = { TOP_##view, heading, width, room, sorts, meaning },
#include "columns.def"
};

static void put_name(const struct top *t, const char *name, char cell[TOP_CELL])
{
	int status = 0;
	char *plain = t->demangle && !strncmp(name, "_Z", 2) ? __cxa_demangle(name, NULL, NULL, &status) : NULL;

	snprintf(cell, TOP_CELL, "%s", plain ? plain : name);
	free(plain);
}

static void put_duration(bool known, uint64_t ns, char cell[TOP_CELL])
{
	char text[24];

	snprintf(cell, TOP_CELL, "%s", known ? gpubpf_duration(ns, text) : "-");
}

static void put_rate(double per_s, char cell[TOP_CELL])
{
	if (per_s < 0)
		snprintf(cell, TOP_CELL, "-");
	else
		snprintf(cell, TOP_CELL, per_s < 1e6 ? "%.1f" : "%.3g", per_s);
}

static void put_gigabytes(double per_s, char cell[TOP_CELL])
{
	double v = per_s / 1e9;

	if (per_s < 0)
		snprintf(cell, TOP_CELL, "-");
	else if (v > 0 && v < 0.001)
		snprintf(cell, TOP_CELL, "<0.001");
	else
		snprintf(cell, TOP_CELL, "%.3g", v);
}

static void put_part(uint64_t part, uint64_t whole, char cell[TOP_CELL])
{
	if (whole)
		snprintf(cell, TOP_CELL, "%.1f %%", 100.0 * (double)part / (double)whole);
	else
		snprintf(cell, TOP_CELL, "-");
}

static double order_of_kernel(const struct figures_rate *r, enum top_column column)
{
	switch (column) {
	case TOP_TIME:
		return r->kernel->has_times ? (double)r->time_ns : r->launches_per_s;
	case TOP_RATE:
		return r->launches_per_s;
	case TOP_MEAN:
		return (double)r->mean_ns;
	case TOP_P50:
		return (double)r->p50_ns;
	case TOP_P99:
		return (double)r->p99_ns;
	case TOP_GBPS:
		return r->bytes_per_s;
	case TOP_COUNT:
		return (double)r->kernel->launches;
	default:
		return 0; /* by name */
	}
}

static void put_kernel(const struct top *t, const struct figures_rate *r, struct top_row *row)
{
	const struct figures_kernel *k = r->kernel;

	put_name(t, k->name, row->cell[TOP_KERNEL]);
	put_duration(k->has_times, r->time_ns, row->cell[TOP_TIME]);
	if (k->has_times && r->timed)
		snprintf(row->cell[TOP_SHARE], TOP_CELL, "%.1f %%", 100 * r->share);
	else
		snprintf(row->cell[TOP_SHARE], TOP_CELL, "-");
	put_rate(r->launches_per_s, row->cell[TOP_RATE]);
	put_duration(k->has_times && k->timed, r->mean_ns, row->cell[TOP_MEAN]);
	put_duration(k->nslots, r->p50_ns, row->cell[TOP_P50]);
	put_duration(k->nslots, r->p99_ns, row->cell[TOP_P99]);
	put_gigabytes(r->bytes_per_s, row->cell[TOP_GBPS]);
	snprintf(row->cell[TOP_COUNT], TOP_CELL, "%llu", (unsigned long long)k->launches);
	put_part(k->probed, k->launches, row->cell[TOP_PROBED]);
	snprintf(row->cell[TOP_RUNTIME], TOP_CELL, "%s", k->backend);
	row->order = order_of_kernel(r, t->sort[TOP_KERNELS]);
}

/* Store the last component of the process's control group, or "-". */
static void put_cgroup(uint32_t pid, char cell[TOP_CELL])
{
	char path[64], line[1024];
	FILE *in;

	snprintf(cell, TOP_CELL, "-");
	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	in = fopen(path, "re");
	while (in && fgets(line, sizeof(line), in)) {
		char *name = strrchr(line, '/');

		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "0::", 3) && name && name[1])
			snprintf(cell, TOP_CELL, "%.64s", name + 1);
	}
	if (in)
		fclose(in);
}

static const struct figures_process *find_process(const struct figures *f, const struct figures_process *p)
{
	for (uint32_t i = 0; i < f->nprocesses; i++)
		if (f->process[i].process == p->process && f->process[i].device == p->device &&
		    !strcmp(f->process[i].backend, p->backend))
			return &f->process[i];
	return NULL;
}

static void put_process(const struct top *t, const struct figures_process *p, struct top_row *row)
{
	const struct figures_process *was = t->has_was ? find_process(&t->was, p) : NULL;
	uint64_t before = was && was->launches <= p->launches ? was->launches : 0;
	double per_s = t->rates.seconds > 0 ? (double)(p->launches - before) / t->rates.seconds : -1;
	const char *slash = strrchr(p->program, '/');

	snprintf(row->cell[TOP_PROGRAM], TOP_CELL, "%s", slash ? slash + 1 : p->program);
	snprintf(row->cell[TOP_PID], TOP_CELL, "%u", p->pid);
	snprintf(row->cell[TOP_DEVICE], TOP_CELL, "%s:%u", p->backend, p->device);
	put_rate(per_s, row->cell[TOP_PRATE]);
	snprintf(row->cell[TOP_PCOUNT], TOP_CELL, "%llu", (unsigned long long)p->launches);
	put_part(p->probed, p->launches, row->cell[TOP_PPROBED]);
	put_cgroup(p->pid, row->cell[TOP_CGROUP]);
	row->order = t->sort[TOP_PROCESSES] == TOP_PRATE  ? per_s :
		     t->sort[TOP_PROCESSES] == TOP_PCOUNT ? (double)p->launches :
							    0;
}

static int compare_rows(const void *a, const void *b, void *top)
{
	const struct top_row *x = a, *y = b;
	const struct top *t = top;
	enum top_column name = t->view == TOP_KERNELS ? TOP_KERNEL : TOP_PROGRAM;
	int order = (x->order < y->order) - (x->order > y->order);

	if (!order)
		return strcmp(x->cell[name], y->cell[name]);
	return t->reverse ? -order : order;
}

int top_make_rows(struct top *t)
{
	enum top_column name = t->view == TOP_KERNELS ? TOP_KERNEL : TOP_PROGRAM;
	uint32_t all = t->view == TOP_KERNELS ? t->rates.n : t->is.nprocesses;

	free(t->row);
	t->n = 0;
	t->row = calloc(all + 1, sizeof(*t->row));
	if (!t->row)
		return -ENOMEM;
	for (uint32_t i = 0; i < all; i++) {
		if (t->view == TOP_KERNELS)
			put_kernel(t, &t->rates.rate[i], &t->row[t->n]);
		else
			put_process(t, &t->is.process[i], &t->row[t->n]);
		t->n += !t->filter[0] || strcasestr(t->row[t->n].cell[name], t->filter);
	}
	qsort_r(t->row, t->n, sizeof(*t->row), compare_rows, t);
	return 0;
}

void top_move_sort(struct top *t, int by)
{
	enum top_column *sort = &t->sort[t->view];
	int at = (int)*sort;

	do
		at = (at + by + TOP_COLUMNS) % TOP_COLUMNS;
	while (top_columns[at].view != t->view || !top_columns[at].sorts);
	*sort = (enum top_column)at;
}
