/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the interface between the session and its support for loaders (core/session/base/loader_support.h). */
#include "session_loaders.h"

#include "core/session/kernel_bpf/kernel_maps.h"
#include "private.h"

static int on_event(struct gpubpf_session *s, enum gpubpf_support_event event)
{
	switch (event) {
	case GPUBPF_SUPPORT_VERIFIED:
		return gpubpf_linux_progs_load(s);
	case GPUBPF_SUPPORT_LAID_OUT:
		gpubpf_linux_progs_sync_maps(s);
		return 0;
	case GPUBPF_SUPPORT_LISTENING:
		return gpubpf_pins_open(s);
	case GPUBPF_SUPPORT_STARTED:
		if (!s->opts.no_attach)
			gpubpf_linux_progs_attach(s);
		return 0;
	case GPUBPF_SUPPORT_STOPPING:
		sys_run_stop(s);
		gpubpf_linux_progs_detach(s);
		return 0;
	case GPUBPF_SUPPORT_CLOSING:
		gpubpf_kernel_bpf_destroy(s); /* first: synchronized maps use descriptors of loaders' maps */
		gpubpf_bpf_finish(s);
		return 0;
	}
	return 0;
}

static uint64_t run_turn(struct gpubpf_session *s, bool timer, bool *mirrors)
{
	if (timer) {
		gpubpf_bpf_sweep(s);
		*mirrors |= gpubpf_linux_maps_need_mirrors(s);
		return 0;
	}
	sys_run_turn(s);
	gpubpf_bpf_resume(s);
	gpubpf_linux_maps_poll(s);
	return gpubpf_linux_maps_is_active(s) ? GPUBPF_LINUX_PASS_NS : s->loaders ? UINT64_MAX : 0;
}

static void synchronize(struct gpubpf_session *s, enum gpubpf_support_sync what)
{
	if (what == GPUBPF_SYNC_RECORDS)
		gpubpf_linux_rings_flush(s);
	else
		gpubpf_linux_maps_pass(s);
}

const struct gpubpf_support_ops gpubpf_loader_support = {
	.on_event = on_event,
	.answer = gpubpf_bpf_message,
	.turn = run_turn,
	.synchronize = synchronize,
	.pin = gpubpf_pin_query,
};
