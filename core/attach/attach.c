/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To attach, check that gpubpf can attach to the process, stop one thread, and start the boot code in it. Then send the
 * library to the boot code, and clean up.
 */
#include "attach.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "remote.h"

#define WAIT_MS 2000

_Static_assert(!__builtin_strcmp(GPUBPF_ATTACH_LIBRARY, GPUBPF_BOOT_LIBRARY), "both headers name the same memfd");

/* Returns the address of the entry of an agent that the process has already loaded, or 0 if no agent is loaded. */
static uint64_t find_loaded_agent(const struct remote *r, const char *entry)
{
	static const char *const files[] = { "memfd:" GPUBPF_BOOT_LIBRARY, "libgpubpf-agent.so" };
	uint64_t found = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !found; i++) {
		const struct remote_map *m = remote_find_file(r, files[i]);

		if (m && !m->offset)
			found = remote_symbol(r, m->from, entry);
	}
	return found;
}

static int attach_open(struct remote *r, const struct gpubpf_attach_process_opts *opts, struct gpubpf_attach_times *times)
{
	uint64_t wait_ns = (opts->wait_ms ? opts->wait_ms : WAIT_MS) * 1000000ull;
	const char *entry = opts->entry ? opts->entry : GPUBPF_BOOT_ENTRY;
	struct remote_thread thread;
	struct remote_boot boot;
	int err, ret;

	err = remote_boot_init(r, &boot, entry);
	if (err < 0)
		return err;
	boot.frame.entry = find_loaded_agent(r, entry);
	err = remote_stop_one(r, &thread, remote_now_ns() + wait_ns);
	if (!err)
		err = remote_boot_start(r, &boot, &thread);
	if (err < 0)
		return err;
	times->stopped = remote_now_ns() - thread.since;
	ret = remote_hand_over(r, &boot, opts->library, wait_ns);
	remote_boot_remove(r, &boot);
	return ret;
}

struct attach_job {
	pid_t pid;
	const struct gpubpf_attach_process_opts *opts;
	struct gpubpf_attach_times *times;
	char *why;
	size_t size;
	int result;
};

/* Runs in a separate thread. When this thread ends, the Linux kernel detaches all threads that it still traces. */
static void *run_attach(void *arg)
{
	struct attach_job *job = arg;
	struct remote r;

	job->result = remote_open(&r, job->pid, job->why, job->size);
	if (job->result >= 0)
		job->result = attach_open(&r, job->opts, job->times);
	remote_close(&r);
	return NULL;
}

int gpubpf_attach_process(pid_t pid, const struct gpubpf_attach_process_opts *opts, struct gpubpf_attach_times *times,
			  char *why, size_t size)
{
	struct gpubpf_attach_times unused;
	struct attach_job job = { .pid = pid, .opts = opts, .times = times ? times : &unused, .why = why, .size = size };
	uint64_t start = remote_now_ns();
	pthread_t thread;
	int err;

	*job.times = (struct gpubpf_attach_times){ 0 };
	err = pthread_create(&thread, NULL, run_attach, &job);
	if (err) {
		snprintf(why, size, "process %d: no thread can be started: %s", pid, strerror(err));
		return -err;
	}
	pthread_join(thread, NULL);
	job.times->total = remote_now_ns() - start;
	return job.result;
}
