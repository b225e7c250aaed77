/* SPDX-License-Identifier: Apache-2.0 */
/* Lists, attaches and detaches the ready probes of a running session. */
#ifndef GPUBPF_CLI_FIGURES_LINKS_H
#define GPUBPF_CLI_FIGURES_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct figures_link {
	uint32_t id;
	char object[512]; /* path of the object that has the program */
};

/*
 * Store the session's links in *links (malloc'd). Returns their number, or -errno with the reason in `why`.
 */
int figures_links_list(const char *path, struct figures_link **links, char *why, size_t size);
/* Returns true if a link belongs to the ready probe of this name. */
bool figures_links_has(const struct figures_link *links, int n, const char *probe);
/* Attach all programs of a ready probe to all kernels, or detach them. Returns 0, or -errno with the reason in `why`. */
int figures_links_switch(const char *path, const char *probe, bool on, char *why, size_t size);
/* Detach all links of the session. Errors are ignored, because the session may have ended. */
void figures_links_detach_all(const char *path);

#endif
