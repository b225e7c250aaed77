/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restores a process in which a tool was killed while it attached. Everything else that a session changes in a process,
 * the agent undoes when its connection closes.
 */
#include "attach.h"

#include <errno.h>
#include <stdio.h>

#include "journal.h"
#include "patch.h"
#include "remote.h"

/* Remove the stubs of killed tools. Returns their number, or -errno. */
static int clean_stubs(struct remote *r)
{
	struct remote_boot boot = { 0 };
	int err = remote_read_maps(r), n = 0;

	while (!err && (boot.stub = remote_find_stub(r))) {
		err = remote_boot_remove(r, &boot);
		n += !err;
		if (err == -EAGAIN)
			remote_fail(r, err, "process %d: another tool attaches to it at this moment; try again", r->pid);
		if (!err)
			err = remote_read_maps(r);
	}
	return err < 0 ? remote_explain_access(r, err) : n;
}

/* Restore functions that are still patched. Returns their number, 0 if a session uses them, or a negative errno value. */
static int clean_patches(pid_t pid, char *why, size_t size)
{
	struct gpubpf_patch_counts counts = { 0 };
	int err = gpubpf_attach_count_patches(pid, &counts, why, size), n = (int)counts.patched;

	if (err == -ENOENT || (!err && (!n || counts.is_active)))
		return 0;
	if (!err)
		err = gpubpf_attach_restore_patches(pid, &counts, why, size);
	return err == -EBUSY ? 0 : err < 0 ? err : n;
}

/* Returns true if the process has neither start code nor patched functions. */
static bool is_untouched(struct remote *r)
{
	return !remote_read_maps(r) && !remote_find_stub(r) && !remote_find_file(r, "memfd:" GPUBPF_JOURNAL_FILE);
}

int gpubpf_attach_clean(pid_t pid, char *what, size_t what_size, char *why, size_t why_size)
{
	struct remote r;
	int n = remote_open(&r, pid, why, why_size), patches;

	if ((n == -EOPNOTSUPP || n == -EAGAIN) && is_untouched(&r))
		n = -ESRCH; /* gpubpf cannot attach to such a process, and has nothing to restore there */
	if (!n)
		n = clean_stubs(&r);
	remote_close(&r);
	patches = n < 0 ? n : clean_patches(pid, why, why_size);
	if (patches < 0)
		return patches == -ESRCH ? 0 : patches;
	if (n > 0 && patches)
		snprintf(what, what_size, "removed the start code of killed tools, and restored %d functions", patches);
	else if (n > 0)
		snprintf(what, what_size, "removed the start code of %s", n == 1 ? "a killed tool" : "killed tools");
	else if (patches)
		snprintf(what, what_size, "restored %d functions that a killed tool had patched", patches);
	return n + patches;
}
