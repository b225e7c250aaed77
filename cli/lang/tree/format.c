/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the conversions of printf() formats. */
#include "cli/lang/lang.h"

#include <string.h>

static void read_length(const char **at, struct lang_conversion *c)
{
	size_t n = strspn(*at, "hlz");

	c->bits = n && (*at)[0] == 'h' ? (n > 1 && (*at)[1] == 'h' ? 8 : 16) : 64;
	*at += n;
}

const char *lang_conversion(const char *format, struct lang_conversion *c)
{
	const char *at = strchr(format, '%');

	*c = (struct lang_conversion){ .text = at };
	if (!at)
		return NULL;
	at++;
	at += strspn(at, "-+ #0123456789.");
	c->flags = (uint32_t)(at - c->text);
	read_length(&at, c);
	if (*at && strchr("%diuxXocpsfegr", *at))
		c->name = *at++;
	if (c->name == 'r' && (*at == 'x' || *at == 'h'))
		c->style = *at++;
	c->len = (uint32_t)(at - c->text);
	return at;
}
