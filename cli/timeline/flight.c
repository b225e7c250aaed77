/* SPDX-License-Identifier: Apache-2.0 */
#include "flight.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "ring.h"

#define LEAST_BYTES (1u << 16)
#define MOST_BYTES (1ull << 40)

static volatile sig_atomic_t signalled;

static void on_signal(int number)
{
	signalled = 1;
}

/* Parse a size such as 64M. Returns 0 if it is none. */
static uint64_t parse_size(const char *text)
{
	static const char units[] = "KMG";
	char *end;
	uint64_t n = strtoull(text, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;

	if (end == text || text[0] == '-' || (*end && (!unit || end[1])) || n > MOST_BYTES)
		return 0;
	for (; unit && unit >= units; unit--)
		n *= 1024;
	return n <= MOST_BYTES ? n : 0;
}

int flight_begin(struct flight *f, const char *size)
{
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	uint64_t bytes = parse_size(size);

	if (bytes < LEAST_BYTES) {
		cli_error("timeline: --ring %s: must be a size of at least 64K, such as 64M", size);
		return CLI_USAGE;
	}
	f->sink->ring = ring_create(bytes);
	if (!f->sink->ring) {
		cli_error("timeline: out of memory");
		return CLI_RUN_FAILED;
	}
	f->sink->used = 0; /* the ring gets the begin of the trace again */
	sigaction(SIGUSR1, &action, NULL);
	return CLI_OK;
}

bool flight_was_signalled(void)
{
	bool was = signalled;

	signalled = 0;
	return was;
}

/* "trace.pftrace" becomes "trace-2.pftrace". */
static void make_path(const struct flight *f, char *path, size_t size)
{
	const char *slash = strrchr(f->path, '/'), *dot = strrchr(slash ? slash : f->path, '.');
	size_t stem = dot ? (size_t)(dot - f->path) : strlen(f->path);

	if (f->nfiles)
		snprintf(path, size, "%.*s-%" PRIu32 "%s", (int)stem, f->path, f->nfiles + 1, f->path + stem);
	else
		snprintf(path, size, "%s", f->path);
}

void flight_write(struct flight *f, const char *why)
{
	char path[PATH_MAX];
	int64_t bytes;
	int fd;

	if (f->nfiles == FLIGHT_FILES)
		return;
	timeline_finish(f->t);
	make_path(f, path, sizeof(path));
	f->nfiles++;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	bytes = fd < 0 ? -errno : ring_write(f->sink->ring, fd);
	if (fd >= 0)
		close(fd);
	timeline_restart(f->t);
	if (bytes < 0) {
		f->sink->error = (int)bytes;
		cli_error("%s: %s; choose another file with -o", path, strerror((int)-bytes));
		return;
	}
	f->sink->bytes += (uint64_t)bytes;
	cli_note("%s: %" PRId64 " bytes, because %s", path, bytes, why);
}
