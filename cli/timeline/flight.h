/* SPDX-License-Identifier: Apache-2.0 */
/* flight.c: the flight recorder. It keeps the newest bytes of a trace, and writes them on a trigger. */
#ifndef GPUBPF_CLI_TIMELINE_FLIGHT_H
#define GPUBPF_CLI_TIMELINE_FLIGHT_H

#include "timeline.h"

#define FLIGHT_FILES 100 /* maximum number of files of one recording */

struct flight {
	const char *path; /* of the first file; the next has the number 2 before its suffix */
	struct timeline *t;
	struct timeline_sink *sink;
	uint32_t nfiles;
};

/* Begin: SIGUSR1 becomes a trigger. `size` is the value of --ring, such as 64M. Returns an exit status. */
int flight_begin(struct flight *f, const char *size);
/* Returns true once after the signal. */
bool flight_was_signalled(void);
/* Write what the ring has, and print the file and the reason. */
void flight_write(struct flight *f, const char *why);

#endif
