/* SPDX-License-Identifier: Apache-2.0 */
#include "scope.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t ptx_next_name(const struct ptx_module *m, uint32_t node, uint32_t token)
{
	uint32_t depth = 0;

	if (m->nodes[node].kind != PTX_VARIABLE)
		return PTX_NONE;
	for (uint32_t t = token + 1; t + 1 < m->nodes[node].end; t++) {
		if (ptx_token_is(m, t, "{") || ptx_token_is(m, t, "[") || ptx_token_is(m, t, "("))
			depth++;
		else if (ptx_token_is(m, t, "}") || ptx_token_is(m, t, "]") || ptx_token_is(m, t, ")"))
			depth--;
		else if (!depth && ptx_token_is(m, t, ",") && m->tokens[t + 1].kind == PTX_WORD)
			return t + 1;
	}
	return PTX_NONE;
}

/* Returns the number in a token's text, or 0 if the text is no number. */
static uint32_t parse_number(const char *text, uint32_t len)
{
	char buf[12] = "";

	if (len && len < sizeof(buf))
		memcpy(buf, text, len);
	return strtoul(buf, NULL, 10);
}

uint32_t ptx_name_range(const struct ptx_module *m, uint32_t token)
{
	if (token + 2 >= m->ntokens || !ptx_token_is(m, token + 1, "<") || m->tokens[token + 2].kind != PTX_NUMBER)
		return 0;
	return parse_number(ptx_token_text(m, token + 2), m->tokens[token + 2].len);
}

bool ptx_name_covers(const struct ptx_module *m, uint32_t declared, uint32_t token)
{
	const char *a = ptx_token_text(m, declared), *b = ptx_token_text(m, token);
	uint32_t na = m->tokens[declared].len, nb = m->tokens[token].len, range = ptx_name_range(m, declared);

	if (!range)
		return na == nb && !memcmp(a, b, na);
	return nb > na && !memcmp(a, b, na) && isdigit((unsigned char)b[na]) && parse_number(b + na, nb - na) < range;
}

static bool declares(const struct ptx_module *m, uint32_t node, uint32_t token)
{
	for (uint32_t t = m->nodes[node].name; t != PTX_NONE; t = ptx_next_name(m, node, t))
		if (ptx_name_covers(m, t, token))
			return true;
	return false;
}

uint32_t ptx_declaration(const struct ptx_module *m, uint32_t node, uint32_t token)
{
	for (uint32_t scope = m->nodes[node].parent; scope; scope = m->nodes[scope].parent)
		for (uint32_t c = m->nodes[scope].child; c != PTX_NONE; c = m->nodes[c].next) {
			uint8_t kind = m->nodes[c].kind;
			bool before = c < node;

			if ((kind == PTX_LABEL || (before && (kind == PTX_VARIABLE || kind == PTX_PARAM))) &&
			    declares(m, c, token))
				return c;
		}
	return PTX_NONE;
}

/* Returns the hash slot of a name (FNV-1a). The module must have labels. */
static uint32_t *find_label_slot(const struct ptx_module *m, uint32_t token)
{
	const char *name = ptx_token_text(m, token);
	uint32_t hash = 2166136261u;

	for (uint32_t i = 0; i < m->tokens[token].len; i++)
		hash = (hash ^ (uint8_t)name[i]) * 16777619u;
	return &m->labels[hash & (m->nslots - 1)];
}

int ptx_index_labels(struct ptx_module *m)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->nnodes; i++)
		n += m->nodes[i].kind == PTX_LABEL;
	if (!n)
		return 0;
	for (m->nslots = 1; m->nslots < n; m->nslots *= 2)
		;
	m->labels = malloc(m->nslots * sizeof(*m->labels));
	if (!m->labels)
		return -ENOMEM;
	memset(m->labels, 0xff, m->nslots * sizeof(*m->labels));
	for (uint32_t i = m->nnodes; i-- > 0;) { /* backwards, so that each slot lists its labels in order */
		uint32_t *slot = m->nodes[i].kind == PTX_LABEL ? find_label_slot(m, m->nodes[i].name) : NULL;

		if (!slot)
			continue;
		m->nodes[i].in_slot = *slot;
		*slot = i;
	}
	return 0;
}

uint32_t ptx_find_label(const struct ptx_module *m, uint32_t node, uint32_t token)
{
	uint32_t first = m->nslots ? *find_label_slot(m, token) : PTX_NONE;

	for (uint32_t scope = m->nodes[node].parent; scope && first != PTX_NONE; scope = m->nodes[scope].parent)
		for (uint32_t c = first; c != PTX_NONE; c = m->nodes[c].in_slot)
			if (m->nodes[c].parent == scope && ptx_name_covers(m, m->nodes[c].name, token))
				return c;
	return PTX_NONE;
}
