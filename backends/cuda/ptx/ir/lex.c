/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: splits PTX text into tokens (PTX ISA 4.2 comments, 4.4 identifiers, 4.5 constants).
 * Before: text, which is not trusted.
 * After: an array of tokens; the last one is PTX_END.
 * Requires: fewer than PTX_TEXT_MAX bytes of text.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "lex.h"

struct lexer {
	const char *text;
	size_t size, at;
	uint32_t line;
	struct gpubpf_diag *diag;
	struct ptx_token *tokens;
	uint32_t n, room;
};

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static char peek(const struct lexer *l, size_t ahead)
{
	return l->size - l->at > ahead ? l->text[l->at + ahead] : 0;
}

static int lex_error(struct lexer *l, const char *what)
{
	return gpubpf_diag_set(l->diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "PTX line %u: %s", l->line, what);
}

/* Skips blanks, comments, and # lines that a preprocessor wrote. */
static int skip_blank(struct lexer *l)
{
	while (l->at < l->size) {
		char c = l->text[l->at];
		bool line_start = !l->at || l->text[l->at - 1] == '\n';

		if (c == '\n') {
			l->line++;
			l->at++;
		} else if (isspace((unsigned char)c) || !c) {
			l->at++;
		} else if ((c == '/' && peek(l, 1) == '/') || (c == '#' && line_start)) {
			while (l->at < l->size && l->text[l->at] != '\n')
				l->at++;
		} else if (c == '/' && peek(l, 1) == '*') {
			for (l->at += 2; !(peek(l, 0) == '*' && peek(l, 1) == '/'); l->at++) {
				if (l->at >= l->size)
					return lex_error(l, "a comment does not end");
				l->line += l->text[l->at] == '\n';
			}
			l->at += 2;
		} else {
			break;
		}
	}
	return 0;
}

static void skip_word(struct lexer *l)
{
	while (is_word_char(peek(l, 0)))
		l->at++;
}

/* A modifier may have parts: .shared::cluster, .mbarrier::complete_tx::bytes */
static void skip_modifier(struct lexer *l)
{
	skip_word(l);
	while (peek(l, 0) == ':' && peek(l, 1) == ':' && is_word_char(peek(l, 2))) {
		l->at += 2;
		skip_word(l);
	}
}

/*
 * Skips a number: an integer of any base with or without U, a bit pattern with 0f or 0d, or a decimal float. A float
 * may have an exponent.
 */
static void skip_number(struct lexer *l)
{
	skip_word(l);
	if (peek(l, 0) == '.' && isdigit((unsigned char)peek(l, 1))) {
		l->at++;
		skip_word(l);
	}
	if ((peek(l, 0) == '-' || peek(l, 0) == '+') && tolower((unsigned char)l->text[l->at - 1]) == 'e' &&
	    isdigit((unsigned char)peek(l, 1)) && memchr(l->text + l->tokens[l->n].off, '.', l->at - l->tokens[l->n].off))
		for (l->at++; isdigit((unsigned char)peek(l, 0));)
			l->at++;
}

static int skip_string(struct lexer *l)
{
	for (l->at++; peek(l, 0) != '"'; l->at++) {
		if (l->at >= l->size || peek(l, 0) == '\n')
			return lex_error(l, "a string does not end");
		if (peek(l, 0) == '\\' && l->at + 1 < l->size)
			l->at++;
	}
	l->at++;
	return 0;
}

static int lex_token(struct lexer *l)
{
	struct ptx_token *token = &l->tokens[l->n];
	char c = peek(l, 0), c1 = peek(l, 1);
	int err = 0;

	token->off = l->at;
	token->line = l->line;
	if (c == '.' && is_word_char(c1)) {
		token->kind = PTX_DOT;
		l->at++;
		skip_modifier(l);
	} else if (isdigit((unsigned char)c)) {
		token->kind = PTX_NUMBER;
		skip_number(l);
	} else if (is_word_char(c) || (c == '%' && is_word_char(c1))) {
		token->kind = PTX_WORD;
		l->at++;
		skip_word(l);
	} else if (c == '"') {
		token->kind = PTX_STRING;
		err = skip_string(l);
	} else if (isgraph((unsigned char)c)) {
		token->kind = PTX_PUNCT;
		l->at++;
	} else {
		err = lex_error(l, "a byte that is not printable ASCII");
	}
	token->len = l->at - token->off;
	return err;
}

static int make_room(struct lexer *l)
{
	struct ptx_token *grown;

	if (l->n < l->room)
		return 0;
	l->room = l->room ? l->room * 2 : 1024;
	grown = realloc(l->tokens, l->room * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	l->tokens = grown;
	return 0;
}

int ptx_lex(const char *text, size_t size, struct ptx_token **tokens, uint32_t *ntokens, struct gpubpf_diag *diag)
{
	struct lexer l = { .text = text, .size = size, .line = 1, .diag = diag };
	int err = 0;

	if (size >= PTX_TEXT_MAX)
		return lex_error(&l, "the text is too long");
	for (;;) {
		err = make_room(&l);
		if (!err)
			err = skip_blank(&l);
		if (err || l.at >= l.size)
			break;
		err = lex_token(&l);
		if (err)
			break;
		l.n++;
	}
	if (err < 0) {
		free(l.tokens);
		return err;
	}
	l.tokens[l.n] = (struct ptx_token){ .off = size, .line = l.line, .kind = PTX_END };
	*tokens = l.tokens;
	*ntokens = l.n + 1;
	return 0;
}
