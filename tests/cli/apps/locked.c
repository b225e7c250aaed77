/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locked HOW: launches a GPU kernel, installs a seccomp filter, and launches two more GPU kernels. The filter kills the
 * process at the system calls that gpubpf's agent needs. HOW selects the installation:
 *
 * `prctl, seccomp`: with that system call.
 * `all`: with seccomp(), for all threads.
 * `early`: before the first launch.
 * `inherited`: before the application executes itself again. The second execution installs no filter.
 * `other`: a filter of system calls that the agent does not need.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "opencl.h"

#define N 1024
#define KILL(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static const char source[] =
	"__kernel void step_one(__global int *v) { size_t i = get_global_id(0); v[i] = v[i] * 3 + (int)i; }\n"
	"__kernel void step_two(__global int *v) { v[get_global_id(0)] += 5; }\n";

static struct sock_filter needed[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	KILL(SYS_socket), KILL(SYS_connect), KILL(SYS_sendmsg), KILL(SYS_recvmsg), KILL(SYS_shutdown), KILL(SYS_memfd_create),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};
static struct sock_filter other[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), KILL(SYS_ptrace), KILL(SYS_mount),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static void lock(const char *how)
{
	struct sock_fprog filter = { sizeof(needed) / sizeof(needed[0]), needed };

	if (!strcmp(how, "other"))
		filter = (struct sock_fprog){ sizeof(other) / sizeof(other[0]), other };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L))
		exit(77);
	if (!strcmp(how, "prctl") ? prctl(PR_SET_SECCOMP, (long)SECCOMP_MODE_FILTER, &filter, 0L, 0L) :
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, !strcmp(how, "all") ? SECCOMP_FILTER_FLAG_TSYNC : 0L, &filter))
		exit(77);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "prctl";
	static cl_int v[N];
	struct opencl cl;
	cl_mem mem;

	if (!strcmp(how, "early") || !strcmp(how, "inherited"))
		lock(how);
	if (!strcmp(how, "inherited"))
		return execl("/proc/self/exe", argv[0], "none", (char *)NULL);
	cl = opencl_start(source);
	mem = opencl_buffer(&cl, NULL, sizeof(v));
	for (int i = 0; i < 3; i++) {
		cl_kernel kernel = opencl_kernel(&cl, i < 2 ? "step_one" : "step_two");

		clSetKernelArg(kernel, 0, sizeof(mem), &mem);
		opencl_run(&cl, kernel, N, 64);
		if (!i && strcmp(how, "early") && strcmp(how, "none"))
			lock(how);
	}
	opencl_read(&cl, mem, v, sizeof(v));
	printf("%d\n", v[N - 1]);
	return 42;
}
