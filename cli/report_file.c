/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a report. An existing file is replaced only after the complete report has been written. If that fails, the
 * report goes to standard error, so that a full disk does not destroy the results of a long run.
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool same_file(const char *path, const struct stat *st)
{
	struct stat other;

	return !stat(path, &other) && other.st_dev == st->st_dev && other.st_ino == st->st_ino;
}

/* Create the temporary file in the folder of the final file, because rename(2) works only within a file system. */
static int open_temporary(struct cli_report *r, const struct stat *st)
{
	mode_t mask = umask(0);
	char real[PATH_MAX];
	int fd;

	umask(mask);
	/* if the path is a symbolic link, replace the link's target */
	r->final = strdup(st && realpath(r->path, real) ? real : r->path);
	if (!r->final || asprintf(&r->temp, "%s.XXXXXX", r->final) < 0)
		r->temp = NULL;
	fd = r->temp ? mkostemp(r->temp, O_CLOEXEC) : -1;
	if (fd < 0) {
		free(r->temp);
		r->temp = NULL;
		return -1;
	}
	fchmod(fd, st ? st->st_mode & 0777 : 0666 & ~mask);
	return fd;
}

static int open_path(struct cli_report *r)
{
	struct stat st;
	bool exists = !stat(r->path, &st);

	return exists && !S_ISREG(st.st_mode) ? open(r->path, O_WRONLY | O_CLOEXEC) :
						open_temporary(r, exists ? &st : NULL);
}

int cli_report_open(struct cli_report *r, const struct cli_args *args)
{
	const struct cli_values *objects = &args->option[OPT_OBJECT];
	struct stat st;
	bool exists;
	int fd;

	r->path = cli_str(args, OPT_REPORT, NULL);
	if (!r->path || !strcmp(r->path, "-")) {
		r->out = r->path || cli_has(args, OPT_JSON) ? stdout : stderr;
		r->path = NULL;
		return CLI_OK;
	}
	exists = !stat(r->path, &st);
	for (uint32_t i = 0; exists && i < objects->n; i++) {
		if (!same_file(objects->value[i], &st))
			continue;
		cli_error("--report %s: this is the --object file; name another file", r->path);
		return CLI_USAGE;
	}
	fd = open_path(r);
	r->out = fd < 0 ? NULL : cli_clean_open(fd);
	if (!r->out) {
		cli_error("%s: cannot write the report: %s", r->path, strerror(errno));
		return CLI_RUN_FAILED;
	}
	setvbuf(r->out, NULL, _IOLBF, 0);
	return CLI_OK;
}

static bool write_and_rename(struct cli_report *r, const char *text, size_t size)
{
	bool written = fwrite(text, 1, size, r->out) == size && !fflush(r->out) && !ferror(r->out);

	if (!r->path)
		return written;
	written = !fclose(r->out) && written;
	r->out = NULL;
	if (written && r->temp)
		written = !rename(r->temp, r->final);
	if (written) {
		free(r->temp);
		r->temp = NULL;
	}
	return written;
}

bool cli_report_write(struct cli_report *r, const char *text, size_t size)
{
	if (!r->out || write_and_rename(r, text, size))
		return true;
	cli_error("%s: the report could not be written: %s%s", r->path ? r->path : "standard output", strerror(errno),
		  r->out == stderr ? "" : "; it follows");
	if (r->out == stderr)
		return true;
	fwrite(text, 1, size, stderr);
	return false;
}

void cli_report_close(struct cli_report *r)
{
	if (r->path && r->out)
		fclose(r->out);
	if (r->temp)
		unlink(r->temp);
	free(r->temp);
	free(r->final);
	*r = (struct cli_report){ 0 };
}

int cli_file_replace(const char *path, const void *data, size_t size)
{
	struct cli_report r = { .path = path };
	int fd = open_path(&r), err;

	r.out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!r.out && fd >= 0)
		close(fd);
	err = r.out && write_and_rename(&r, data, size) ? 0 : -errno;
	cli_report_close(&r);
	return err;
}
