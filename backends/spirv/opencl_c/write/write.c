/* SPDX-License-Identifier: Apache-2.0 */
#include "write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wrapper.h"

/*
 * A text that the writer inserts: the wrapper of a kernel, the copy or wrapper of a function, or a check at the start
 * of a copied body.
 */
struct piece {
	size_t at;
	/* line (considering #line) and column of the source text that follows the inserted text */
	uint32_t line, column;
	const struct gpubpf_wrap *wrap;
	uint32_t function;  /* index in unit->function; UINT32_MAX: the piece belongs to the kernel */
	const char *pretty; /* value of __PRETTY_FUNCTION__ that the piece checks; NULL: the piece is not a check */
};

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->wrap < y->wrap ? -1 : x->wrap > y->wrap;
}

/* If a wrapper repeats a body that uses __PRETTY_FUNCTION__, add a check of its value in the original kernel. */
static void add_check(struct piece *list, size_t *n, const struct gpubpf_wrap *wrap, const struct gpubpf_cl_kernel *k)
{
	if (k->pretty && repeats_body(wrap))
		list[(*n)++] = (struct piece){ k->body, k->body_line, k->body_column, wrap, UINT32_MAX, k->pretty };
}

static void add_function(struct piece *list, size_t *n, const struct gpubpf_wrap *wrap,
			 const struct gpubpf_cl_function *f, uint32_t function)
{
	list[(*n)++] = (struct piece){ f->at, f->line, f->column, wrap, function };
	if (f->pretty && wrap->copied[function])
		list[(*n)++] = (struct piece){ f->body, f->body_line, f->body_column, wrap, function, f->pretty };
}

static struct piece *list_pieces(const struct gpubpf_cl_unit *unit, const struct gpubpf_wrap *wraps, uint32_t nwraps,
				 struct gpubpf_pool *pool, size_t *n)
{
	struct piece *list = gpubpf_pool_alloc(pool, 2 * (size_t)nwraps * (unit->nfunctions + 1), sizeof(*list));

	*n = 0;
	for (uint32_t i = 0; list && i < nwraps; i++) {
		const struct gpubpf_cl_kernel *k = wraps[i].kernel;

		list[(*n)++] = (struct piece){ k->at, k->line, k->column, &wraps[i], UINT32_MAX };
		add_check(list, n, &wraps[i], k);
		for (uint32_t f = 0; wraps[i].copied && f < unit->nfunctions; f++)
			if (wraps[i].copied[f] || wraps[i].called[f].has_sites)
				add_function(list, n, &wraps[i], &unit->function[f], f);
	}
	if (list && *n)
		qsort(list, *n, sizeof(*list), compare_pieces);
	return list;
}

/* Returns the state for writing a piece. */
static struct wrapper wrapper_of(const struct piece *piece, const struct gpubpf_cl_source *source,
				 const struct gpubpf_cl_unit *unit, const struct gpubpf_lower_job *job)
{
	const struct gpubpf_wrap *wrap = piece->wrap;
	struct wrapper w = { .job = job,
			     .wrap = wrap,
			     .site = gpubpf_env_site(job, wrap->first_site),
			     .is_body_repeated = repeats_body(wrap),
			     .names = { wrap->kernel->name, wrap->kernel->pretty } };
	uint32_t function = piece->function == UINT32_MAX ? wrap->kernel->function : piece->function;

	if (piece->function != UINT32_MAX)
		w.names = (struct cl_names){ unit->function[function].name, unit->function[function].pretty };
	if (wrap->places)
		w.weave = (struct gpubpf_weave){ source,
						 unit,
						 job,
						 function,
						 wrap->first_site,
						 wrap->places[function],
						 wrap->nplaces[function],
						 wrap->copied,
						 wrap->called };
	return w;
}

static void write_name_check(struct wrapper *w)
{
	gpubpf_names_check(&w->names, w->out);
}

static int write_piece(FILE *out, const struct piece *piece, const struct gpubpf_cl_source *source,
		       const struct gpubpf_cl_unit *unit, const struct gpubpf_lower_job *job)
{
	struct wrapper w = wrapper_of(piece, source, unit, job);
	struct gpubpf_pool pool = GPUBPF_POOL_INIT;
	int err;

	for (uint32_t i = 0; i < job->nsites; i++)
		if (!strcmp(job->sites[i].kernel, w.site->kernel) && !job->sites[i].function[0])
			gpubpf_env_use(job, i, &w.use);
	fprintf(out, "\n#ifndef GPUBPF_SKIP_%u\n", w.wrap->first_site);
	gpubpf_wrap_number_lines(out, w.wrap);
	if (piece->pretty)
		err = gpubpf_wrap_words(out, gpubpf_wrap_print(&w, write_name_check, &pool), unit, &pool);
	else
		err = piece->function == UINT32_MAX ? gpubpf_wrap_kernel(out, &w, source, unit, &pool) :
						      gpubpf_wrap_function(out, &w, unit, &pool);
	fprintf(out, "#endif\n");
	gpubpf_wrap_line(out, piece->line, piece->column, NULL);
	if (ferror(out) || pool.failed)
		err = -ENOMEM;
	gpubpf_pool_finish(&pool);
	return err;
}

int gpubpf_wrap_write(const struct gpubpf_cl_source *source, const struct gpubpf_cl_unit *unit,
		      const struct gpubpf_lower_job *job, const struct gpubpf_wrap *wraps, uint32_t nwraps, char **text,
		      size_t *size)
{
	struct gpubpf_pool pool = GPUBPF_POOL_INIT;
	struct piece *pieces;
	size_t at = 0, n;
	int err = 0;
	FILE *out;

	out = open_memstream(text, size);
	pieces = list_pieces(unit, wraps, nwraps, &pool, &n);
	if (!out || !pieces)
		err = -ENOMEM;
	for (size_t i = 0; i < n && err == 0; i++) {
		fwrite(source->text + at, 1, pieces[i].at - at, out);
		at = pieces[i].at;
		err = write_piece(out, &pieces[i], source, unit, job);
	}
	gpubpf_pool_finish(&pool);
	if (!out)
		return -ENOMEM;
	fwrite(source->text + at, 1, source->size - at, out);
	/*
	 * Included headers are part of the compiled text, but not of this text, which caches use as the key. Because
	 * the text contains a hash of the headers' contents, the caches miss when a header changes.
	 */
	fprintf(out, "\n/* %016llx */\n%s", (unsigned long long)unit->includes, unit->included);
	if (fclose(out) != 0)
		err = -ENOMEM;
	if (err < 0)
		free(*text);
	return err;
}
