/* SPDX-License-Identifier: Apache-2.0 */
/* linux_maps.c: maps that programs of the Linux kernel and those for a GPU have one each of, kept alike (MAPS.md). */
#ifndef GPUBPF_SESSION_LINUX_MAPS_H
#define GPUBPF_SESSION_LINUX_MAPS_H

#include "session.h"

#define GPUBPF_LINUX_PASS_NS 10000000u /* from pass to pass, unless they take long */

/* Keep a map of the session like the kernel's of that descriptor, which lives as long; a load note tells why it cannot be.
 * After the session's first arena is there. */
void gpubpf_linux_maps_add(struct gpubpf_session *s, uint32_t map, int fd);
void gpubpf_linux_maps_close(struct gpubpf_session *s);
void gpubpf_linux_maps_pass(struct gpubpf_session *s);  /* now: before somebody reads, and at the end */
void gpubpf_linux_maps_poll(struct gpubpf_session *s);  /* if it is time */
/* Are mirrors to be copied, for what devices with memory of their own wrote? Once each time that it is time. */
bool gpubpf_linux_maps_want_mirrors(struct gpubpf_session *s);

#endif
