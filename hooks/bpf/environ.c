/* SPDX-License-Identifier: Apache-2.0 */
/* The one file here that reads the environment. A set-user-ID program sees none of it. */
#include "environ.h"

#include <stdlib.h>

const char *loader_env_session(void)
{
	const char *v = secure_getenv("GPUBPF_SESSION");

	return v && *v ? v : NULL;
}
