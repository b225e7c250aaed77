/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel table: which kernels ran. Agents write it, so every word is a claim of a process that may be hostile. */
#include "core/session/session.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "missed.h"
#include "core/session/base/sized.h"

int gpubpf_kernel_table_open(struct gpubpf_session *s)
{
	void *base;

	s->table_fd = gpubpf_memfd_shared("gpubpf-table", sizeof(struct gpubpf_kernel_table));
	if (s->table_fd < 0)
		return gpubpf_session_fail(s, s->table_fd,
					   "cannot create the session's kernel table of %zu bytes: "
					   "%s%s",
					   sizeof(struct gpubpf_kernel_table), strerror(-s->table_fd),
					   s->table_fd == -EFBIG ?
						   "; raise the limit on file sizes, which includes files in memory (ulimit "
						   "-f)" :
						   "");
	base = mmap(NULL, sizeof(struct gpubpf_kernel_table), PROT_READ | PROT_WRITE, MAP_SHARED, s->table_fd, 0);
	if (base == MAP_FAILED)
		return gpubpf_session_fail(s, -errno, "cannot map the session's kernel table: %s", strerror(errno));
	s->table = base;
	s->table->magic = GPUBPF_KERNEL_TABLE_MAGIC;
	s->table->version = GPUBPF_KERNEL_TABLE_VERSION;
	s->table->enabled = 1;
	return 0;
}

static void clear_stats(struct gpubpf_session *s)
{
	for (uint32_t i = 0; i < s->nstats; i++) {
		free((char *)s->stats[i].name);
		free((char *)s->stats[i].reason);
		free((char *)s->stats[i].backend);
		free(s->missed[i].why);
	}
	free(s->stats);
	free(s->missed);
	s->stats = NULL;
	s->missed = NULL;
	s->nstats = 0;
}

void gpubpf_kernel_table_close(struct gpubpf_session *s)
{
	clear_stats(s);
	if (s->table)
		munmap(s->table, sizeof(*s->table));
	s->table = NULL;
	if (s->table_fd >= 0)
		close(s->table_fd);
	s->table_fd = -1;
}

static const char *twin_route(const struct gpubpf_session *s, uint64_t id)
{
	return id < s->nkernel_ids && s->kernel_ids[id]->route ? s->kernel_ids[id]->route : "";
}

/* Returns the name of the compiler of the kernel's twin, from enum gpubpf_compiled_by `by`, which the agent reported;
 * "": none. */
static const char *compiler_name(const struct gpubpf_session *s, uint64_t id, uint32_t by)
{
	if (by == GPUBPF_BY_RUNTIME)
		return "driver";
	return by == GPUBPF_BY_ASSEMBLER && id < s->nkernel_ids ? s->kernel_ids[id]->assembler : "";
}

/* The number of rows that agents have reserved. Later rows are free, and reading them would allocate their pages. */
static uint32_t count_rows(const struct gpubpf_session *s)
{
	uint32_t n = s->table ? __atomic_load_n(&s->table->nkernels, __ATOMIC_ACQUIRE) : 0;

	return n < GPUBPF_KERNEL_TABLE_ROWS ? n : GPUBPF_KERNEL_TABLE_ROWS;
}

/* Replace control characters, so that a peer cannot send escape sequences to the user's terminal. */
static void mask_controls(char *text)
{
	for (char *c = text; *c; c++)
		*c = (unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c;
}

/* Copy a row and terminate its strings; false if the row is free. */
static bool read_any_row(const struct gpubpf_session *s, uint32_t i, struct gpubpf_kernel_row *row)
{
	if (__atomic_load_n(&s->table->kernel[i].used, __ATOMIC_ACQUIRE) != 2)
		return false;
	memcpy(row, &s->table->kernel[i], sizeof(*row));
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

/* Like read_any_row(), but false if the kernel was not launched. */
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

/* Add an entry to s->stats, where the caller has allocated one per row. */
static struct gpubpf_kernel_stats *add_stats(struct gpubpf_session *s, const char *name, const char *backend)
{
	struct gpubpf_kernel_stats *st = &s->stats[s->nstats++];

	*st = (struct gpubpf_kernel_stats){
		.sz = sizeof(*st),
		.name = strdup(name),
		.reason = strdup(""),
		.backend = strdup(backend),
		.id = gpubpf_kernel_id(s, name),
	};
	st->route = twin_route(s, st->id);
	st->compiled_by = "";
	return st->name && st->reason && st->backend ? st : NULL;
}

/* Find or add the statistics of a kernel on a runtime. They are in a balanced tree, because peers could choose names to
 * make a hash table slow. */
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

/* Add a row to the kernel's statistics. The kernel may have other outcomes in other processes or on other devices of
 * the runtime: counts are added up, and a refusal is reported even if other rows are probed. */
static int add_row(struct gpubpf_session *s, void **tree, const struct gpubpf_kernel_row *row)
{
	struct gpubpf_kernel_stats *st = find_or_add_stats(s, tree, row->name, row->backend);
	enum gpubpf_kernel_outcome outcome = to_outcome(row->state);

	if (!st)
		return -ENOMEM;
	gpubpf_missed_add_row(&s->missed[st - s->stats], row, st);
	st->wait_ns += row->wait_ns;
	st->twin_load_ns += row->load_ns;
	if (outcome > st->outcome)
		st->outcome = outcome;
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
	for (int i = 0; i < 3; i++) /* the last block may be smaller */
		st->grid[i] = row->block[i] ? row->grid[i] / row->block[i] + !!(row->grid[i] % row->block[i]) : 0;
	memcpy(st->block, row->block, sizeof(st->block));
	return st->reason ? 0 : -ENOMEM;
}

static void free_nothing(void *stats)
{
	(void)stats; /* the tree does not own the statistics */
}

int gpubpf_kernel_table_collect(struct gpubpf_session *s)
{
	uint32_t n = count_rows(s); /* read once, because agents may add rows during this function */
	struct gpubpf_kernel_row row;
	void *tree = NULL;
	int err;

	clear_stats(s);
	s->stats = calloc(n + 1, sizeof(*s->stats));
	s->missed = calloc(n + 1, sizeof(*s->missed));
	err = s->stats && s->missed ? 0 : -ENOMEM;
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
	if (i >= s->nstats)
		return -ENOENT;
	return gpubpf_sized_copy_out(stats, sizeof(*stats), &s->stats[i]);
}

uint64_t gpubpf_kernel_table_uncopied(const struct gpubpf_session *s, uint32_t process, const char *backend, uint32_t device)
{
	struct gpubpf_kernel_row row;
	uint64_t n = 0;

	for (uint32_t i = 0; i < count_rows(s); i++)
		if (read_row(s, i, &row) && row.process == process && row.device == device && !strcmp(row.backend, backend))
			n += row.probed > row.copied ? row.probed - row.copied : 0;
	return n;
}

void gpubpf_kernel_table_times(const struct gpubpf_session *s, uint64_t *wait_ns, uint64_t *load_ns)
{
	struct gpubpf_kernel_row row;

	*wait_ns = *load_ns = 0;
	for (uint32_t i = 0; i < count_rows(s); i++)
		if (read_any_row(s, i, &row)) {
			*wait_ns += row.wait_ns;
			*load_ns += row.load_ns;
		}
}

uint64_t gpubpf_kernel_table_hook_ns(const struct gpubpf_session *s)
{
	struct gpubpf_kernel_row row;
	uint64_t sum = 0, n = 0;

	for (uint32_t i = 0; i < count_rows(s); i++) {
		if (!read_row(s, i, &row))
			continue;
		sum += row.hook_ns;
		n += row.hook_samples;
	}
	return n ? sum / n : 0;
}
