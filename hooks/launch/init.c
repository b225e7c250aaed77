/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Initializes the agent. The first call of an adapter joins the session and passes the launch path's handlers to the
 * client (hooks/client).
 */
#include "hooks/agent.h"

#include <errno.h>
#include <string.h>

/*
 * Call in the child of a fork, which starts without devices. Other threads of the parent may have held locks, so
 * initialize them.
 */
static void reset_child(void)
{
	gpubpf_devices_after_fork();
	gpubpf_host_after_fork();
	gpubpf_agent_jobs_after_fork();
	gpubpf_stacks_after_fork();
}

static const struct gpubpf_client_handlers handlers = {
	.share = gpubpf_shared_arena_part,
	.pull = gpubpf_device_pull,
	.hold = gpubpf_hold_launches,
	.has_copied_arena = gpubpf_device_any_copied_arena,
	.copy_all_at_exit = gpubpf_device_copy_all_at_exit,
	.reset_child = reset_child,
};

const struct gpubpf_client_handlers *gpubpf_hook_handlers(void)
{
	return &handlers;
}

bool gpubpf_hook_attached(void)
{
	return gpubpf_session_attached();
}

bool gpubpf_hook_active(void)
{
	return gpubpf_session_up();
}

bool gpubpf_hook_joined(void)
{
	return gpubpf_session_joined() && !gpubpf_session_sealed();
}

int gpubpf_hook_init(const struct gpubpf_hook_ops *ops)
{
	const char *backend = gpubpf_env_backend();

	gpubpf_hook_check(ops);
	if (!gpubpf_session_present())
		return -ENOENT;
	if (backend && strcmp(backend, ops->backend))
		return -EBUSY;
	gpubpf_clock_read_baseline();
	return gpubpf_session_join(ops->backend, &handlers);
}
