/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records libbpf's messages. The first warning names the cause, and later warnings report consequences. The first
 * warning becomes the text of the diagnostic.
 */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "core/model/diag.h"

static _Thread_local struct {
	bool on;
	char first[512];
} log;

/* replaces stderr in gpubpf's libbpf (meson.build); only libbpf's initial print function would write to it */
FILE *gpubpf_libbpf_stderr;

static int print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	/* ignore "Retrying...": libbpf's second attempt may succeed */
	if (log.on && level == LIBBPF_WARN && !log.first[0] && !strstr(fmt, "Retrying"))
		vsnprintf(log.first, sizeof(log.first), fmt, ap);
	return 0;
}

__attribute__((constructor)) static void install_print(void)
{
	libbpf_set_print(print);
}

void gpubpf_log_begin(void)
{
	log.on = true;
	log.first[0] = '\0';
}

void gpubpf_log_end(void)
{
	log.on = false;
}

/* Returns the error code for a message of libbpf, by words in the message. */
static enum gpubpf_error classify(const char *text)
{
	static const struct {
		const char *word;
		enum gpubpf_error code;
	} kinds[] = {
		{ "map '", GPUBPF_E_BAD_MAP },           { "map #", GPUBPF_E_BAD_MAP },
		{ "map definitions", GPUBPF_E_BAD_MAP }, { "BTF", GPUBPF_E_BAD_BTF },
		{ "DATASEC", GPUBPF_E_BAD_BTF },         { "CO-RE", GPUBPF_E_BAD_BTF },
		{ "extern", GPUBPF_E_BAD_BTF },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strstr(text, kinds[i].word))
			return kinds[i].code;
	return GPUBPF_E_BAD_ELF;
}

int gpubpf_load_system(struct gpubpf_diag *diag, const char *what, int err)
{
	if (err == -EMFILE || err == -ENFILE)
		gpubpf_diag_remedy(diag, "raise the limit on open files (ulimit -n)");
	if (err == -EFBIG)
		gpubpf_diag_remedy(diag, "raise the limit on the size of files, in memory too (ulimit -f)");
	gpubpf_diag_set(diag, GPUBPF_E_SYSTEM, GPUBPF_NOPC, "%s: %s", what, strerror(-err));
	return err;
}

int gpubpf_log_refuse(struct gpubpf_diag *diag, const char *what, int err)
{
	char *text = log.first;

	if (err == -ENOMEM)
		return gpubpf_diag_set(diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "%s: out of memory", what);
	if (err == -EMFILE || err == -ENFILE || err == -EFBIG)
		return gpubpf_load_system(diag, what, err);
	if (!strncmp(text, "libbpf: ", 8))
		text += 8;
	text[strcspn(text, "\n")] = '\0';
	if (text[0] && text[strlen(text) - 1] == '.')
		text[strlen(text) - 1] = '\0';
	return gpubpf_diag_set(diag, classify(text), GPUBPF_NOPC, "%s: %s", what, text[0] ? text : strerror(-err));
}
