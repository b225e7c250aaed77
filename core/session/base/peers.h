/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that are connected to a session, and their devices. */
#ifndef GPUBPF_SESSION_PEERS_H
#define GPUBPF_SESSION_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/wire/caps.h"
#include "core/wire/msg.h"
#include "core/wire/protocol.h"

#define GPUBPF_MAX_PEERS 256
#define GPUBPF_MAX_DEVICES 64 /* maximum devices of one peer */
#define GPUBPF_MAX_LISTED 256 /* maximum number of devices that a report lists */
#define GPUBPF_MAX_KNOWN 4096 /* maximum number of images that the session remembers per peer */
#define GPUBPF_FIRST_PEER 16  /* id of the first peer; lower numbers are free for other uses */

struct gpubpf_peer_code;
struct gpubpf_image_copy;
struct gpubpf_parked;
struct gpubpf_session;

struct gpubpf_session_device {
	uint32_t number; /* the agent's number for the device */
	struct gpubpf_device_caps caps;
	int arena;              /* index of the device's arena in arenas[]; -1: the device cannot be probed */
	uint64_t pull_until_ns; /* deadline for the agent's answer to the last GPUBPF_MSG_PULL; 0: no answer is due */
	uint32_t pulls;         /* number of GPUBPF_MSG_PULL messages; it numbers the last one */
	bool rescued;           /* gpubpf-rescue has already run for the device's maps, successfully or not */
	/*
	 * descriptor of the device memory of the maps, or -1; the session copies the maps from it if the process cannot
	 */
	int memory_fd;
	bool had_memory_fd; /* the agent has sent a memory_fd; the session refuses a second one */
};

enum gpubpf_peer_kind {
	GPUBPF_PEER_NEW, /* the peer has not sent HELLO yet */
	GPUBPF_PEER_AGENT,
	GPUBPF_PEER_TOOL,
	GPUBPF_PEER_LOADER,
};

struct gpubpf_peer {
	struct gpubpf_peer *next;
	uint64_t id; /* never reused */
	int sock;
	enum gpubpf_peer_kind kind;
	bool attached;    /* the tool attached to the process while it ran */
	bool is_foreign;  /* a process of root in the session of another user; it may only send queries */
	uint32_t process; /* number of the process in the session, from 0 */
	uint32_t pid;
	char exe[256], backend[32];
	struct gpubpf_session_device *devices;
	uint32_t ndevices, nrequests;
	struct gpubpf_known_image {
		uint64_t identity; /* the peer's key for the image */
		uint8_t digest[32];
		struct gpubpf_image_copy *copy; /* NULL: the peer sends the image with each request */
	} *known;                               /* [nknown] images that the peer has sent, at most GPUBPF_MAX_KNOWN */
	uint32_t nknown;
	/* code and symbols of the process, owned by core/session/stacks/stacks.c; NULL: not read yet */
	struct gpubpf_peer_code *code;
	enum gpubpf_held held; /* the agent's answer to the last GPUBPF_MSG_HOLD */
	/* a loader's request that waits (core/session/loaders/serve.c), in one allocation; or NULL */
	struct gpubpf_parked *parked;
	struct {                              /* a query of a command-line tool that waits for mirrors */
		bool open, mirrors_requested; /* mirrors_requested: the session has sent the requests for mirrors */
		bool holds_launches;          /* launches wait until the query is answered */
		uint32_t what, flags, seq;
		char map[64];
		/* words of the command line that name a map element, in one allocation that the peer owns */
		char **words;
		uint32_t nwords;
		uint64_t deadline_ns;
	} query;
};

/* A device in the report. It is listed once, even if a process opens several contexts on the device. */
struct gpubpf_listed_device {
	uint32_t process, ordinal;
	uint32_t pid;
	char backend[16], name[96];
	char program[256]; /* path of the process's program, as the agent reported it */
};

int gpubpf_peers_create(struct gpubpf_session *s);   /* 0 or -ENOMEM */
void gpubpf_peers_destroy(struct gpubpf_session *s); /* call it after the server has removed all peers */

/* Add a peer for a connected socket. Returns NULL if memory is short or the session has GPUBPF_MAX_PEERS peers. */
struct gpubpf_peer *gpubpf_peers_add(struct gpubpf_session *s, int sock, uint32_t pid);
/* Remove the peer from the list. The caller then frees the data of the peer and the peer itself. */
void gpubpf_peers_remove(struct gpubpf_session *s, struct gpubpf_peer *peer);
/* start of the list, which continues at peer->next */
struct gpubpf_peer *gpubpf_peers_first(const struct gpubpf_session *s);
uint32_t gpubpf_peers_count(const struct gpubpf_session *s);

/* Count the process of a peer that is an agent, and give the process the next index. */
void gpubpf_peers_add_process(struct gpubpf_session *s, struct gpubpf_peer *peer);
/*
 * Count a device of the peer. Add it to the list for the report, unless it is in the list or the list has
 * GPUBPF_MAX_LISTED devices.
 */
void gpubpf_peers_list_device(struct gpubpf_session *s, const struct gpubpf_peer *peer,
			      const struct gpubpf_device_caps *caps);
/* Returns the i-th listed device, or NULL after the last. */
const struct gpubpf_listed_device *gpubpf_session_listed_device(const struct gpubpf_session *s, uint32_t i);

struct gpubpf_peer *gpubpf_peer_find(struct gpubpf_session *s, uint64_t id);
/* Returns the image that the peer sent with that identity, or NULL. */
const struct gpubpf_known_image *gpubpf_peer_known(const struct gpubpf_peer *peer, uint64_t identity);
int gpubpf_peer_send(struct gpubpf_peer *peer, uint16_t type, uint32_t seq, struct gpubpf_writer *w, const int *fds,
		     uint32_t nfds);

#endif
