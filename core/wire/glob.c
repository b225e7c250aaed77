/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matches glob patterns like fnmatch(3) without flags, byte by byte (POSIX.1-2024 XCU 2.14.1 and 2.14.2 in the POSIX
 * locale). The C library's fnmatch() uses 2 to 23 KiB of stack. That is too much in hooked calls, which run on the
 * application's stack.
 */
#include "match.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static const struct {
	const char *name;
	int (*has)(int c);
} classes[] = {
	{ "alnum", isalnum }, { "alpha", isalpha }, { "blank", isblank }, { "cntrl", iscntrl },
	{ "digit", isdigit }, { "graph", isgraph }, { "lower", islower }, { "print", isprint },
	{ "punct", ispunct }, { "space", isspace }, { "upper", isupper }, { "xdigit", isxdigit },
};

/*
 * Is c in the character class whose name begins at `at`, after "[:"? Sets *end to the position after ":]", or to NULL
 * if there is no such class.
 */
static bool in_class(const char *at, unsigned char c, const char **end)
{
	const char *close = strstr(at, ":]");

	*end = NULL;
	for (size_t i = 0; close && i < sizeof(classes) / sizeof(classes[0]); i++)
		if (strlen(classes[i].name) == (size_t)(close - at) && !memcmp(classes[i].name, at, close - at)) {
			*end = close + 2;
			return c < 0x80 && classes[i].has(c);
		}
	return false;
}

/*
 * Parses one character of a bracket expression: plain, escaped, or written as [.c.] or [=c=]. Returns the position
 * after the character, or NULL if the pattern ends before it.
 */
static const char *read_bracket_char(const char *at, unsigned char *c)
{
	if (at[0] == '[' && (at[1] == '.' || at[1] == '=') && at[2] && at[3] == at[1] && at[4] == ']') {
		*c = at[2];
		return at + 5;
	}
	at += *at == '\\';
	*c = *at;
	return *at ? at + 1 : NULL;
}

/*
 * Does the bracket expression match c? `at` is the position after '['. Sets *end to the position after ']'. If there is
 * no ']', *end is NULL, and the '[' is an ordinary character.
 */
static bool in_bracket(const char *at, unsigned char c, const char **end)
{
	bool not = *at == '!' || *at == '^', found = false;
	const char *first = at += not, *next;
	unsigned char low, high;

	*end = NULL;
	while (at && (at == first || *at != ']')) {
		if (at[0] == '[' && at[1] == ':') {
			found |= in_class(at + 2, c, &next);
			if (next) {
				at = next;
				continue;
			}
		}
		at = read_bracket_char(at, &low);
		high = low;
		if (at && at[0] == '-' && at[1] && at[1] != ']')
			at = read_bracket_char(at + 1, &high);
		found |= low <= c && c <= high;
	}
	*end = at ? at + 1 : NULL;
	return found != not;
}

/*
 * Does the first element of the pattern (a character, '?' or bracket expression, but not '*') match c? Sets *next to
 * the position after this element.
 */
static bool piece_matches(const char *pattern, unsigned char c, const char **next)
{
	const char *end;
	bool has;

	if (*pattern == '[') {
		has = in_bracket(pattern + 1, c, &end);
		if (end) {
			*next = end;
			return has;
		}
	}
	*next = pattern + 1;
	if (*pattern == '?')
		return true;
	if (*pattern != '\\')
		return (unsigned char)*pattern == c;
	*next += pattern[1] != 0;
	return pattern[1] && (unsigned char)pattern[1] == c; /* a '\' at the end of the pattern matches nothing */
}

/*
 * After a '*', the shortest text is tried first. When the elements after it match up to the next '*', the search never
 * returns to the earlier '*'.
 */
bool gpubpf_glob_matches(const char *pattern, const char *text)
{
	const char *star = NULL, *from = NULL, *next;

	while (*text) {
		if (*pattern == '*') {
			star = ++pattern;
			from = text;
		} else if (*pattern && piece_matches(pattern, *text, &next)) {
			pattern = next;
			text++;
		} else if (star) {
			pattern = star;
			text = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}
