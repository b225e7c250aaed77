/* SPDX-License-Identifier: Apache-2.0 */
/* Executes actions, for records of GPU kernels and for blocks on the host: printf(), print(), time(), exit() and more. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gpubpf/ctx.h"
#include "host.h"

/* an argument of printf(): a number, or the bytes of a string, a tuple or a buffer */
struct argument {
	struct lang_type type;
	uint64_t value;
	const char *text;
	uint8_t bytes[LANG_STRING_SIZE];
};

/*
 * Read the value of an argument. If *data is not NULL, it is read from the record at *data, and *data is advanced.
 * Otherwise the expression is evaluated.
 */
static void read_argument(struct lang_host *h, const struct lang_node *n, const struct lang_probe *probe,
			  const uint8_t **data, struct argument *a)
{
	uint32_t size = lang_size(n->type);

	*a = (struct argument){ .type = n->type, .text = (const char *)a->bytes };
	if (n->type.base == LANG_TEXT && *data) {
		a->text = n->kind == LANG_N_STRING ? n->text : lang_word_text(n, probe);
		return;
	}
	if (n->type.base == LANG_TEXT || n->type.base == LANG_NAME) {
		if (!*data)
			a->text = lang_text(h, n, (char *)a->bytes);
	} else if (!*data) {
		lang_put(h, n, a->bytes);
	}
	if (*data) {
		memcpy(a->bytes, *data, size);
		*data += size;
	}
	if (!lang_is_in_memory(n->type))
		memcpy(&a->value, a->bytes, sizeof(a->value));
}

/* -- printf -- */

static void print_integer(FILE *out, const char *format, const struct lang_conversion *c, uint64_t v)
{
	bool is_signed = c->name == 'd' || c->name == 'i';

	fprintf(out, format, (long long)lang_narrow(v, c->bits, is_signed));
}

static void print_float(FILE *out, const char *format, uint64_t v)
{
	union {
		uint32_t bits;
		float value;
	} f = { (uint32_t)v };
	union {
		uint64_t bits;
		double value;
	} d = { v };

	fprintf(out, format, v >> 32 ? d.value : (double)f.value);
}

static void print_text(struct lang_host *h, const char *format, const struct argument *a)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f;

	if (a->type.base == LANG_NAME || a->type.base == LANG_TEXT) {
		fprintf(h->out, format, a->text);
		return;
	}
	f = open_memstream(&text, &size);
	if (!f)
		return;
	lang_show_inline(h, a->type, a->bytes, f);
	fclose(f);
	fprintf(h->out, format, text);
	free(text);
}

static void print_one(struct lang_host *h, const struct lang_conversion *c, const struct argument *a)
{
	const char *length = strchr("diuxXo", c->name) ? "ll" : "";
	char format[48];

	snprintf(format, sizeof(format), "%.*s%s%c", (int)(c->flags < 20 ? c->flags : 20), c->text, length, c->name);
	if (c->name == 's')
		print_text(h, format, a);
	else if (c->name == 'r')
		lang_show_buffer(a->bytes, a->type.bytes, c->style, h->out);
	else if (c->name == 'p')
		fprintf(h->out, "0x%" PRIx64, a->value);
	else if (c->name == 'c')
		fprintf(h->out, format, (int)(a->value & 0xff));
	else if (strchr("feg", c->name))
		print_float(h->out, format, a->value);
	else
		print_integer(h->out, format, c, a->value);
}

static void print_format(struct lang_host *h, const struct lang_node *call, const struct lang_probe *probe,
			 const uint8_t *data)
{
	const struct lang_node *arg = call->list->next;
	const char *at = call->list->text, *next;
	struct lang_conversion c;
	struct argument a;

	for (; (next = lang_conversion(at, &c)); at = next) {
		fwrite(at, 1, c.text - at, h->out);
		if (c.name == '%' || !arg) {
			fputc('%', h->out);
			continue;
		}
		read_argument(h, arg, probe, &data, &a);
		print_one(h, &c, &a);
		arg = arg->next;
	}
	fputs(at, h->out);
}

/* Print a warning or an error: the position of the call, and the text. */
static void print_message(struct lang_host *h, const struct lang_node *call, const struct lang_probe *probe,
			  const uint8_t *data, const char *kind)
{
	uint32_t line, column;

	lang_line_column(h->l, call->pos, &line, &column);
	fprintf(h->out, "%s:%u:%u: %s: ", lang_source_name(h->l, call->pos), line, column, kind);
	print_format(h, call, probe, data);
	fputc('\n', h->out);
}

/* Print the file whose name the format makes. A pipe or a device must not delay the tool. */
static void print_file(struct lang_host *h, const struct lang_node *call, const struct lang_probe *probe,
		       const uint8_t *data)
{
	FILE *out = h->out;
	char *name = NULL, bytes[65536];
	size_t size = 0;
	ssize_t n;
	int fd;

	h->out = open_memstream(&name, &size);
	if (h->out) {
		print_format(h, call, probe, data);
		fclose(h->out);
	}
	h->out = out;
	fd = name ? open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	n = fd >= 0 ? read(fd, bytes, sizeof(bytes)) : -1;
	if (n > 0)
		fwrite(bytes, 1, (size_t)n, out);
	else if (n < 0)
		fprintf(out, "cat: %s: %s\n", name ? name : "", strerror(errno));
	if (fd >= 0)
		close(fd);
	free(name);
}

static void fail_assertion(struct lang_host *h, const struct lang_node *call)
{
	uint32_t line, column;

	lang_line_column(h->l, call->pos, &line, &column);
	fprintf(h->out, "%s:%u:%u: ERROR: %s\n", lang_source_name(h->l, call->pos), line, column, call->list->next->text);
	h->exit = h->left = true;
	h->status = 1;
}

/* Print the strings of a record of join(). No field of the record is trusted. */
static void print_joined(struct lang_host *h, const struct lang_node *call, const uint8_t *data)
{
	const char *between = call->list->next ? call->list->next->text : " ";
	uint64_t n;

	if (!data)
		return;
	memcpy(&n, data, sizeof(n));
	for (uint64_t i = 0; i < n && i < LANG_JOINED; i++)
		fprintf(h->out, "%s%.*s", i ? between : "", GPUBPF_CTX_NAME, (const char *)data + 8 + i * GPUBPF_CTX_NAME);
	fputc('\n', h->out);
}

/* -- print, time, exit -- */

static void print(struct lang_host *h, const struct lang_node *call, const struct lang_probe *probe, const uint8_t *data)
{
	const struct lang_node *first = call->list, *top = first->next;
	struct argument a;

	if (first->kind == LANG_N_MAP && !first->list) {
		lang_show_map(h, first->map, top ? top->value : 0, top && top->next ? top->next->value : 1, h->out);
		return;
	}
	read_argument(h, first, probe, &data, &a);
	if (a.type.base == LANG_TEXT || a.type.base == LANG_NAME)
		fputs(a.text, h->out);
	else
		lang_show_inline(h, a.type, a.bytes, h->out);
	fputc('\n', h->out);
}

static void print_time(struct lang_host *h, const struct lang_node *call)
{
	time_t now = time(NULL);
	char text[256];
	struct tm tm;

	localtime_r(&now, &tm);
	if (strftime(text, sizeof(text), call->list ? call->list->text : "%H:%M:%S\n", &tm))
		fprintf(h->out, "%s", text);
}

void lang_act(struct lang_host *h, const struct lang_node *call, const struct lang_probe *probe, const uint8_t *data)
{
	switch (call->function->id) {
	case LANG_F_PRINTF:
		print_format(h, call, probe, data);
		break;
	case LANG_F_WARNF:
		print_message(h, call, probe, data, "WARNING");
		break;
	case LANG_F_ERRORF:
		print_message(h, call, probe, data, "ERROR");
		break;
	case LANG_F_JOIN:
		print_joined(h, call, data);
		break;
	case LANG_F_CAT:
		print_file(h, call, probe, data);
		break;
	case LANG_F_ASSERT:
		fail_assertion(h, call);
		break;
	case LANG_F_PRINT:
		print(h, call, probe, data);
		break;
	case LANG_F_CLEAR:
	case LANG_F_ZERO:
		lang_host_clear(h, call->list->map, call->function->id == LANG_F_ZERO);
		break;
	case LANG_F_TIME:
		print_time(h, call);
		break;
	case LANG_F_EXIT:
		h->exit = h->left = true;
		h->status = call->list ? (int)call->list->value : h->status;
		break;
	default:
		break;
	}
	fflush(h->out);
}
