/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A statically linked program that starts another program or makes a bpf(2) call. Command lines: hop exec|vfork|deny
 * CMD [ARG]..., hop pid|map, hop late FILE.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int run_in_child(char **argv)
{
	int status;
	pid_t pid = vfork();

	if (!pid) {
		execvp(argv[0], argv);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

/* Forbid the process to install seccomp filters, as some containers do. */
static void deny_filters(void)
{
	struct sock_filter insn[] = {
		{ BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr) },
		{ BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_seccomp },
		{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM },
		{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW },
	};
	struct sock_fprog prog = { sizeof(insn) / sizeof(insn[0]), insn };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

/*
 * Create a map of a type that the Linux kernel does not have. Returns its file descriptor, or -errno without a session.
 */
static int make_map(void)
{
	union bpf_attr attr = { .map_type = 1503, .key_size = 4, .value_size = 8, .max_entries = 1 };
	int fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

static int outlive(const char *file)
{
	int first = make_map(), then;
	FILE *f;

	while (!access(getenv("GPUBPF_SESSION"), F_OK))
		usleep(10000);
	then = make_map();
	f = fopen(file, "w");
	fprintf(f, "%s, then %s\n", first < 0 ? strerror(-first) : "made", then < 0 ? strerror(-then) : "made");
	return fclose(f);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "pid"))
		return printf("%d\n", (int)getpid()) < 0;
	if (!strcmp(what, "map"))
		return puts(make_map() < 0 ? "refused" : "made") < 0;
	if (!strcmp(what, "late") && argc > 2)
		return outlive(argv[2]);
	if (!strcmp(what, "vfork") && argc > 2)
		return run_in_child(argv + 2);
	if (!strcmp(what, "deny"))
		deny_filters();
	else if (strcmp(what, "exec"))
		return 2;
	execvp(argv[2], argv + 2);
	return 127;
}
