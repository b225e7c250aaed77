/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of struct gpubpf_session, for the files of core/session: the state, the options, and a pointer to the
 * data of each folder. The members of that data are in the folder's private.h, or in the only file that uses them.
 * Other folders call the functions of the folder's public header. ci/check-includes lets only a folder, and the folders
 * below it, include its private.h.
 */
#ifndef GPUBPF_SESSION_PRIVATE_H
#define GPUBPF_SESSION_PRIVATE_H

#include "core/session/session.h"

/* Creates and frees the private sessions that hold maps of loaders. Such a session has no loaders and never starts. */
struct gpubpf_session_factory {
	struct gpubpf_session *(*create)(const struct gpubpf_session_opts *opts);
	void (*destroy)(struct gpubpf_session *s);
};

struct gpubpf_session {
	enum gpubpf_session_state state; /* changed only by session.c and core/session/objects/load.c */
	struct gpubpf_session_opts opts; /* strings owned; constant */
	/* processes that join may be loaders; libgpubpf-bpf.so is preloaded into them, unless supervised */
	bool admits_loaders;
	bool attaches;   /* the tool attaches to running processes; no launch waits for its twin */
	bool supervised; /* a supervisor intercepts the system calls of processes that join */
	const struct gpubpf_support_ops *support; /* core/session/base/loader_support.h; NULL: no loaders */
	/* creates private sessions for loaders' maps that have not joined */
	const struct gpubpf_session_factory *factory;

	struct session_status *status;   /* core/session/base/status.h */
	struct session_unit *unit;       /* core/session/base/unit.h */
	struct session_kernels *kernels; /* core/session/base/kernel_names.h */
	struct session_peers *peers;     /* core/session/base/peers.h */
	struct session_stacks *stacks;   /* core/session/stacks/stacks.h */
	struct session_maps *maps;       /* core/session/maps/session_maps.h */
	struct session_twins *twins;     /* core/session/twins/session_twins.h */
	struct session_report *report;   /* core/session/report/kernel_table.h */
	struct session_objects *objects; /* core/session/objects/session_objects.h */
	struct session_server *server;   /* core/session/server/session_server.h */
	/* core/session/kernel_bpf/kernel_maps.h; NULL: no BPF program or map is in the Linux kernel */
	struct session_kernel_bpf *kernel_bpf;
	struct gpubpf_direct_run *direct; /* core/session/direct/direct_run.h; NULL: no direct run is in progress */
	uint32_t directs;                 /* number of direct runs that have begun */
	struct session_loaders *loaders; /* core/session/loaders/session_loaders.h; NULL: no loader has created an object */
};

#endif
