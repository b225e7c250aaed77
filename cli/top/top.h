/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `gpubpf top`: rows, pages of text, the screen, and the application that it starts. */
#ifndef GPUBPF_CLI_TOP_TOP_H
#define GPUBPF_CLI_TOP_TOP_H

#include <signal.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/cli.h"
#include "cli/figures/child.h"
#include "cli/figures/figures.h"
#include "cli/figures/links.h"

enum top_view {
	TOP_KERNELS,
	TOP_PROCESSES,
	TOP_VIEWS,
};

enum top_column {
#define TOP_COLUMN(id, view, heading, width, room, sorts, meaning) TOP_##id,
#include "columns.def"
	TOP_COLUMNS,
};

struct top_column_info {
	enum top_view view;
	const char *heading;
	int width, room;
	bool sorts;
	const char *meaning;
};
extern const struct top_column_info top_columns[TOP_COLUMNS];

#define TOP_CELL 320 /* bytes of a cell, with its NUL */

/* One line of the table. Cells of the other views are empty. */
struct top_row {
	char cell[TOP_COLUMNS][TOP_CELL];
	double order; /* value in the column by which rows are sorted */
};

struct top {
	const struct cli_args *args;
	char path[512]; /* the session's socket */
	uint64_t delay_ms, rounds;
	bool once, json, demangle;
	struct figures was, is; /* the two newest readings */
	bool has_was;
	struct figures_rates rates;
	/* what the user selected */
	enum top_view view;
	enum top_column sort[TOP_VIEWS];
	bool reverse, paused;
	bool has_ended; /* the session has ended, as the last reading found out */
	char filter[64];
	uint64_t printed;    /* number of tables printed without a screen */
	uint32_t first;      /* number of rows above the screen */
	char note[256];      /* line for the user, such as an error; "": none */
	struct top_row *row; /* [n] filtered and sorted */
	uint32_t n;
	struct figures_child child;
};

/* rows.c: make t->row from the readings and the user's selection. Returns 0 or -ENOMEM. */
int top_make_rows(struct top *t);
/* Move the sorting to the next (1) or previous (-1) column of the view that sorts. */
void top_move_sort(struct top *t, int by);

/*
 * page.c: the lines of the screen. top_put_page() writes a page of `height` lines, each of at most `width` columns.
 * height 0: no limit.
 */
enum top_style {
	TOP_PLAIN,
	TOP_BOLD,
	TOP_HEADING,
	TOP_WARNING,
};
typedef void (*top_line_fn)(void *ctx, enum top_style style, const char *text);
void top_put_page(const struct top *t, int width, int height, top_line_fn put, void *ctx);
void top_put_help(const struct top *t, int width, top_line_fn put, void *ctx);
/* Copy text into at most `columns` columns: an unprintable character becomes '?', the middle of a long text "..". */
void top_fit(const char *text, int columns, char *buf, size_t size);

/* json.c: print the readings and rates as one JSON document */
void top_print_json(const struct top *t, FILE *out);

/*
 * screen.c: run the interactive screen until the user quits, a signal arrives or the session ends. The function
 * read() takes a new reading; it returns 0 or -errno, and sets t->has_ended. Returns 0, or -ENOTTY if the
 * terminal cannot show a screen.
 */
int top_run_screen(struct top *t, int (*read)(struct top *t));
/* screen.c: the menu that attaches and detaches ready probes */
void top_run_menu(struct top *t);
/* screen.c: let SIGINT, SIGTERM, SIGHUP and SIGQUIT set top_signal */
void top_catch_signals(void);
extern volatile sig_atomic_t top_signal;

#endif
