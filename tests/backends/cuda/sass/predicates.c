/* SPDX-License-Identifier: Apache-2.0 */
/*
 * predicates: compares the predicates of isa.def with nvdisasm's text of an instruction of each form (samples.def):
 * - The text names exactly the predicates that the table lists as read and written.
 * - An nvdisasm (GPUBPF_TEST_NVDISASM) prints that text. If a field is set to another number, nvdisasm prints another
 * predicate exactly if the table lists the field as a predicate.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/cuda/sass/isa/form.h"
#include "tests/backends/cuda/case.h"
#include "tests/backends/cuda/sass/isa/insn.h"
#include "tests/tap.h"

static const struct sample {
	uint32_t sm;
	struct sass_word word;
	const char *text;
} samples[] = {
#define SASS_SAMPLE(sm, lo, hi, text) { sm, { lo, hi }, text },
#include "samples.def"
};

#define SAMPLES (sizeof(samples) / sizeof(*samples))

/* -- comparison with the texts of samples.def -- */

/* Returns the next predicate in the text as a bit of form.h's sets, or 0 at the end. */
static unsigned next_named(const char **text, bool *read)
{
	for (const char *at = *text; *at; at++) {
		const char *p = *at == 'U' ? at + 1 : at;
		bool begins = at == *text || strchr("@! ", at[-1]);

		if (!begins || *p != 'P' || isalnum(p[1]) == 0 || isalnum(p[2]) || !strchr("0123456T", p[1]))
			continue;
		*read = at > *text && strchr("@!", at[-1]);
		*text = p + 2;
		return p[1] == 'T' ? 0 : 1u << (p[1] - '0' + (p == at ? 0 : SASS_WARPS));
	}
	*text += strlen(*text);
	return 0;
}

/*
 * If the instruction has the operand PR, adds the predicates that the mask at the end of the text lists. They are
 * written if PR is the first operand, otherwise read.
 */
static void add_mask(const char *text, unsigned named[2])
{
	const char *all = strstr(text, " PR,"), *mask = strrchr(text, 'x');

	if (all && mask)
		named[all[-1] == ','] |= strtoul(mask + 1, NULL, 16);
}

static void compare_named(const struct sample *s)
{
	unsigned named[2] = { 0, 0 };
	const char *at = s->text;

	add_mask(at, named);
	while (*at) {
		bool read = false;
		unsigned p = next_named(&at, &read);

		named[read] |= p;
	}
	ok(named[1] == sass_predicates_read(sass_decode(s->word)) &&
		   named[0] == sass_predicates_written(sass_decode(s->word)),
	   "0x%03x reads %x and writes %x: %s", sass_opcode(sass_decode(s->word)),
	   sass_predicates_read(sass_decode(s->word)), sass_predicates_written(sass_decode(s->word)), s->text);
}

static void look_for_missing(void)
{
	for (uint32_t opcode = 0; opcode < 0x1000; opcode++) {
		size_t i = 0;

		while (i < SAMPLES && sass_opcode(sass_decode(samples[i].word)) != opcode)
			i++;
		if (sass_form_find(opcode))
			ok(i < SAMPLES, "0x%03x has a sample", opcode);
	}
}

/* -- with nvdisasm -- */

#define VALUES 2
#define WORDS_EACH (1 + VALUES * SASS_PREDICATE_FIELDS)
#define WORDS (SAMPLES * WORDS_EACH)
static const uint8_t values[VALUES] = { 3, 5 };

static struct word {
	struct sass_insn insn;
	char text[120];
	bool none;                 /* not an instruction */
} words[WORDS];

/* Returns the word of the sample with this value in this field; for a field beyond the last one, the unchanged word. */
static struct word *word_of(size_t sample, unsigned field, unsigned value)
{
	return &words[sample * WORDS_EACH + (field < SASS_PREDICATE_FIELDS ? 1 + field * VALUES + value : 0)];
}

/* Returns nvdisasm's output for the words. It ends at the first invalid word. */
static char *print_words(const struct sample *s, struct word *const *list, size_t n)
{
	char path[] = "/tmp/gpubpf-sass-XXXXXX", command[512];
	int fd = mkstemp(path);
	char *text;
	size_t size;

	if (fd < 0)
		abort();
	for (size_t i = 0; i < n; i++) {
		const struct sass_word word = sass_encode(list[i]->insn);

		if (write(fd, &word, SASS_INSN) != SASS_INSN)
			abort();
	}
	close(fd);
	snprintf(command, sizeof(command), "'%s' -b SM%u %s 2>&1 || true", getenv("GPUBPF_TEST_NVDISASM"), s->sm, path);
	text = read_command(command, &size);
	unlink(path);
	return text;
}

/* Stores the text of an instruction. Each number becomes 0x, because some numbers are addresses. */
static void store_text(struct word *w, const char *from, size_t n)
{
	size_t to = 0;

	while (n && from[n - 1] == ' ')
		n--;
	for (size_t i = 0; i < n && to + 1 < sizeof(w->text);) {
		w->text[to++] = from[i++];
		if (w->text[to - 1] == 'x' && to > 1 && w->text[to - 2] == '0')
			i += strspn(from + i, "0123456789abcdef");
	}
	w->text[to] = 0;
}

/*
 * nvdisasm stops at an invalid instruction. Replaces that instruction by a NOP and repeats until nvdisasm prints all
 * words.
 */
static void print_all(const struct sample *s, struct word *const *list, size_t n)
{
	bool stopped = true;

	while (stopped) {
		char *text = print_words(s, list, n), *at = text ? strstr(text, "at address 0x") : NULL;
		size_t i = at ? strtoul(at + strlen("at address "), NULL, 16) / SASS_INSN : n;

		stopped = i < n;
		if (stopped)
			*list[i] = (struct word){ .insn = sass_nop(0, 0), .none = true };
		for (at = text; at && !stopped && (at = strstr(at, "/*")); at += 2) {
			char *end = strchr(at, ';');

			i = strtoul(at + 2, NULL, 16) / SASS_INSN;
			at = strstr(at, "*/") + 2;
			at += strspn(at, " ");
			if (i < n && end && !list[i]->none)
				store_text(list[i], at, strcspn(at, ";"));
		}
		free(text);
	}
}

static void print_samples(uint32_t sm)
{
	struct word *list[WORDS];
	const struct sample *s = NULL;
	size_t n = 0;

	for (size_t i = 0; i < SAMPLES; i++) {
		if (samples[i].sm != sm)
			continue;
		s = &samples[i];
		list[n] = word_of(i, SASS_PREDICATE_FIELDS, 0);
		list[n++]->insn = sass_with_control(sass_decode(s->word), 0, 0);
		for (unsigned f = 0; f < SASS_PREDICATE_FIELDS; f++)
			for (unsigned v = 0; v < VALUES; v++) {
				list[n] = word_of(i, f, v);
				list[n++]->insn = sass_with_control(sass_with_field(sass_decode(s->word),
										    sass_predicate_at[f], 3, values[v]),
								    0, 0);
			}
	}
	if (n)
		print_all(s, list, n);
}

/* Do both texts have the same operation with the same modifiers? */
static bool is_same_kind(const char *a, const char *b)
{
	a += *a == '@' ? strcspn(a, " ") + 1 : 0;
	b += *b == '@' ? strcspn(b, " ") + 1 : 0;
	return strcspn(a, " ") == strcspn(b, " ") && !memcmp(a, b, strcspn(a, " "));
}

/*
 * Compares the predicates of the two texts in order, and returns how many differ. Stores the differing predicates of
 * the first text in named[0], and the ones of the second text in named[1].
 */
static unsigned differ(const char *a, const char *b, unsigned named[VALUES])
{
	unsigned n = 0;
	bool read;

	named[0] = named[1] = 0;
	while (*a || *b) {
		unsigned pa = next_named(&a, &read), pb = next_named(&b, &read);

		if (pa == pb)
			continue;
		n++;
		named[0] |= pa;
		named[1] |= pb;
	}
	return n;
}

static void compare_fields(size_t i)
{
	const struct sass_form *form = sass_form_find(sass_opcode(sass_decode(samples[i].word)));

	for (unsigned f = 0; form && f < SASS_PREDICATE_FIELDS; f++) {
		const struct word *a = word_of(i, f, 0), *b = word_of(i, f, 1);
		unsigned n, named[VALUES], expected[VALUES] = { 0, 0 };
		bool names = f != SASS_P_MASK && form->predicates[f] != '-', same;

		if (!names && (a->none || b->none || !is_same_kind(a->text, b->text)))
			continue;
		for (unsigned v = 0; names && v < VALUES; v++)
			expected[v] =
				1u << ((form->predicates[f] == 'i' ? SASS_PT - values[v] : values[v]) +
				       (sass_predicate_is_uniform(form, sass_decode(samples[i].word), f) ? SASS_WARPS : 0));
		n = differ(a->text, b->text, named);
		same = n == names && named[0] == expected[0] && named[1] == expected[1];
		if (!same || names)
			ok(same, "0x%03x: another number at %u: %s, %s", form->opcode, sass_predicate_at[f], a->text, b->text);
	}
}

static void compare_printed(void)
{
	for (uint32_t sm = 0; sm < 256; sm++)
		print_samples(sm);
	for (size_t i = 0; i < SAMPLES; i++) {
		struct word text;

		store_text(&text, samples[i].text, strlen(samples[i].text));
		ok(!strcmp(word_of(i, SASS_PREDICATE_FIELDS, 0)->text, text.text), "sm_%u prints %s", samples[i].sm, samples[i].text);
		compare_fields(i);
	}
}

int main(void)
{
	look_for_missing();
	for (size_t i = 0; i < SAMPLES; i++)
		compare_named(&samples[i]);
	if (getenv("GPUBPF_TEST_NVDISASM"))
		compare_printed();
	else
		skip("fields", "no nvdisasm here; GPUBPF_TEST_NVDISASM names one");
	return done();
}
