/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages for the user. Each text is written once per session of the process, so a kernel that is launched a million times does not
 * repeat its message.
 */
#include "hooks/process/agent_thread.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "session.h"

#define NOTES_MAX 256
#define LINE_SIZE 512
#define PREFIX "gpubpf: "

static _Atomic uint64_t seen_hashes[NOTES_MAX];
/* identity of the file that descriptor 2 referred to at load time; st_ino 0: descriptor 2 was closed */
static struct stat standard_error;

__attribute__((constructor)) static void find_standard_error(void)
{
	if (fstat(STDERR_FILENO, &standard_error))
		standard_error.st_ino = 0;
}

bool gpubpf_same_file(int fd, const struct stat *known)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_ino == known->st_ino && st.st_dev == known->st_dev;
}

/* FNV-1a, 64 bits */
static uint64_t hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3ull;
	return h ? h : 1;
}

static bool first_time(const char *text)
{
	uint64_t h = hash(text);

	for (size_t i = 0; i < NOTES_MAX; i++) {
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(&seen_hashes[i], &none, h))
			return true;
		if (none == h)
			return false;
	}
	return false;
}

void gpubpf_log_forget(void)
{
	for (size_t i = 0; i < NOTES_MAX; i++)
		atomic_store(&seen_hashes[i], 0);
}

static bool send_note(const char *text)
{
	struct gpubpf_writer w = { 0 };
	int err;

	if (!gpubpf_session_up())
		return false;
	gpubpf_put_str(&w, text);
	err = gpubpf_client_notify(GPUBPF_MSG_NOTE, &w);
	gpubpf_writer_finish(&w);
	return !err;
}

/*
 * Write to standard error. If standard error is a pipe without a reader, SIGPIPE must not kill the application. If the
 * application has closed descriptor 2 and opened another file under that number, write nothing.
 */
static void write_line(const char *line, size_t size)
{
	const struct timespec at_once = { 0 };
	sigset_t pipe, pending, before;

	if (!standard_error.st_ino || !gpubpf_same_file(STDERR_FILENO, &standard_error))
		return;
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	sigpending(&pending);
	if (write(STDERR_FILENO, line, size) < 0 && errno == EPIPE && !sigismember(&pending, SIGPIPE))
		sigtimedwait(&pipe, NULL, &at_once);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct text {
	bool to_tool;
	const char *fmt;
	va_list args;
};

static void write_note(void *arg)
{
	struct text *t = arg;
	char *line = malloc(LINE_SIZE);
	size_t at = strlen(PREFIX);
	int n, error = errno;

	n = line ? vsnprintf(strcpy(line, PREFIX) + at, LINE_SIZE - at - 1, t->fmt, t->args) : -1;
	if (n >= 0 && first_time(line) && !(t->to_tool && send_note(line + at))) {
		n = strlen(line);
		line[n] = '\n';
		write_line(line, n + 1);
	}
	free(line);
	errno = error;
}

void gpubpf_log_once(const char *fmt, ...)
{
	struct text text = { true, fmt };

	if (gpubpf_session_sealed())
		return;
	va_start(text.args, fmt);
	gpubpf_run_on_agent_thread(write_note, &text); /* on an agent thread, because printf() uses 2 KiB of stack */
	va_end(text.args);
}

void gpubpf_log_stderr(const char *fmt, ...)
{
	struct text text = { false, fmt };

	va_start(text.args, fmt);
	write_note(&text);
	va_end(text.args);
}
