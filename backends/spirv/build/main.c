/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf-build: a vendor's OpenCL compiler in a process of its own. Such compilers map their own code,
 * start threads and linkers, read their files, write their caches and talk to their device nodes, each its
 * own way: all that is allowed. What none of them needs is not: privileges, the network, other
 * processes' memory, the kernel's tracing, modules and mounts. It gets no descriptor but its socket.
 */
#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "build.h"
#include "core/diag.h"
#include "core/worker/sandbox.h"
#include "core/worker/serve.h"
#include "core/worker/spawn.h"

static const int denied[] = {
	SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(pidfd_getfd),
	SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(keyctl), SCMP_SYS(add_key),
	SCMP_SYS(request_key), SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot),
	SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load), SCMP_SYS(reboot), SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(settimeofday),
	SCMP_SYS(clock_settime), SCMP_SYS(sethostname), SCMP_SYS(acct),
};

static const int families[] = { AF_INET, AF_INET6, AF_PACKET };

static int deny_all(scmp_filter_ctx ctx)
{
	int err = 0;

	for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]) && !err; i++)
		err = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), denied[i], 0);
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]) && !err; i++)
		err = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
				       SCMP_A0(SCMP_CMP_EQ, families[i]));
	return err ? err : seccomp_load(ctx);
}

static int enter_sandbox(struct gpubpf_diag *diag)
{
	scmp_filter_ctx ctx;
	int err = gpubpf_sandbox_limits(diag);

	if (err < 0)
		return err;
	ctx = seccomp_init(SCMP_ACT_ALLOW);
	err = ctx ? deny_all(ctx) : -ENOMEM;
	if (ctx)
		seccomp_release(ctx);
	if (err < 0)
		gpubpf_diag_set(diag, GPUBPF_E_SYSTEM, GPUBPF_NOPC, "gpubpf-build cannot load its filter (error %d)",
				-err);
	return err;
}

int main(void)
{
	static const struct gpubpf_serve_ops ops = { .build = gpubpf_cl_build, .sandbox = enter_sandbox };

	/* our own layer has no business here, nor have others that the application asked for */
	unsetenv("OPENCL_LAYERS");
	unsetenv("LD_PRELOAD");
	return gpubpf_worker_serve(GPUBPF_WORKER_FD, &ops);
}
