/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To attach, check that gpubpf can attach to the process, stop one thread, and start the boot code in it. Then send the
 * library to the boot code, and clean up.
 */
#include "attach.h"

#include <errno.h>
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

struct start {
	struct remote_boot *boot;
	uint64_t wait_ns;
};

/* Runs in the holder: stop a thread, and start the boot code in it. */
static int start_boot(struct remote *r, void *arg, uint64_t *stopped)
{
	const struct start *start = arg;
	struct remote_thread thread;
	int err = remote_stop_one(r, &thread, remote_now_ns() + start->wait_ns);

	if (!err)
		err = remote_boot_start(r, start->boot, &thread);
	if (!err)
		*stopped = remote_now_ns() - thread.since;
	return err;
}

static int attach_open(struct remote *r, const struct gpubpf_attach_process_opts *opts, struct gpubpf_attach_times *times)
{
	uint64_t wait_ns = (opts->wait_ms ? opts->wait_ms : WAIT_MS) * 1000000ull;
	const char *entry = opts->entry ? opts->entry : GPUBPF_BOOT_ENTRY;
	struct remote_boot boot;
	int err, ret;

	err = remote_boot_init(r, &boot, entry);
	if (err < 0)
		return err;
	boot.frame.entry = find_loaded_agent(r, entry);
	err = remote_run_holder(r, start_boot, &(struct start){ &boot, wait_ns }, wait_ns, &times->stopped);
	if (err < 0)
		return err;
	ret = remote_hand_over(r, &boot, opts->library, wait_ns);
	remote_boot_remove(r, &boot);
	return ret;
}

int gpubpf_attach_process(pid_t pid, const struct gpubpf_attach_process_opts *opts, struct gpubpf_attach_times *times,
			  char *why, size_t size)
{
	struct gpubpf_attach_times unused;
	uint64_t start = remote_now_ns();
	struct remote r;
	int result;

	times = times ? times : &unused;
	*times = (struct gpubpf_attach_times){ 0 };
	result = remote_open(&r, pid, why, size);
	if (result >= 0)
		result = attach_open(&r, opts, times);
	remote_close(&r);
	times->total = remote_now_ns() - start;
	return result;
}
