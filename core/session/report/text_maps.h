/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the maps of a session as text. */
#ifndef GPUBPF_SESSION_TEXT_MAPS_H
#define GPUBPF_SESSION_TEXT_MAPS_H

#include "report.h"

/* Formats a value as text, in a thread-local buffer that the next call overwrites. */
const char *gpubpf_text_value(const struct btf *btf, const struct gpubpf_typed_names *names, uint32_t type,
			      const void *data, size_t size);
/*
 * Print the maps that opts include. With opts->no_entries, print their memory instead of their entries. Returns 0 or
 * -errno.
 */
int gpubpf_text_maps(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts);

#endif
