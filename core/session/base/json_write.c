/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON in the format that all commands of gpubpf use, and escapes terminal control characters. */
#include "json_write.h"

#include <json-c/json.h>
#include <string.h>

#include "core/model/text/utf8.h"

/* Returns the number of leading bytes of text that are printable ASCII or newlines. These bytes need no escape. */
static size_t count_safe(const char *text)
{
	size_t n = 0;

	while ((text[n] >= ' ' && text[n] <= '~') || text[n] == '\n')
		n++;
	return n;
}

/*
 * Write the UTF-8 character at the start of text, escaped if it is a control character. An invalid byte is written as
 * \\xHH. Returns the number of bytes of text that were written.
 */
static size_t write_special(const char *text, size_t left, FILE *out)
{
	uint32_t code;
	int n = gpubpf_utf8_next(text, left, &code);

	if (n <= 0)
		fprintf(out, "\\\\x%02x", (unsigned char)text[0]);
	else if (gpubpf_utf8_controls(code))
		fprintf(out, "\\u%04x", code);
	else
		fwrite(text, 1, n, out);
	return n > 0 ? n : 1;
}

/*
 * Write root as JSON, and release it. Invalid UTF-8 and terminal control characters occur only inside JSON strings. So
 * the escapes of write_special() keep the JSON valid.
 */
static void write_json(struct json_object *root, int flags, FILE *out)
{
	const char *text = json_object_to_json_string_ext(root, flags | JSON_C_TO_STRING_NOSLASHESCAPE);
	size_t left = strlen(text), n;

	for (; left; text += n, left -= n) {
		n = count_safe(text);
		if (n)
			fwrite(text, 1, n, out);
		else
			n = write_special(text, left, out);
	}
	fputc('\n', out);
	json_object_put(root);
}

void gpubpf_json_write(struct json_object *root, FILE *out)
{
	write_json(root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED, out);
}

void gpubpf_json_line(struct json_object *root, FILE *out)
{
	write_json(root, JSON_C_TO_STRING_PLAIN, out);
}
