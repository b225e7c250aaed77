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

#define NOT_STARTED 127 /* exit status if the program cannot be started, as a shell returns it */
#define TEXT "/proc/self/fd/3"
#define CODE "/proc/self/fd/4"

/* one run of ptxas */
struct start {
	char path[PATH_MAX], option[64];
	bool probes;         /* GPUBPF_ASSEMBLER_PROBES */
	int text, code, log; /* memfds */
};

static bool is_version_request(const struct start *s)
{
	return !strcmp(s->option, GPUBPF_ASSEMBLER_WHICH);
}

static int parse_options(struct start *s, const char *options)
{
	const char *end = options ? strchr(options, '\n') : NULL, *option = end ? strchr(end + 1, '\n') : NULL;

	s->probes = option && !strncmp(option + 1, GPUBPF_ASSEMBLER_PROBES "\n", strlen(GPUBPF_ASSEMBLER_PROBES "\n"));
	if (s->probes)
		option += strlen(GPUBPF_ASSEMBLER_PROBES "\n");
	if (!option || options[0] != '/' || (size_t)(end - options) >= sizeof(s->path) ||
	    strlen(option + 1) >= sizeof(s->option))
		return -EINVAL;
	memcpy(s->path, options, end - options);
	strcpy(s->option, option + 1);
	return is_version_request(s) || !strncmp(s->option, "-arch=", 6) ? 0 : -EINVAL;
}

/* Runs in a fork of this process. The fork and the program inherit the remaining alarm(2) time. */
static int exec_program(void *arg)
{
	const struct rlimit file = { GPUBPF_IMAGE_MAX, GPUBPF_IMAGE_MAX };
	struct start *s = arg;
	char *argv[] = { s->path, s->option, is_version_request(s) ? NULL : "-o",
			 CODE,    TEXT,      s->probes ? GPUBPF_ASSEMBLER_PROBES : NULL,
			 NULL };

	/* The program reads its text from descriptor 3, which was the worker's socket, and writes its code to 4. All
	 * others are close-on-exec. The text's memfd may itself be 4, so it is duplicated before the code's memfd
	 * replaces 4. */
	if (dup2(s->log, STDOUT_FILENO) < 0 || dup2(s->log, STDERR_FILENO) < 0 || dup2(s->text, 3) < 0 ||
	    dup2(s->code, 4) < 0 || setrlimit(RLIMIT_FSIZE, &file) < 0)
		return NOT_STARTED;
	execv(s->path, argv);
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

/* A non-zero exit status is permanent: the program refuses the text each time. A signal or a missing program may be
 * transient. */
static int run(struct start *s, struct gpubpf_twin_image *out, char *log, size_t log_size, struct gpubpf_diag *diag)
{
	int status, err = gpubpf_in_fork(exec_program, s, &status);

	if (err < 0)
		return gpubpf_diag_set(diag, GPUBPF_E_SYSTEM, GPUBPF_NOPC, "%s: %s", s->path, strerror(-err));
	read_log(s->log, log, log_size);
	if (!WIFEXITED(status))
		return gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "%s was killed by signal %d", s->path,
				       WTERMSIG(status));
	if (WEXITSTATUS(status) == NOT_STARTED)
		return gpubpf_diag_set(diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC, "%s cannot be run", s->path);
	if (WEXITSTATUS(status) || is_version_request(s))
		return 0;
	err = read_code(s->code, out);
	return err ? gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "%s made no machine code", s->path) : 0;
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

int cuda_ptxas(const struct gpubpf_device_caps *caps, const struct gpubpf_twin_image *pieces,
	       struct gpubpf_twin_image *out, char *log, size_t log_size, struct gpubpf_diag *diag)
{
	struct start s = { .text = -1, .code = -1, .log = -1 };
	int err;

	if (pieces->npieces != 1 || pieces->piece[0].kind != GPUBPF_IMAGE_PTX ||
	    parse_options(&s, pieces->piece[0].options) < 0)
		return gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC,
				       "ptxas needs one piece of PTX and the program's path");
	err = open_memfds(&s, &pieces->piece[0].blob);
	if (err < 0)
		gpubpf_diag_set(diag, GPUBPF_E_SYSTEM, GPUBPF_NOPC, "the twin's text: %s", strerror(-err));
	else
		err = run(&s, out, log, log_size, diag);
	close_memfds(&s);
	return err;
}
