/* SPDX-License-Identifier: Apache-2.0 */
/* This file is compiled twice: with 0.1's header WHEN is layout_then, and with the current header it is layout_now. */
#include "tests/core/session/layout.h"

#include <gpubpf/gpubpf.h>

#define AT(type, member) { #type "." #member, offsetof(struct type, member), sizeof(((struct type *)0)->member) }
#define IS(constant) { #constant, constant, 0 }
#define COUNT_(when) when##_count
#define COUNT(when) COUNT_(when)

const struct layout WHEN[] = {
	AT(gpubpf_print_record, text), AT(gpubpf_print_record, prog), AT(gpubpf_print_record, kernel),
	AT(gpubpf_print_record, launch), AT(gpubpf_print_record, block), AT(gpubpf_print_record, thread),
	AT(gpubpf_print_record, process), AT(gpubpf_print_record, device),

	AT(gpubpf_event, map), AT(gpubpf_event, data), AT(gpubpf_event, size), AT(gpubpf_event, copy),
	AT(gpubpf_event, process), AT(gpubpf_event, device),

	AT(gpubpf_session_opts, sz), AT(gpubpf_session_opts, runtime_dir), AT(gpubpf_session_opts, worker_dir),
	AT(gpubpf_session_opts, agent), AT(gpubpf_session_opts, cache_dir), AT(gpubpf_session_opts, backend),
	AT(gpubpf_session_opts, all_gpu), AT(gpubpf_session_opts, no_wait), AT(gpubpf_session_opts, wait_ms),
	AT(gpubpf_session_opts, sample), AT(gpubpf_session_opts, first), AT(gpubpf_session_opts, max_events),
	AT(gpubpf_session_opts, no_events), AT(gpubpf_session_opts, max_cost), AT(gpubpf_session_opts, threads),
	AT(gpubpf_session_opts, inspect), AT(gpubpf_session_opts, print), AT(gpubpf_session_opts, event),
	AT(gpubpf_session_opts, note), AT(gpubpf_session_opts, ctx),

	AT(gpubpf_kernel_stats, sz), AT(gpubpf_kernel_stats, name), AT(gpubpf_kernel_stats, reason),
	AT(gpubpf_kernel_stats, outcome), AT(gpubpf_kernel_stats, dim), AT(gpubpf_kernel_stats, launches),
	AT(gpubpf_kernel_stats, probed), AT(gpubpf_kernel_stats, missed), AT(gpubpf_kernel_stats, grid),
	AT(gpubpf_kernel_stats, block), AT(gpubpf_kernel_stats, wait_ns), AT(gpubpf_kernel_stats, registers),
	AT(gpubpf_kernel_stats, twin_registers), AT(gpubpf_kernel_stats, twin_load_ns),
	IS(GPUBPF_OUTCOME_SEEN), IS(GPUBPF_OUTCOME_WAITING), IS(GPUBPF_OUTCOME_PROBED), IS(GPUBPF_OUTCOME_REFUSED),

	AT(gpubpf_cost_stats, sz), AT(gpubpf_cost_stats, load_ns), AT(gpubpf_cost_stats, verify_ns),
	AT(gpubpf_cost_stats, lower_ns), AT(gpubpf_cost_stats, build_ns), AT(gpubpf_cost_stats, wait_ns),
	AT(gpubpf_cost_stats, hook_ns), AT(gpubpf_cost_stats, twins), AT(gpubpf_cost_stats, cached),
	AT(gpubpf_cost_stats, refused), AT(gpubpf_cost_stats, twin_load_ns), AT(gpubpf_cost_stats, drained_bytes),
	AT(gpubpf_cost_stats, drain_ns),

	AT(gpubpf_report_opts, sz), AT(gpubpf_report_opts, json), AT(gpubpf_report_opts, maps_only),
	AT(gpubpf_report_opts, no_entries), AT(gpubpf_report_opts, map),
};
const size_t COUNT(WHEN) = sizeof(WHEN) / sizeof(WHEN[0]);
