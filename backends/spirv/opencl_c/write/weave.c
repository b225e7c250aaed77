/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the text of a function in which events are replaced. The replacement of an event that has a place calls a
 * function that stores the place's values and runs the BPF programs. The file weave_fields.c writes the code of the
 * called functions.
 */
#include "weave.h"

#include <string.h>

#include "core/lower/ctx.h"
#include "weave_fields.h"

/* -- places of an event -- */

/*
 * Returns the first place of the event that runs its BPF programs at the time `when` (before or after the event), or
 * NULL.
 */
static const struct cl_place *first_place(const struct gpubpf_weave *w, uint32_t event, enum gpubpf_when when)
{
	uint32_t low = 0, high = w->nplaces;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (w->places[middle].event < event)
			low = middle + 1;
		else
			high = middle;
	}
	while (low < w->nplaces && w->places[low].event == event && when_of(&w->places[low]) != when)
		low++;
	return low < w->nplaces && w->places[low].event == event ? &w->places[low] : NULL;
}

static bool is_copied_call(const struct gpubpf_weave *w, const struct cl_event *e)
{
	return e->form == CLREAD_FUNCTION && (w->copied[e->function] || w->called[e->function].has_sites);
}

static bool is_woven(const struct gpubpf_weave *w, uint32_t event)
{
	return is_copied_call(w, event_of(w, event)) || first_place(w, event, GPUBPF_WHEN_BEFORE) ||
	       first_place(w, event, GPUBPF_WHEN_AFTER);
}

/* -- types -- */

static void put_aligned(const struct gpubpf_weave *w, uint32_t event, FILE *out)
{
	fprintf(out, "gpubpf_aligned_%u_%u_%u", w->twin, w->function, event);
}

/* Write the type of the variable that holds a part, followed by a blank. */
static void put_type(const struct gpubpf_weave *w, uint32_t event, uint32_t part, FILE *out)
{
	const struct cl_part *p = &event_of(w, event)->part[part];

	if (p->align)
		put_aligned(w, event, out);
	fprintf(out, "%s ", p->align ? p->type + strlen(p->pointed) : p->type);
}

static void put_typedef(const struct gpubpf_weave *w, uint32_t event, FILE *out)
{
	const struct cl_part *p = &event_of(w, event)->part[0];

	if (!p->align || !is_woven(w, event))
		return;
	fprintf(out, "typedef %s ", p->pointed);
	put_aligned(w, event, out);
	fprintf(out, " __attribute__((aligned(%u)));\n", p->align);
}

/* -- functions that store the context's words -- */

/*
 * Declare struct gpubpf_at and the macro GPUBPF_STATIC. The macro is "static", but empty for OpenCL C before 1.2, which
 * has no static functions (OpenCL C 1.1, 6.8 g).
 */
void gpubpf_weave_type(FILE *out)
{
	uint32_t words = 1;

	for (uint32_t i = 0; i < GPUBPF_NSITES; i++)
		words = ctx_words(i) > words ? ctx_words(i) : words;
	fprintf(out,
		"#ifndef GPUBPF_AT_DECLARED\n#define GPUBPF_AT_DECLARED\n"
		"#if __OPENCL_C_VERSION__ < 120\n#define GPUBPF_STATIC\n#else\n#define GPUBPF_STATIC static\n#endif\n"
		"struct gpubpf_at { struct gpubpf_env env; ulong word[%u]; };\n#endif\n",
		words);
}

static const char *name_of(enum gpubpf_when when)
{
	return when == GPUBPF_WHEN_BEFORE ? "by" : "on";
}

/* Is the event's value known at the time `when`? The value exists only after the event. */
static bool has_value(const struct cl_event *e, enum gpubpf_when when)
{
	return when == GPUBPF_WHEN_AFTER && e->type;
}

static void put_helper(const struct gpubpf_weave *w, uint32_t event, enum gpubpf_when when, FILE *out)
{
	const struct cl_place *place = first_place(w, event, when);
	const struct cl_event *e = event_of(w, event);

	if (!place)
		return;
	fprintf(out, "GPUBPF_STATIC void gpubpf_%s_%u_%u_%u(__private struct gpubpf_at *gpubpf_at", name_of(when),
		w->twin, w->function, event);
	for (uint32_t i = 0; i < e->nparts; i++)
		if (e->part[i].type) {
			fprintf(out, ", ");
			put_type(w, event, i, out);
			fprintf(out, "gpubpf_x%u", i);
		}
	if (has_value(e, when))
		fprintf(out, ", %s gpubpf_v", e->type);
	fprintf(out, ") {");
	for (; place < w->places + w->nplaces && place->event == event; place++)
		if (when_of(place) == when)
			gpubpf_weave_fields(w, place, out);
	fprintf(out, " }\n");
}

void gpubpf_weave_helpers(const struct gpubpf_weave *w, FILE *out)
{
	const struct gpubpf_cl_function *f = &w->unit->function[w->function];

	for (uint32_t i = 0; i < w->nplaces; i++)
		fprintf(out, "int gpubpf_site_%u(__private const struct gpubpf_env *);\n", w->places[i].site);
	for (uint32_t i = 0; i < f->nevents; i++) {
		put_typedef(w, i, out);
		put_helper(w, i, GPUBPF_WHEN_BEFORE, out);
		put_helper(w, i, GPUBPF_WHEN_AFTER, out);
	}
}

void gpubpf_weave_variables(const struct gpubpf_weave *w, FILE *out)
{
	const struct gpubpf_cl_function *f = &w->unit->function[w->function];

	for (uint32_t i = 0; i < f->nevents; i++) {
		const struct cl_event *e = &f->event[i];

		if (!is_woven(w, i))
			continue;
		for (uint32_t k = 0; k < e->nparts; k++)
			if (e->part[k].type) {
				put_type(w, i, k, out);
				fprintf(out, "gpubpf_x%u_%u;\n", i, k);
			}
		if (e->type)
			fprintf(out, "%s gpubpf_v%u;\n", e->type, i);
	}
}

/* -- text -- */

static void put_text(const struct gpubpf_weave *w, size_t from, size_t to, uint32_t next, FILE *out);

static void put_lines(const struct gpubpf_weave *w, size_t from, size_t to, FILE *out)
{
	for (; from < to; from++)
		if (w->source->text[from] == '\n')
			fputc('\n', out);
}

static void put_part(const struct gpubpf_weave *w, uint32_t event, uint32_t part, FILE *out)
{
	const struct cl_part *p = &event_of(w, event)->part[part];

	put_text(w, p->start, p->end, event + 1, out);
}

/*
 * Write the call "gpubpf_by_..(gpubpf_at, ..)" or "gpubpf_on_..(..)". Writes nothing if the event has no place at that
 * time.
 */
static void put_call(const struct gpubpf_weave *w, uint32_t event, enum gpubpf_when when, FILE *out)
{
	const struct cl_event *e = event_of(w, event);

	if (!first_place(w, event, when))
		return;
	fprintf(out, "gpubpf_%s_%u_%u_%u(gpubpf_at", name_of(when), w->twin, w->function, event);
	for (uint32_t i = 0; i < e->nparts; i++)
		if (e->part[i].type)
			fprintf(out, ", gpubpf_x%u_%u", event, i);
	if (has_value(e, when))
		fprintf(out, ", gpubpf_v%u", event);
	fprintf(out, ")");
}

static void put_before(const struct gpubpf_weave *w, uint32_t event, FILE *out)
{
	put_call(w, event, GPUBPF_WHEN_BEFORE, out);
	if (first_place(w, event, GPUBPF_WHEN_BEFORE))
		fprintf(out, ", ");
}

static void put_after(const struct gpubpf_weave *w, uint32_t event, FILE *out)
{
	if (first_place(w, event, GPUBPF_WHEN_AFTER))
		fprintf(out, ", ");
	put_call(w, event, GPUBPF_WHEN_AFTER, out);
}

/*
 * Write part 0 as an lvalue. BPF programs at a place before the access run after the lvalue's address has been
 * computed.
 */
static void put_lvalue(const struct gpubpf_weave *w, uint32_t event, FILE *out)
{
	fprintf(out, "(*(gpubpf_x%u_0 = &(", event);
	put_part(w, event, 0, out);
	fprintf(out, ")");
	if (first_place(w, event, GPUBPF_WHEN_BEFORE)) {
		fprintf(out, ", ");
		put_before(w, event, out);
		fprintf(out, "gpubpf_x%u_0", event);
	}
	fprintf(out, "))");
}

static void put_load(const struct gpubpf_weave *w, uint32_t event, FILE *out)
{
	fprintf(out, "(gpubpf_v%u = ", event);
	put_lvalue(w, event, out);
	put_after(w, event, out);
	fprintf(out, ", gpubpf_v%u)", event);
}

static void put_stored_address(const struct gpubpf_weave *w, uint32_t event, FILE *out)
{
	const struct cl_event *e = event_of(w, event);

	fprintf(out, "gpubpf_x%u_0 = &(", event);
	put_part(w, event, 0, out);
	put_lines(w, e->part[0].end, e->part[1].start, out);
	fprintf(out, "), ");
}

/*
 * Must an assignment be written in the order of its text? Yes if its value is evaluated first, but moving the value's
 * text to the front would change line numbers.
 */
static bool is_split(const struct gpubpf_weave *w, const struct cl_event *e)
{
	return e->value_first && memchr(w->source->text + e->part[0].start, '\n', e->part[1].start - e->part[0].start);
}

/*
 * Write an assignment in the order of its text. Compilers evaluate the right side first, so the variable already holds
 * the value when BPF programs before the access run.
 */
static void put_split(const struct gpubpf_weave *w, uint32_t event, FILE *out)
{
	const struct cl_event *e = event_of(w, event);

	fprintf(out, "(");
	put_lvalue(w, event, out);
	fputs(e->member, out);
	put_lines(w, e->part[0].end, e->part[1].start, out);
	fprintf(out, " = (gpubpf_x%u_1 = (", event);
	put_part(w, event, 1, out);
	fprintf(out, "))");
	put_after(w, event, out);
	fprintf(out, ", gpubpf_x%u_1)", event);
}

static void put_assign(const struct gpubpf_weave *w, uint32_t event, FILE *out)
{
	const struct cl_event *e = event_of(w, event);

	if (is_split(w, e)) {
		put_split(w, event, out);
		return;
	}
	fprintf(out, "(");
	if (!e->value_first)
		put_stored_address(w, event, out);
	fprintf(out, "gpubpf_x%u_1 = (", event);
	put_part(w, event, 1, out);
	fprintf(out, "), ");
	if (e->value_first)
		put_stored_address(w, event, out);
	put_before(w, event, out);
	fprintf(out, "(*gpubpf_x%u_0)%s = gpubpf_x%u_1", event, e->member, event);
	put_after(w, event, out);
	fprintf(out, ", gpubpf_x%u_1)", event);
}

static void put_update(const struct gpubpf_weave *w, uint32_t event, FILE *out)
{
	const struct cl_event *e = event_of(w, event);

	fprintf(out, "(");
	if (e->type)
		fprintf(out, "gpubpf_v%u = ", event);
	fprintf(out, "(");
	put_text(w, e->start, e->part[0].start, event + 1, out);
	put_lvalue(w, event, out);
	put_text(w, e->part[0].end, e->end, event + 1, out);
	fprintf(out, ")");
	put_after(w, event, out);
	if (e->type)
		fprintf(out, ", gpubpf_v%u", event);
	fprintf(out, ")");
}

static void put_arguments(const struct gpubpf_weave *w, uint32_t event, FILE *out)
{
	const struct cl_event *e = event_of(w, event);

	for (uint32_t i = 0; i < e->nparts; i++) {
		if (i)
			fprintf(out, ", ");
		if (e->part[i].type)
			fprintf(out, "gpubpf_x%u_%u", event, i);
		else
			put_part(w, event, i, out);
	}
}

static void put_builtin(const struct gpubpf_weave *w, uint32_t event, FILE *out)
{
	const struct cl_event *e = event_of(w, event);

	fprintf(out, "(");
	for (uint32_t i = 0; i < e->nparts; i++) {
		if (e->part[i].type) {
			fprintf(out, "gpubpf_x%u_%u = (", event, i);
			put_part(w, event, i, out);
			fprintf(out, "), ");
		}
		put_lines(w, e->part[i].end, i + 1 < e->nparts ? e->part[i + 1].start : e->end, out);
	}
	put_before(w, event, out);
	if (e->type)
		fprintf(out, "gpubpf_v%u = ", event);
	fwrite(w->source->text + e->start, 1, e->part[0].start - e->start, out);
	put_arguments(w, event, out);
	fprintf(out, ")");
	put_after(w, event, out);
	fprintf(out, e->type ? ", gpubpf_v%u)" : ")", event);
}

static void put_barrier(const struct gpubpf_weave *w, uint32_t event, FILE *out)
{
	const struct cl_event *e = event_of(w, event);

	fprintf(out, "(");
	put_before(w, event, out);
	put_text(w, e->start, e->end, event + 1, out);
	put_after(w, event, out);
	fprintf(out, ")");
}

static void put_condition(const struct gpubpf_weave *w, uint32_t event, FILE *out)
{
	bool is_switch = event_of(w, event)->form == CLREAD_SWITCH;

	fprintf(out, is_switch ? "(gpubpf_x%u_0 = (" : "(gpubpf_x%u_0 = ((", event);
	put_part(w, event, 0, out);
	fprintf(out, is_switch ? "), " : ") != 0), ");
	put_before(w, event, out);
	fprintf(out, "gpubpf_x%u_0)", event);
}

/* Write an expression for the mark. The semicolon after the macro's text completes it to a statement. */
static void put_mark(const struct gpubpf_weave *w, uint32_t event, FILE *out)
{
	const struct cl_event *e = event_of(w, event);

	put_lines(w, e->start, e->part[0].start, out);
	fprintf(out, "(gpubpf_x%u_0 = (ulong)(", event);
	put_part(w, event, 0, out);
	fprintf(out, "), ");
	put_before(w, event, out);
	fprintf(out, "(void)0)");
}

/*
 * Write the statement in braces after the call of the site, or in parentheses if code uses its value. A declaration
 * gets no braces, because they would end its scope; the call precedes it.
 */
static void put_line(const struct gpubpf_weave *w, uint32_t event, FILE *out)
{
	const struct cl_event *e = event_of(w, event);
	bool declaration = e->start == e->end;

	if (e->value_first) {
		fprintf(out, "(");
		put_before(w, event, out);
		put_text(w, e->start, e->end - 1, event + 1, out);
		fprintf(out, ");");
		return;
	}
	if (!declaration)
		fprintf(out, "{ ");
	put_call(w, event, GPUBPF_WHEN_BEFORE, out);
	fprintf(out, "; ");
	if (declaration)
		return;
	put_text(w, e->start, e->end, event + 1, out);
	fprintf(out, " }");
}

void gpubpf_weave_name(const struct gpubpf_weave *w, uint32_t function, FILE *out)
{
	fprintf(out, "gpubpf_call_%u_%u_%s", w->twin, function, w->unit->function[function].name);
}

void gpubpf_weave_copy_name(const struct gpubpf_weave *w, uint32_t function, FILE *out)
{
	if (w->called[function].has_sites)
		fprintf(out, "gpubpf_in_%u_%u_%s", w->twin, function, w->unit->function[function].name);
	else
		gpubpf_weave_name(w, function, out);
}

/* Is the argument list that begins at `from` empty? Then no comma follows the inserted first argument. */
static bool is_empty(const struct gpubpf_weave *w, size_t from)
{
	const char *at = w->source->text + from;

	at += strspn(at, " \t\r\n");
	return *at == ')';
}

static void put_function(const struct gpubpf_weave *w, uint32_t event, FILE *out)
{
	const struct cl_event *e = event_of(w, event);

	gpubpf_weave_name(w, e->function, out);
	put_lines(w, e->part[0].end, e->part[1].start, out);
	fprintf(out, is_empty(w, e->part[1].end) ? "(gpubpf_at" : "(gpubpf_at, ");
	put_text(w, e->part[1].end, e->end, event + 1, out);
}

static void put_event(const struct gpubpf_weave *w, uint32_t event, FILE *out)
{
	static void (*const put[])(const struct gpubpf_weave *w, uint32_t event, FILE *out) = {
		[CLREAD_LOAD] = put_load,        [CLREAD_ASSIGN] = put_assign,     [CLREAD_UPDATE] = put_update,
		[CLREAD_CALL] = put_builtin,     [CLREAD_BARRIER] = put_barrier,   [CLREAD_CONDITION] = put_condition,
		[CLREAD_SWITCH] = put_condition, [CLREAD_FUNCTION] = put_function, [CLREAD_MARK] = put_mark,
		[CLREAD_LINE] = put_line,
	};

	put[event_of(w, event)->form](w, event, out);
}

/*
 * Write the text from `from` to `to`, and replace the events in it. `next` is the index of the first event that begins
 * at or after `from`.
 */
static void put_text(const struct gpubpf_weave *w, size_t from, size_t to, uint32_t next, FILE *out)
{
	const struct gpubpf_cl_function *f = &w->unit->function[w->function];

	for (; next < f->nevents && f->event[next].start < to; next++) {
		const struct cl_event *e = &f->event[next];

		if (e->start < from || e->end > to || !is_woven(w, next))
			continue;
		fwrite(w->source->text + from, 1, e->start - from, out);
		put_event(w, next, out);
		from = e->end;
	}
	fwrite(w->source->text + from, 1, to - from, out);
}

void gpubpf_weave_body(const struct gpubpf_weave *w, FILE *out)
{
	const struct gpubpf_cl_function *f = &w->unit->function[w->function];

	put_text(w, f->body, f->end, 0, out);
}

static bool takes_nothing(const char *text, size_t from, size_t to)
{
	from += strspn(text + from, " \t\r\n");
	if (to - from >= 4 && !strncmp(text + from, "void", 4)) {
		from += 4;
		from += strspn(text + from, " \t\r\n");
	}
	return from >= to;
}

void gpubpf_weave_head(const struct gpubpf_weave *w, uint32_t function, FILE *out)
{
	const struct gpubpf_cl_function *f = &w->unit->function[function];
	const char *text = w->source->text;

	if (f->kernel)
		fprintf(out, "GPUBPF_STATIC void ");
	else
		fwrite(text + f->start, 1, f->name_at - f->start, out);
	gpubpf_weave_copy_name(w, function, out);
	fprintf(out, "(__private struct gpubpf_at *gpubpf_at");
	if (!takes_nothing(text, f->params, f->params_end)) {
		fprintf(out, ", ");
		fwrite(text + f->params, 1, f->params_end - f->params, out);
	}
	fprintf(out, ")");
}
