/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/model/text/utf8.h"
#include "core/wire/files/write_all.h"

struct cleaned {
	int fd;
	char pending[4]; /* the first bytes of a UTF-8 character whose remaining bytes have not been written yet */
	size_t npending;
};

static bool missing[STDERR_FILENO + 1]; /* missing[fd]: standard descriptor fd was closed when gpubpf started */
static struct cleaned output = { .fd = STDOUT_FILENO }, errors = { .fd = STDERR_FILENO };

/*
 * Sanitise one character of `in` into `out`, which must have room for 9 bytes. Store the number of bytes written in
 * *made. Returns the number of bytes consumed, or 0 if the character is incomplete.
 */
static size_t clean_one(const char *in, size_t size, char *out, size_t *made)
{
	uint32_t code;
	int n = gpubpf_utf8_next(in, size, &code);

	if (n < 0)
		return 0;
	if (!n)
		*made = sprintf(out, "\\x%02x", (unsigned char)in[0]);
	else if (gpubpf_utf8_controls(code) && code != '\n' && code != '\t')
		*made = sprintf(out, code < 0x100 ? "\\x%02x" : "\\u%04x", code);
	else
		memcpy(out, in, *made = n);
	return n ? n : 1;
}

/* Return the number of leading bytes that are printable ASCII, newlines or tabs, and so need no change. */
static size_t count_printable(const char *in, size_t size)
{
	size_t n = 0;

	while (n < size && ((in[n] >= ' ' && in[n] < 0x7f) || in[n] == '\n' || in[n] == '\t'))
		n++;
	return n;
}

static ssize_t clean_write(void *cookie, const char *text, size_t size)
{
	struct cleaned *c = cookie;
	size_t all = c->npending + size, at = 0, to = 0;
	char *in = malloc(all), *out = malloc(6 * all + 16);
	bool written = in && out;

	for (size_t made, n; written && at < all; at += n, to += made) {
		if (!at) {
			memcpy(in, c->pending, c->npending);
			memcpy(in + c->npending, text, size);
		}
		made = n = count_printable(in + at, all - at);
		memcpy(out + to, in + at, n);
		if (!n)
			n = clean_one(in + at, all - at, out + to, &made);
		if (!n)
			break;
	}
	if (written) {
		c->npending = all - at;
		memcpy(c->pending, in + at, c->npending);
		written = !gpubpf_write_all(c->fd, out, to);
	}
	free(in);
	free(out);
	/* fopencookie(3): a write function returns 0 on error, with the reason in errno */
	return written ? (ssize_t)size : 0;
}

static int clean_close(void *cookie)
{
	struct cleaned *c = cookie;
	int err = close(c->fd);

	free(c);
	return err;
}

FILE *cli_clean_open(int fd)
{
	static const cookie_io_functions_t functions = { .write = clean_write, .close = clean_close };
	struct cleaned *c = calloc(1, sizeof(*c));
	FILE *cleaned;

	if (!c)
		return NULL;
	c->fd = fd;
	cleaned = fopencookie(c, "w", functions);
	if (!cleaned)
		free(c);
	return cleaned;
}

static void clean(FILE **stream, struct cleaned *c, int mode)
{
	static const cookie_io_functions_t functions = { .write = clean_write };
	FILE *cleaned = fopencookie(c, "w", functions);

	if (!cleaned)
		return; /* out of memory: the stream stays unsanitised */
	setvbuf(cleaned, NULL, mode, BUFSIZ);
	*stream = cleaned;
}

/*
 * Open /dev/null on the standard descriptors that are closed. Otherwise the next file or socket that gpubpf opens would
 * get the number of standard output and receive gpubpf's output. Reads of standard input and writes to the other two
 * still fail, because /dev/null is opened for the opposite direction.
 */
static void fill_missing(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			missing[fd] = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) == fd;
}

void cli_streams_restore(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (missing[fd])
			close(fd);
}

void cli_clean_streams(void)
{
	fill_missing();
	clean(&stdout, &output, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
	clean(&stderr, &errors, _IOLBF);
}
