/* SPDX-License-Identifier: Apache-2.0 */
/* Private to core/attach: access to another process, and the parts of an attach. */
#ifndef GPUBPF_ATTACH_REMOTE_H
#define GPUBPF_ATTACH_REMOTE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "attach.h"
#include "boot.h"

struct remote_map {
	uint64_t from, to, offset;
	char flags[5]; /* as in /proc/PID/maps, for example "r-xp" */
	char *path;    /* "": anonymous */
};

struct remote {
	pid_t pid, live; /* live: id of a thread that is not a zombie; the main thread (pid) may be a zombie */
	/* mem: descriptor of /proc/PID/mem, through which the tool can also write to read-only pages */
	int pidfd, mem;
	struct remote_map *maps;
	size_t nmaps;
	char *why; /* buffer of `size` bytes for the reason of the first failure */
	size_t size;
};

/* remote.c. Functions that return int return 0 or -errno. */
int remote_open(struct remote *r, pid_t pid, char *why, size_t size);
void remote_close(struct remote *r);
/* Store the reason, unless an earlier failure has stored one. Returns err. */
int remote_fail(struct remote *r, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));
int remote_read(const struct remote *r, uint64_t address, void *to, size_t size);
int remote_write(const struct remote *r, uint64_t address, const void *from, size_t size);
int remote_write_code(const struct remote *r, uint64_t address, const void *from, size_t size); /* to any page */
int remote_read_maps(struct remote *r); /* read maps[] again, after the process has changed its mappings */
const struct remote_map *remote_find_map(const struct remote *r, uint64_t address);
/* Find the first mapping of a file whose base name begins with `name`. Returns NULL if there is none. */
const struct remote_map *remote_find_file(const struct remote *r, const char *name);
/* Read a field of /proc/PID/task/TID/status as text. Returns false if the thread or the field does not exist. */
bool remote_status(const struct remote *r, pid_t tid, const char *field, char *value, size_t size);
uint64_t remote_now_ns(void);
void remote_sleep_us(unsigned int us);

/* refuse.c: refuse processes that cannot be attached to, before anything in them changes. */
int remote_check_process(struct remote *r);
/* Store why ptrace(2) or an access to /proc failed with this error. Returns err. */
int remote_explain_access(struct remote *r, int err);

/* symbols.c: the address of a function that the ELF file mapped at `base` exports, or 0. Reads only memory. */
uint64_t remote_symbol(const struct remote *r, uint64_t base, const char *name);

/*
 * holder.c: stops threads in a child process of the tool, the *holder*. It runs in a new session (setsid(2)). So if a signal such
 * as SIGSTOP or SIGTSTP stops the tool, or SIGKILL ends it, the holder still lets the threads continue. If the holder
 * needs more than `ns` and HOLDER_NS in addition, the tool kills it, and the Linux kernel lets the threads continue.
 *
 * Call fn in the holder, and store how long threads were stopped in *stopped. Changes of memory by fn are lost, except
 * for *stopped and the reason of a failure. Returns fn's result. Returns -EAGAIN if the holder did not finish.
 */
typedef int (*remote_holder_fn)(struct remote *r, void *arg, uint64_t *stopped);
int remote_run_holder(struct remote *r, remote_holder_fn fn, void *arg, uint64_t ns, uint64_t *stopped);

/* stop.c; called in the holder, except for remote_with_threads() */
struct remote_thread {
	pid_t tid;
	struct user_regs_struct regs; /* registers at the stop */
	/* the values with which the thread resumes; they differ from regs if the thread must repeat its system call */
	uint64_t rip, rax;
	uint64_t since; /* time of the stop, in ns */
	bool stopped;   /* false: the thread sleeps and was not stopped; only regs.rip is valid */
};

/* Stop one thread at a point where it can run the stub: in a system call that holds no lock of the C library. */
int remote_stop_one(struct remote *r, struct remote_thread *t, uint64_t deadline);
void remote_release(const struct remote_thread *t);
typedef int (*remote_stopped_fn)(struct remote *r, const struct remote_thread *threads, size_t n, void *arg);
/*
 * Seize all threads in the holder, so that no other tool can, and call fn there. If interrupt_all is set, stop all threads. Otherwise stop
 * only the threads that run, and let the sleeping threads sleep on. Returns fn's result. Returns -EAGAIN without
 * calling fn if another program traces one of the threads, or if a thread did not stop in time.
 */
int remote_with_threads(struct remote *r, bool interrupt_all, remote_stopped_fn fn, void *arg, uint64_t *stopped);

/* Wait until the thread stops, and store its status. Returns 0, -ESRCH if the thread has ended, or -ETIMEDOUT. */
int remote_wait_stop(pid_t tid, int *status, uint64_t deadline);
int remote_read_regs(pid_t tid, struct user_regs_struct *regs);
/*
 * Returns the address of glibc's __restore_rt, to which signal handlers return, or 0. glibc does not export this
 * symbol.
 */
uint64_t remote_find_restorer(const struct remote *r);

/*
 * clear.c: called by a remote_stopped_fn. Returns -EAGAIN if a stopped thread is at an address for which contains() is
 * true, or will return to one from a signal handler, else 0.
 */
struct remote_area {
	bool (*contains)(const void *arg, uint64_t address);
	const void *arg;
};
int remote_check_area(const struct remote *r, const struct remote_thread *threads, size_t n,
		      const struct remote_area *area);

/* frame.c */
struct remote_boot {
	char name[40]; /* unique name of the shared file */
	uint64_t stub; /* address of the stub in the process */
	struct gpubpf_boot_frame frame;
};

/* Choose the address of the stub, and look up the C library's functions that the boot code calls. */
int remote_boot_init(struct remote *r, struct remote_boot *boot, const char *entry);
/* Write the frame and the stub, set the registers of the stopped thread, and let the thread run. */
int remote_boot_start(struct remote *r, struct remote_boot *boot, struct remote_thread *t);
/* Find a stub in the process. Returns its address, or 0. */
uint64_t remote_find_stub(const struct remote *r);
/* Remove the stub from the process. Returns -EAGAIN if an attach of another tool needs it. */
int remote_boot_remove(struct remote *r, const struct remote_boot *boot);

/* handover.c: send the library to the new thread, and receive the session's socket. Returns it, or -errno. */
int remote_hand_over(struct remote *r, const struct remote_boot *boot, const char *library, uint64_t wait_ns);

#endif
