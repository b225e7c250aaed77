/* SPDX-License-Identifier: Apache-2.0 */
/* The members of struct session_objects, for the files of this folder. */
#ifndef GPUBPF_SESSION_OBJECTS_PRIVATE_H
#define GPUBPF_SESSION_OBJECTS_PRIVATE_H

#include "core/session/private.h"

/* The objects, initial values and patterns that gpubpf_session__load() uses. */
struct session_objects {
	char **paths; /* [npaths] */
	/* [npaths] owned contents of objects; NULL data: read the object from its path */
	struct gpubpf_load_image *images;
	struct gpubpf_attach *attach;     /* [nattach] */
	struct gpubpf_load_value *values; /* [nvalues], all owned */
	uint32_t npaths, nattach, nvalues;
};

#endif
