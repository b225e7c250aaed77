/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defines the functions that the session calls for loaders, which are processes that use libbpf or bpf(2). The folder
 * kernel_bpf loads programs into the Linux kernel. The folder `loaders` runs bpf(2) calls for loaders that do not know
 * the session.
 *
 * session.c installs the functions. In a session without them, the calls do nothing. Loaders install two further tables
 * of functions for a map that needs them (core/session/maps/synced.h and core/session/maps/loader_ops.h).
 */
#ifndef GPUBPF_SESSION_LOADER_SUPPORT_H
#define GPUBPF_SESSION_LOADER_SUPPORT_H

#include <stdbool.h>
#include <stdint.h>

struct gpubpf_packet;
struct gpubpf_peer;
struct gpubpf_session;

enum gpubpf_support_event {
	/* the programs are verified, and no map has memory yet; the handler may return -ENOMEM */
	GPUBPF_SUPPORT_VERIFIED,
	GPUBPF_SUPPORT_LAID_OUT,  /* the maps have memory */
	GPUBPF_SUPPORT_LISTENING, /* the socket exists, and loaders may connect; the handler may return -errno */
	GPUBPF_SUPPORT_STARTED,
	GPUBPF_SUPPORT_STOPPING,
	GPUBPF_SUPPORT_CLOSING, /* comes once, before the session's other data is freed, even if no other event came */
};

enum gpubpf_support_sync {
	GPUBPF_SYNC_MAPS,    /* synchronize maps with their Linux maps; runs before a read and when the session stops */
	GPUBPF_SYNC_RECORDS, /* deliver to loaders all records that were written before this call */
};

struct gpubpf_support_ops {
	/* called when the session reaches that point; returns 0 or -errno */
	int (*on_event)(struct gpubpf_session *s, enum gpubpf_support_event event);
	/* answer a request of a loader; returns 0, or -errno after which the caller closes the connection */
	int (*answer)(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_packet *msg);
	/*
	 * Called in each turn of the event loop. `timer` is true if the timer of this function has expired. Sets
	 * *mirrors if mirrors of maps must be copied again. Returns the maximum period of the timer in ns, or 0 if no
	 * timer is needed.
	 */
	uint64_t (*turn)(struct gpubpf_session *s, bool timer, bool *mirrors);
	void (*synchronize)(struct gpubpf_session *s, enum gpubpf_support_sync what);
	/*
	 * Run GPUBPF_QUERY_PIN or GPUBPF_QUERY_UNPIN. words[0] is the path of the pin. Returns 0, or -errno with the
	 * reason in gpubpf_session__error().
	 */
	int (*pin)(struct gpubpf_session *s, uint32_t what, const char *map, char *const *words, uint32_t nwords);
};

/* These call the functions above. In a session without the functions, they do nothing. */
int gpubpf_support_event(struct gpubpf_session *s, enum gpubpf_support_event event);
int gpubpf_support_answer(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_packet *msg);
uint64_t gpubpf_support_turn(struct gpubpf_session *s, bool timer, bool *mirrors);
void gpubpf_support_synchronize(struct gpubpf_session *s, enum gpubpf_support_sync what);
int gpubpf_support_pin(struct gpubpf_session *s, uint32_t what, const char *map, char *const *words, uint32_t nwords);

#endif
