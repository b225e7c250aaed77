/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading an object needs no privilege and does not disturb the process: bpf(2) and other system calls work as before,
 * also in other threads.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "core/model/diag.h"
#include "core/load/load.h"
#include "../../tap.h"

static const char *object;

static bool load(void)
{
	struct gpubpf_load_opts opts = { .paths = &object, .npaths = 1 };
	struct gpubpf_loaded *loaded;
	struct gpubpf_diag diag;
	bool right;

	gpubpf_diag_init(&diag);
	if (gpubpf_load(&opts, &loaded, &diag) < 0) {
		note("%s: %s", diag.where, diag.what);
		return false;
	}
	right = loaded->unit.nprogs == 2 && loaded->unit.nmaps == 3;
	gpubpf_loaded_destroy(loaded);
	return right;
}

static void *load_often(void *arg)
{
	for (int i = 0; i < 20; i++)
		if (!load())
			return arg;
	return NULL;
}

static void threads(void)
{
	pthread_t t[4];
	void *failed, *any = NULL;

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, load_often, (void *)1);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &failed);
		any = failed ? failed : any;
	}
	ok(!any, "four threads load at once");
}

/* Load in a child process as user nobody, without capabilities. */
static void unprivileged(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit((geteuid() == 0 && setresuid(65534, 65534, 65534) < 0) || !load());
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && !WEXITSTATUS(status), "loading needs no privilege");
}

static int open_files(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

int main(int argc, char **argv)
{
	union bpf_attr attr = { .map_type = 0x7fff };
	int before;

	(void)argc;
	object = argv[1];
	ok(syscall(SYS_getpid) == getpid(), "syscall() reaches the kernel");
	ok(syscall(SYS_close, -1) == -1 && errno == EBADF, "its errors are in errno");
	before = open_files();
	ok(load(), "an object loads");
	ok(open_files() == before, "loading leaves no descriptor behind");
	errno = 0;
	ok(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)) == -1 && (errno == EINVAL || errno == EPERM),
	   "bpf(2) outside of a load is the kernel's");
	ok(bpf_map_freeze(-1) == -EBADF || errno == EPERM, "libbpf outside of a load reaches the kernel");
	threads();
	unprivileged();
	return done();
}
