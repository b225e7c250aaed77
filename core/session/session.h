/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session, for the files of core/session and for the tool. One thread, the caller of gpubpf_session__poll(), owns
 * all its data. The exception is data that core/session/twins/build_pool.h passes to builder threads.
 *
 * The session does not trust its peers. An invalid message ends only the connection of the peer that sent it. Every
 * table that a peer can fill has a limit.
 *
 * Each folder of core/session has its own data and header. A folder calls only itself and the folders below it in this
 * list:
 *
 * - this folder: session.c creates, starts, stops and frees the data
 * - loaders/: bpf(2) for loaders that do not know the session (core/session/base/loader_support.h)
 * - direct/: direct runs of programs
 * - kernel_bpf/: programs for the Linux kernel, and maps that are synchronized with it
 * - server/: sockets, event loop, messages of peers, queries, answers with twins, snapshots, rescue of maps, the
 *   environment of an application (core/session/server/environ.c)
 * - host/: programs of sections host/, which agents run
 * - objects/: BPF objects that are loaded or join later, links
 * - report/: the kernel table, the report, costs
 * - twins/: requests for twins, the threads that build them, the steps of a build, twins built in advance
 * - maps/: arenas, operations on elements, the kind of memory of each map, printed texts and records
 * - stacks/: host stacks of kernel launches, function symbols of a file
 * - base/: errors and notes, programs and maps, GPU kernels and their names, peers
 *
 * Other folders also use these headers: core/session/maps/entries.h (elements of a map), core/session/report/rows.h
 * (maps as tables), core/session/report/table.h (text tables), core/session/base/signature.h (a kernel's parameters),
 * core/session/base/sized.h (public structs that grow).
 */
#ifndef GPUBPF_SESSION_SESSION_H
#define GPUBPF_SESSION_SESSION_H

#include "core/session/base/kernel_names.h"
#include "core/session/base/loader_support.h"
#include "core/session/base/peers.h"
#include "core/session/base/status.h"
#include "core/session/base/unit.h"
#include "core/session/maps/session_maps.h"
#include "core/session/objects/session_objects.h"
#include "core/session/report/kernel_table.h"
#include "core/session/server/session_server.h"
#include "core/session/twins/session_twins.h"

/*
 * Implemented in core/session/server/environ.c. Build the environment of an application that joins the session at that socket. *env is one
 * allocation. Returns 0 or -errno; `why` has the reason, except for -ENOMEM.
 */
struct gpubpf_environ_opts {
	/*
	 * - session: path of the session's socket.
	 * - agent: path of the agent. NULL selects the installed agent.
	 * - backend: runtime to probe. NULL selects all runtimes.
	 */
	const char *session, *agent, *backend;
	bool loaders, supervised;
};
int gpubpf_environ(const struct gpubpf_environ_opts *o, char *const *base, char ***env, char *why, size_t size);
/* Build the environment of an application that is prepared for a later attach. Returns 0, or -errno with `why`. */
int gpubpf_environ_idle(char *const *base, char ***env, char *why, size_t size);

#endif
