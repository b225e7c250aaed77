/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the kernel table, which shows which GPU kernels ran. Agents write the table. An agent may be hostile, so no
 * number or text in the table is trusted.
 */
#include "private.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "launch_times.h"
#include "missed.h"
#include "core/session/base/peers.h"
#include "core/session/base/sized.h"

int gpubpf_report_create(struct gpubpf_session *s)
{
	s->report = calloc(1, sizeof(*s->report));
	if (!s->report)
		return -ENOMEM;
	s->report->table_fd = -1;
	return 0;
}

int gpubpf_kernel_table_open(struct gpubpf_session *s)
{
	void *base;

	s->report->table_fd = gpubpf_memfd_shared("gpubpf-table", sizeof(struct gpubpf_kernel_table));
	if (s->report->table_fd < 0)
		return gpubpf_session_fail(s, s->report->table_fd,
					   "cannot create the session's kernel table of %zu bytes: %s%s",
					   sizeof(struct gpubpf_kernel_table), strerror(-s->report->table_fd),
					   s->report->table_fd == -EFBIG ?
						   "; raise the limit on file sizes, which includes files in memory (ulimit -f)" :
						   "");
	base = mmap(NULL, sizeof(struct gpubpf_kernel_table), PROT_READ | PROT_WRITE, MAP_SHARED, s->report->table_fd, 0);
	if (base == MAP_FAILED)
		return gpubpf_session_fail(s, -errno, "cannot map the session's kernel table: %s", strerror(errno));
	s->report->table = base;
	s->report->table->magic = GPUBPF_KERNEL_TABLE_MAGIC;
	s->report->table->version = GPUBPF_KERNEL_TABLE_VERSION;
	s->report->table->enabled = 1;
	return 0;
}

static void clear_stats(struct gpubpf_session *s)
{
	for (uint32_t i = 0; i < s->report->nstats; i++) {
		free((char *)s->report->stats[i].name);
		free((char *)s->report->stats[i].reason);
		free((char *)s->report->stats[i].backend);
		free(s->report->missed[i].why);
	}
	free(s->report->stats);
	free(s->report->missed);
	s->report->stats = NULL;
	s->report->missed = NULL;
	s->report->nstats = 0;
}

void gpubpf_report_destroy(struct gpubpf_session *s)
{
	if (!s->report)
		return;
	clear_stats(s);
	gpubpf_launch_times_destroy(s->report);
	gpubpf_gates_free(s->report);
	if (s->report->table)
		munmap(s->report->table, sizeof(*s->report->table));
	if (s->report->table_fd >= 0)
		close(s->report->table_fd);
	free(s->report);
	s->report = NULL;
}

void gpubpf_report_set_moment(struct gpubpf_session *s, enum gpubpf_moment moment)
{
	s->report->moment = moment;
}

int gpubpf_kernel_table_fd(const struct gpubpf_session *s)
{
	return s->report->table_fd;
}

void gpubpf_kernel_table_enable(struct gpubpf_session *s, bool on)
{
	__atomic_store_n(&s->report->table->enabled, on, __ATOMIC_RELEASE);
}

struct gpubpf_rate gpubpf_kernel_table_rate(const struct gpubpf_session *s)
{
	const struct gpubpf_kernel_table *t = s->report->table;

	if (t && t->rate.round)
		return t->rate;
	return (struct gpubpf_rate){ .sample = s->opts.sample ? s->opts.sample : 1, .first = s->opts.first };
}

void gpubpf_kernel_table_set_rate(struct gpubpf_session *s, const struct gpubpf_rate *rate)
{
	struct gpubpf_rate *to = &s->report->table->rate;

	__atomic_store_n(&to->sample, rate->sample, __ATOMIC_RELAXED);
	__atomic_store_n(&to->first, rate->first, __ATOMIC_RELAXED);
	__atomic_store_n(&to->every_ns, rate->every_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&to->round, to->round + 1, __ATOMIC_RELEASE);
}

bool gpubpf_kernel_table_begin_plan(struct gpubpf_session *s, bool measures)
{
	struct session_report *r = s->report;

	if (!r->table)
		return false;
	r->plan += 2;
	r->nplan = 0;
	__atomic_store_n(&r->table->measures, measures, __ATOMIC_RELAXED);
	__atomic_store_n(&r->table->plan, r->plan - 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	return true;
}

void gpubpf_kernel_table_add_link(struct gpubpf_session *s, uint32_t link, uint32_t flags, const char *pattern)
{
	struct gpubpf_kernel_table *t = s->report->table;
	uint32_t n = s->report->nplan++;

	t->entry[n].link = link;
	t->entry[n].flags = flags;
	snprintf(t->entry[n].pattern, sizeof(t->entry[n].pattern), "%s", pattern);
}

void gpubpf_kernel_table_change_host(struct gpubpf_session *s)
{
	if (s->report->table)
		__atomic_fetch_add(&s->report->table->host, 1, __ATOMIC_RELEASE);
}

uint64_t gpubpf_kernel_table_host(const struct gpubpf_session *s)
{
	return __atomic_load_n(&s->report->table->host, __ATOMIC_RELAXED);
}

void gpubpf_kernel_table_publish_plan(struct gpubpf_session *s)
{
	__atomic_store_n(&s->report->table->nplan, s->report->nplan, __ATOMIC_RELAXED);
	__atomic_store_n(&s->report->table->plan, s->report->plan, __ATOMIC_RELEASE);
}

uint64_t gpubpf_kernel_table_link_launches(const struct gpubpf_session *s, uint32_t link)
{
	const struct gpubpf_kernel_table *t = s->report->table;

	return t ? __atomic_load_n(&t->link[link].launches, __ATOMIC_RELAXED) : 0;
}

uint32_t gpubpf_kernel_stats_count(const struct gpubpf_session *s)
{
	return s->report->nstats;
}

const struct gpubpf_kernel_stats *gpubpf_kernel_stats_at(const struct gpubpf_session *s, uint32_t i)
{
	return &s->report->stats[i];
}

/*
 * Returns the name of the compiler that made machine code from the kernel's twin, or "" if there is none. `by` is the
 * enum gpubpf_compiled_by that the agent reported.
 */
static const char *compiler_name(const struct gpubpf_session *s, uint64_t id, uint32_t by)
{
	if (by == GPUBPF_BY_RUNTIME)
		return "driver";
	return by == GPUBPF_BY_ASSEMBLER ? gpubpf_kernel_assembler(s, id) : "";
}

uint32_t gpubpf_kernel_table_rows(const struct gpubpf_session *s)
{
	uint32_t n = s->report->table ? __atomic_load_n(&s->report->table->nkernels, __ATOMIC_ACQUIRE) : 0;

	return n < GPUBPF_KERNEL_TABLE_ROWS ? n : GPUBPF_KERNEL_TABLE_ROWS;
}

uint64_t gpubpf_kernel_table_process_launches(const struct gpubpf_session *s, uint32_t process)
{
	const struct gpubpf_kernel_table *t = s->report->table;
	uint64_t n = 0;

	for (uint32_t i = 0; i < gpubpf_kernel_table_rows(s); i++)
		if (__atomic_load_n(&t->kernel[i].used, __ATOMIC_ACQUIRE) == 2 && t->kernel[i].process == process)
			n += __atomic_load_n(&t->kernel[i].launches, __ATOMIC_RELAXED);
	return n;
}

/* Replace control characters by '?', so that a peer cannot send escape sequences to the user's terminal. */
static void mask_controls(char *text)
{
	for (char *c = text; *c; c++)
		*c = (unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c;
}

/* Copy a row and terminate its strings. Returns false if the row is free. */
static bool read_any_row(const struct gpubpf_session *s, uint32_t i, struct gpubpf_kernel_row *row)
{
	if (__atomic_load_n(&s->report->table->kernel[i].used, __ATOMIC_ACQUIRE) != 2)
		return false;
	memcpy(row, &s->report->table->kernel[i], sizeof(*row));
	row->name[sizeof(row->name) - 1] = 0;
	row->reason[sizeof(row->reason) - 1] = 0;
	row->backend[sizeof(row->backend) - 1] = 0;
	mask_controls(row->name);
	mask_controls(row->reason);
	mask_controls(row->backend);
	if (row->dim > 3)
		row->dim = 3;
	return true;
}

/* Like read_any_row(), but also returns false if the kernel was not launched. */
static bool read_row(const struct gpubpf_session *s, uint32_t i, struct gpubpf_kernel_row *row)
{
	return read_any_row(s, i, row) && row->launched;
}

static enum gpubpf_kernel_outcome to_outcome(uint32_t state)
{
	switch (state) {
	case GPUBPF_KERNEL_WAITING:
		return GPUBPF_OUTCOME_WAITING;
	case GPUBPF_KERNEL_PROBED:
	case GPUBPF_KERNEL_TIMED:
		return GPUBPF_OUTCOME_PROBED;
	case GPUBPF_KERNEL_REFUSED:
		return GPUBPF_OUTCOME_REFUSED;
	default:
		return GPUBPF_OUTCOME_SEEN;
	}
}

static int compare_stats(const void *a, const void *b)
{
	const struct gpubpf_kernel_stats *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->backend, y->backend);
}

/* Add an element to s->report->stats, which the caller has allocated with one element per row. */
static struct gpubpf_kernel_stats *add_stats(struct gpubpf_session *s, const char *name, const char *backend)
{
	struct gpubpf_kernel_stats *st = &s->report->stats[s->report->nstats++];

	*st = (struct gpubpf_kernel_stats){
		.sz = sizeof(*st),
		.name = strdup(name),
		.reason = strdup(""),
		.backend = strdup(backend),
		.id = gpubpf_kernel_id(s, name),
	};
	st->route = gpubpf_kernel_route(s, st->id);
	st->compiled_by = "";
	return st->name && st->reason && st->backend ? st : NULL;
}

/*
 * Find or add the statistics of a kernel on a runtime in a balanced tree. A peer chooses the names, and could choose
 * them so that all collide in a hash table.
 */
static struct gpubpf_kernel_stats *find_or_add_stats(struct gpubpf_session *s, void **tree, const char *name,
						     const char *backend)
{
	const struct gpubpf_kernel_stats key = { .name = name, .backend = backend };
	struct gpubpf_kernel_stats **found = tfind(&key, tree, compare_stats), *st;

	if (found)
		return *found;
	st = add_stats(s, name, backend);
	return st && tsearch(st, tree, compare_stats) ? st : NULL;
}

/*
 * Add a row to the statistics of its kernel. Other processes and other devices of the runtime may have rows of the same
 * kernel with other outcomes. Their counts are added up, and a refusal is reported even if other rows are probed.
 */
static int add_row(struct gpubpf_session *s, void **tree, const struct gpubpf_kernel_row *row)
{
	struct gpubpf_kernel_stats *st = find_or_add_stats(s, tree, row->name, row->backend);
	enum gpubpf_kernel_outcome outcome = to_outcome(row->state);

	if (!st)
		return -ENOMEM;
	gpubpf_missed_add_row(&s->report->missed[st - s->report->stats], row, st);
	st->wait_ns += row->wait_ns;
	st->twin_load_ns += row->load_ns;
	if (outcome > st->outcome)
		st->outcome = outcome;
	if (row->state == GPUBPF_KERNEL_TIMED && !st->route[0])
		st->route = GPUBPF_ROUTE_RUNTIME;
	if (row->reason[0] && !st->reason[0]) {
		free((char *)st->reason);
		st->reason = strdup(row->reason);
	}
	if (row->regs_after) {
		st->registers = row->regs_before;
		st->twin_registers = row->regs_after;
	}
	if (row->compiled_by)
		st->compiled_by = compiler_name(s, st->id, row->compiled_by);
	st->dim = row->dim;
	memcpy(st->threads, row->grid, sizeof(st->threads));
	for (int i = 0; i < 3; i++) /* round up, because the last block may be smaller */
		st->grid[i] = row->block[i] ? row->grid[i] / row->block[i] + !!(row->grid[i] % row->block[i]) : 0;
	memcpy(st->block, row->block, sizeof(st->block));
	return st->reason ? 0 : -ENOMEM;
}

static void free_nothing(void *stats)
{
	(void)stats; /* s->report->stats owns the statistics, not the tree */
}

int gpubpf_kernel_table_collect(struct gpubpf_session *s)
{
	uint32_t n = gpubpf_kernel_table_rows(s); /* read once, because agents may add rows during this function */
	struct gpubpf_kernel_row row;
	void *tree = NULL;
	int err;

	clear_stats(s);
	gpubpf_launch_times_add(s);
	s->report->stats = calloc(n + 1, sizeof(*s->report->stats));
	s->report->missed = calloc(n + 1, sizeof(*s->report->missed));
	err = s->report->stats && s->report->missed ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < n && !err; i++)
		if (read_row(s, i, &row))
			err = add_row(s, &tree, &row);
	tdestroy(tree, free_nothing);
	return err;
}

int gpubpf_session__kernel(struct gpubpf_session *s, size_t i, struct gpubpf_kernel_stats *stats)
{
	if (!gpubpf_sized_is_valid(stats, sizeof(*stats)))
		return gpubpf_session_fail(s, -EINVAL, "struct gpubpf_kernel_stats: " GPUBPF_SIZED_WHY);
	if (i == 0 && gpubpf_kernel_table_collect(s) < 0)
		return -ENOMEM;
	if (i >= s->report->nstats)
		return -ENOENT;
	return gpubpf_sized_copy_out(stats, sizeof(*stats), &s->report->stats[i]);
}

uint64_t gpubpf_kernel_table_uncopied(const struct gpubpf_session *s, uint32_t process, const char *backend, uint32_t device)
{
	struct gpubpf_kernel_row row;
	uint64_t n = 0;

	for (uint32_t i = 0; i < gpubpf_kernel_table_rows(s); i++)
		if (read_row(s, i, &row) && row.process == process && row.device == device && !strcmp(row.backend, backend))
			n += row.probed > row.copied ? row.probed - row.copied : 0;
	return n;
}

static void add_to_device(const struct gpubpf_session *s, struct gpubpf_device_launches *all, uint32_t n,
			  const struct gpubpf_kernel_row *row)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct gpubpf_listed_device *d = gpubpf_session_listed_device(s, i);

		if (d->process != row->process || d->ordinal != row->device || strcmp(d->backend, row->backend))
			continue;
		all[i].launches += row->launches;
		all[i].probed += row->probed;
	}
}

struct gpubpf_device_launches *gpubpf_kernel_table_by_device(const struct gpubpf_session *s, uint32_t n)
{
	struct gpubpf_device_launches *all = calloc(n + 1, sizeof(*all));
	struct gpubpf_kernel_row row;

	for (uint32_t i = 0; all && i < gpubpf_kernel_table_rows(s); i++)
		if (read_row(s, i, &row))
			add_to_device(s, all, n, &row);
	return all;
}

void gpubpf_kernel_table_times(const struct gpubpf_session *s, uint64_t *wait_ns, uint64_t *load_ns)
{
	struct gpubpf_kernel_row row;

	*wait_ns = *load_ns = 0;
	for (uint32_t i = 0; i < gpubpf_kernel_table_rows(s); i++)
		if (read_any_row(s, i, &row)) {
			*wait_ns += row.wait_ns;
			*load_ns += row.load_ns;
		}
}

uint64_t gpubpf_kernel_table_hook_ns(const struct gpubpf_session *s)
{
	struct gpubpf_kernel_row row;
	uint64_t sum = 0, n = 0;

	for (uint32_t i = 0; i < gpubpf_kernel_table_rows(s); i++) {
		if (!read_row(s, i, &row))
			continue;
		sum += row.hook_ns;
		n += row.hook_samples;
	}
	return n ? sum / n : 0;
}

double gpubpf_kernel_table_factor(const struct gpubpf_session *s, uint64_t *unprobed)
{
	struct gpubpf_kernel_row row;
	double with = 0, without = 0;

	*unprobed = 0;
	for (uint32_t i = 0; i < gpubpf_kernel_table_rows(s); i++) {
		if (!read_row(s, i, &row) || !row.runs[0] || !row.runs[1])
			continue;
		with += (double)row.run_ns[1];
		without += (double)row.run_ns[0];
		*unprobed += row.runs[0];
	}
	return without > 0 ? with / without : 0;
}
