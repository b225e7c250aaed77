/* SPDX-License-Identifier: Apache-2.0 */
#include "ptxas.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/model/diag.h"
#include "core/wire/protocol.h"
#include "core/wire/files/write_all.h"
#include "core/worker/sandbox/in_fork.h"

#define NOT_STARTED 127 /* exit status of the fork if ptxas cannot be started; a shell uses the same */
#define TEXT "/proc/self/fd/3"
#define CODE "/proc/self/fd/4"

#define KEEP_LITERALS "--disable-optimizer-constants"

/* state of one run of ptxas */
struct start {
	const struct gpubpf_assembly *what;
	char option[64];
	int text, code, log; /* memfds */
};

static bool is_valid(const struct gpubpf_assembly *what)
{
	return what->path[0] == '/' && strlen(what->path) < PATH_MAX && (what->is_version || what->arch[0]);
}

/* Starts ptxas in a fork of this process. The fork and ptxas inherit the rest of this process's alarm(2) time. */
static int exec_program(void *arg)
{
	const struct rlimit file = { GPUBPF_IMAGE_MAX, GPUBPF_IMAGE_MAX };
	struct start *s = arg;
	char *argv[] = { (char *)s->what->path,
			 s->option,
			 s->what->is_version ? NULL : "-o",
			 CODE,
			 TEXT,
			 s->what->keeps_literals ? KEEP_LITERALS : NULL,
			 NULL };

	/*
	 * ptxas reads its text from descriptor 3, which was the worker's socket, and writes its code to descriptor 4.
	 * All other descriptors are close-on-exec. The text's memfd may have the number 4, so it is duplicated to 3
	 * before the code's memfd replaces 4.
	 */
	if (dup2(s->log, STDOUT_FILENO) < 0 || dup2(s->log, STDERR_FILENO) < 0 || dup2(s->text, 3) < 0 ||
	    dup2(s->code, 4) < 0 || setrlimit(RLIMIT_FSIZE, &file) < 0)
		return NOT_STARTED;
	execv(s->what->path, argv);
	return NOT_STARTED;
}

static bool is_code(const void *data, size_t size)
{
	return size > sizeof(Elf64_Ehdr) && !memcmp(data, ELFMAG, SELFMAG);
}

static void read_log(int fd, char *log, size_t size)
{
	ssize_t n = pread(fd, log, size - 1, 0);

	log[n > 0 ? n : 0] = 0;
}

static int read_code(int fd, struct gpubpf_twin_image *out)
{
	struct gpubpf_blob blob;
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_size > GPUBPF_IMAGE_MAX)
		return -EINVAL;
	blob.size = st.st_size;
	blob.data = malloc(blob.size + 1);
	if (!blob.data)
		return -ENOMEM;
	if (pread(fd, blob.data, blob.size, 0) != st.st_size || !is_code(blob.data, blob.size)) {
		free(blob.data);
		return -EINVAL;
	}
	out->piece[0] = (struct gpubpf_twin_piece){ GPUBPF_IMAGE_CUBIN, blob, NULL };
	out->npieces = 1;
	return 0;
}

/*
 * A non-zero exit status is permanent, because ptxas would refuse the text again. A signal or a missing ptxas may be
 * transient.
 */
static int run(struct start *s, struct gpubpf_twin_image *out, char *log, size_t log_size, struct gpubpf_diag *diag)
{
	int status, err = gpubpf_in_fork(exec_program, s, &status);

	if (err < 0)
		return gpubpf_diag_set(diag, GPUBPF_E_SYSTEM, GPUBPF_NOPC, "%s: %s", s->what->path, strerror(-err));
	read_log(s->log, log, log_size);
	if (!WIFEXITED(status))
		return gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "%s was killed by signal %d", s->what->path,
				       WTERMSIG(status));
	if (WEXITSTATUS(status) == NOT_STARTED)
		return gpubpf_diag_set(diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC, "%s cannot be run", s->what->path);
	if (WEXITSTATUS(status) || s->what->is_version)
		return 0;
	err = read_code(s->code, out);
	return err ? gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "%s made no machine code", s->what->path) : 0;
}

static int open_memfds(struct start *s, const struct gpubpf_blob *text)
{
	s->text = memfd_create("gpubpf-twin.ptx", MFD_CLOEXEC);
	s->code = memfd_create("gpubpf-twin.cubin", MFD_CLOEXEC);
	s->log = memfd_create("gpubpf-twin.log", MFD_CLOEXEC);
	if (s->text < 0 || s->code < 0 || s->log < 0)
		return -errno;
	return gpubpf_write_all(s->text, text->data, text->size);
}

static void close_memfds(const struct start *s)
{
	const int fds[] = { s->text, s->code, s->log };

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int cuda_ptxas(const struct gpubpf_assembly *what, struct gpubpf_twin_image *out, char *log, size_t log_size,
	       struct gpubpf_diag *diag)
{
	struct start s = { .what = what, .text = -1, .code = -1, .log = -1 };
	int err;

	if (!is_valid(what) ||
	    (size_t)snprintf(s.option, sizeof(s.option), "%s%s", what->is_version ? "--version" : "-arch=",
			     what->is_version ? "" : what->arch) >= sizeof(s.option))
		return gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC,
				       "ptxas needs an absolute path and an architecture");
	err = open_memfds(&s, &what->text);
	if (err < 0)
		gpubpf_diag_set(diag, GPUBPF_E_SYSTEM, GPUBPF_NOPC, "the twin's text: %s", strerror(-err));
	else
		err = run(&s, out, log, log_size, diag);
	close_memfds(&s);
	return err;
}
