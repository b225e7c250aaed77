/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares gpubpf's glob matcher with fnmatch(3) in the POSIX locale, for fixed cases and for patterns of random parts.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/match.h"
#include "tests/tap.h"

#define ROUNDS 300000

static const char *const pieces[] = {
	"*", "?", "a", "b", "_", "\\*", "\\a", "[ab]", "[!a]", "[^ab]", "[a-c]", "[]a]", "[a-]", "[[:alpha:]]", "[[:digit:]_]", "[!]-]",
	"[\\]]", "[[.a.]]", "[[=b=]]", "-", "]",
};
static const char letters[] = "abc_-]*1";

static unsigned differing(char *pattern, char *name)
{
	return gpubpf_glob_matches(pattern, name) != !fnmatch(pattern, name, 0);
}

static void random_cases(void)
{
	unsigned differ = 0, match = 0;
	char pattern[64], name[8];

	srand(1);
	for (int i = 0; i < ROUNDS; i++) {
		int n = rand() % 5, length = rand() % 6;

		pattern[0] = 0;
		for (int k = 0; k < n; k++)
			strcat(pattern, pieces[rand() % (sizeof(pieces) / sizeof(*pieces))]);
		for (int k = 0; k < length; k++)
			name[k] = letters[rand() % (sizeof(letters) - 1)];
		name[length] = 0;
		match += gpubpf_glob_matches(pattern, name);
		if (differing(pattern, name) && !differ++)
			note("pattern '%s', name '%s'", pattern, name);
	}
	ok(!differ && match > ROUNDS / 100, "%d random patterns match as with fnmatch(), %u of them do", ROUNDS, match);
}

static void fixed_cases(void)
{
	static char *const cases[][2] = {
		{ "", "" }, { "*", "" }, { "a*b*c", "aXbYbZc" }, { "a*b*c", "aXbYb" }, { "**", "abc" }, { "[a", "[a" }, { "a\\", "a\\" },
		{ "\\", "\\" }, { "gemm_[0-9]*", "gemm_128x64" }, { "?", "\xff" }, { "[a-\xff]", "\xc3" }, { "[!a-z]", "\xc3" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		ok(!differing(cases[i][0], cases[i][1]), "'%s' and '%s' as with fnmatch()", cases[i][0], cases[i][1]);
}

/* Matching a pattern with many stars takes at most as many steps as the product of both lengths. */
static void hostile(void)
{
	char pattern[241], name[4001];

	for (int i = 0; i < 240; i += 2)
		memcpy(pattern + i, "*a", 2);
	pattern[239] = 'b';
	pattern[240] = 0;
	memset(name, 'a', 4000);
	name[4000] = 0;
	ok(!gpubpf_glob_matches(pattern, name), "120 stars in a name of 4000 characters");
}

int main(void)
{
	fixed_cases();
	random_cases();
	hostile();
	return done();
}
