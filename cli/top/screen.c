/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interactive screen of `top`, by ncurses. It has a separate stream on the terminal, because the sanitised standard
 * output removes cursor movements. So page.c removes control characters from all names.
 */
#include "top.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NCURSES_WIDECHAR 1
#include <curses.h>

#include "core/session/session.h"

#define MIN_WAIT_MS 20
#define KEY_ESCAPE 27
#define KEY_CTRL_L 12

volatile sig_atomic_t top_signal;

static struct {
	SCREEN *screen;
	FILE *out;
} terminal;

static void on_signal(int number)
{
	top_signal = number;
}

void top_catch_signals(void)
{
	const struct sigaction action = { .sa_handler = on_signal }; /* no SA_RESTART: a signal ends the wait for a key */

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	sigaction(SIGQUIT, &action, NULL);
}

static int open_terminal(void)
{
	const char *type = cli_env_terminal();
	int fd = dup(STDOUT_FILENO);

	terminal.out = fd < 0 ? NULL : fdopen(fd, "w");
	terminal.screen = terminal.out ? newterm(type, terminal.out, stdin) : NULL;
	if (!terminal.screen) {
		if (terminal.out)
			fclose(terminal.out);
		else if (fd >= 0)
			close(fd);
		return -ENOTTY;
	}
	set_term(terminal.screen);
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	if (!cli_env_no_color() && has_colors()) {
		start_color();
		use_default_colors();
		init_pair(1, COLOR_YELLOW, -1);
	}
	return 0;
}

static void close_terminal(void)
{
	curs_set(1);
	endwin();
	delscreen(terminal.screen);
	fclose(terminal.out);
}

static attr_t to_attributes(enum top_style style)
{
	switch (style) {
	case TOP_BOLD:
		return A_BOLD;
	case TOP_HEADING:
		return A_REVERSE;
	case TOP_WARNING:
		return A_BOLD | (cli_env_no_color() || !has_colors() ? 0 : COLOR_PAIR(1));
	default:
		return A_NORMAL;
	}
}

struct top_cursor {
	int line;
};

static void draw_line(void *ctx, enum top_style style, const char *text)
{
	struct top_cursor *cursor = ctx;

	move(cursor->line, 0);
	clrtoeol();
	if (cursor->line++ >= LINES)
		return;
	if (style == TOP_HEADING) /* the bar reaches the right edge */
		mvchgat(cursor->line - 1, 0, -1, A_REVERSE, 0, NULL);
	attrset(to_attributes(style));
	addstr(text);
	if (style == TOP_HEADING)
		for (int x = getcurx(stdscr); x < COLS - 1 && getcury(stdscr) == cursor->line - 1; x++)
			addch(' ');
	attrset(A_NORMAL);
}

static void draw(struct top *t)
{
	struct top_cursor cursor = { 0 };

	top_put_page(t, COLS, LINES, draw_line, &cursor);
	refresh();
}

/* Show lines until a key is pressed. */
static void show_help(const struct top *t)
{
	struct top_cursor cursor = { 0 };

	erase();
	top_put_help(t, COLS, draw_line, &cursor);
	move(LINES - 1, 0);
	clrtoeol();
	addnstr("Press a key.", COLS - 1);
	refresh();
	timeout(-1);
	while (getch() == ERR && !top_signal)
		;
	erase();
}

/* Let the user edit the filter in the last line. */
static void edit_filter(struct top *t)
{
	size_t n;
	int key;

	timeout(-1);
	for (;;) {
		if (top_make_rows(t) < 0)
			return;
		draw(t);
		mvprintw(LINES - 1, 0, "filter: %s", t->filter);
		clrtoeol();
		refresh();
		key = getch();
		n = strlen(t->filter);
		if (key == KEY_ESCAPE)
			t->filter[0] = 0;
		if (top_signal || key == KEY_ESCAPE || key == '\n' || key == KEY_ENTER)
			break;
		if (n && (key == KEY_BACKSPACE || key == 127 || key == '\b'))
			t->filter[n - 1] = 0;
		else if (key >= ' ' && key < 127 && n + 1 < sizeof(t->filter))
			t->filter[n] = (char)key, t->filter[n + 1] = 0;
	}
	t->first = 0;
}

static void scroll_rows(struct top *t, int by)
{
	int64_t first = (int64_t)t->first + by;

	t->first = first < 0 || !t->n ? 0 : first >= t->n ? t->n - 1 : (uint32_t)first;
}

/* Handle a key. Returns false if the user quits. */
static bool handle_key(struct top *t, int key)
{
	switch (key) {
	case 'q':
		return false;
	case 'p':
	case ' ':
		t->paused = !t->paused;
		break;
	case '<':
	case KEY_LEFT:
		top_move_sort(t, -1);
		break;
	case '>':
	case KEY_RIGHT:
		top_move_sort(t, 1);
		break;
	case 'r':
		t->reverse = !t->reverse;
		break;
	case 'v':
		t->view = (t->view + 1) % TOP_VIEWS, t->first = 0;
		break;
	case KEY_ESCAPE:
		t->filter[0] = 0;
		break;
	case 'f':
	case '/':
		edit_filter(t);
		break;
	case 'a':
		top_run_menu(t);
		break;
	case 'h':
	case '?':
		show_help(t);
		break;
	case 'k':
	case KEY_UP:
		scroll_rows(t, -1);
		break;
	case 'j':
	case KEY_DOWN:
		scroll_rows(t, 1);
		break;
	case KEY_PPAGE:
		scroll_rows(t, -(LINES - 5));
		break;
	case KEY_NPAGE:
		scroll_rows(t, LINES - 5);
		break;
	case KEY_RESIZE:
	case KEY_CTRL_L:
		erase();
		break;
	}
	return true;
}

/* Handle keys until the next reading is due. Returns false if the user quits. */
static bool handle_keys(struct top *t, uint64_t until_ns)
{
	while (!top_signal) {
		uint64_t now = gpubpf_now_ns();
		int key;

		if (top_make_rows(t) < 0)
			return false;
		draw(t);
		if (now >= until_ns)
			return true;
		timeout((int)((until_ns - now) / 1000000) + 1);
		key = getch();
		if (key != ERR && !handle_key(t, key))
			return false;
	}
	return false;
}

int top_run_screen(struct top *t, int (*read)(struct top *t))
{
	uint64_t round = 0;
	int err = open_terminal();

	if (err)
		return err;
	top_catch_signals();
	do {
		if (!t->paused)
			err = read(t);
		if (t->has_ended)
			break;
		round++;
	} while (handle_keys(t, gpubpf_now_ns() + (t->delay_ms < MIN_WAIT_MS ? MIN_WAIT_MS : t->delay_ms) * 1000000) &&
		 (!t->rounds || round < t->rounds));
	close_terminal();
	return err == -ENOMEM ? err : 0;
}

/* -- ready probes -- */

static void draw_menu(const struct top *t, const struct figures_link *links, int n, size_t selected)
{
	const char *name;

	erase();
	attrset(A_BOLD);
	mvaddnstr(0, 0, "Ready probes: Enter attaches or detaches, Escape returns", COLS);
	attrset(A_NORMAL);
	for (size_t i = 0; (name = cli_probe_at(i)) && (int)i + 3 < LINES; i++) {
		attrset(i == selected ? A_REVERSE : A_NORMAL);
		mvprintw((int)i + 2, 2, "[%c] %s", figures_links_has(links, n, name) ? 'x' : ' ', name);
	}
	attrset(A_NORMAL);
	mvaddnstr(LINES - 1, 0, t->note, COLS - 1);
	refresh();
}

static size_t move_selection(size_t selected, int key)
{
	if ((key == KEY_UP || key == 'k') && selected)
		return selected - 1;
	return (key == KEY_DOWN || key == 'j') && cli_probe_at(selected + 1) ? selected + 1 : selected;
}

void top_run_menu(struct top *t)
{
	struct figures_link *links;
	size_t selected = 0;
	int key = 0;

	timeout(-1);
	while (!top_signal && key != KEY_ESCAPE && key != 'q' && key != 'a') {
		char why[sizeof(t->note)];
		int n = figures_links_list(t->path, &links, why, sizeof(why));

		if (n < 0) /* if the list can be read, keep the note about the last change */
			memcpy(t->note, why, sizeof(why));
		draw_menu(t, links, n, selected);
		key = getch();
		selected = move_selection(selected, key);
		if ((key == '\n' || key == KEY_ENTER || key == ' ') && cli_probe_at(selected) && n >= 0) {
			bool on = !figures_links_has(links, n, cli_probe_at(selected));

			t->note[0] = 0;
			figures_links_switch(t->path, cli_probe_at(selected), on, t->note, sizeof(t->note));
		}
		free(links);
	}
	erase();
}
