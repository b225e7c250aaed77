/* SPDX-License-Identifier: Apache-2.0 */
/* The members of struct session_maps, for the files of this folder. */
#ifndef GPUBPF_SESSION_MAPS_PRIVATE_H
#define GPUBPF_SESSION_MAPS_PRIVATE_H

#include "core/session/private.h"

/* A --place option: the user's choice of memory for a map. */
struct gpubpf_placement_request {
	char *map; /* name or glob, which this struct owns */
	int where; /* enum gpubpf_placement */
};

struct session_maps {
	struct gpubpf_session_arena arenas[GPUBPF_MAX_ARENAS];
	uint32_t narenas;
	char shared_backend[16]; /* the runtime of the devices on host memory; "" if they have several */
	bool shared_mixed;
	struct gpubpf_placement_request *places; /* [nplaces] */
	uint32_t nplaces;
	struct gpubpf_stored_record *stored; /* [nstored] */
	/* nrecords also counts records beyond the limit, which are not stored */
	uint64_t nstored, nrecords;
	/* [GPUBPF_MAX_MAPS]: number of records that were read from the map's ring */
	uint64_t *records;
	struct session_host_calls *host_calls;      /* host_calls.c; NULL: no function is registered */
	bool *set;                                  /* [GPUBPF_MAX_MAPS]: the tool has changed the map */
	const struct gpubpf_synced_ops *synced_ops; /* NULL: no map is synchronized */
	const struct gpubpf_loader_ops *loader_ops; /* NULL: no loader reads records */
};

/* placement.c */
void gpubpf_placements_free(struct session_maps *maps);
/* arena.c */
void gpubpf_arenas_close(struct session_maps *maps);

#endif
