/* SPDX-License-Identifier: Apache-2.0 */
/*
 * draw.c: draws a trace as a picture (SVG). It is a format that passes all events on to another format. It divides the time
 * into 2048 equal steps. For each row and step, it keeps the name that was busy for the longest time. So its memory does
 * not depend on the length of the trace.
 */
#ifndef GPUBPF_CLI_TIMELINE_DRAW_H
#define GPUBPF_CLI_TIMELINE_DRAW_H

#include "timeline.h"

struct drawing;
/* Draw the spans that are written to `out` from now on. Returns NULL if memory is exhausted. */
struct drawing *drawing_create(struct timeline_output *out);
/* Write the picture to the file. Returns 0 or -errno. */
int drawing_write(const struct drawing *d, const char *path);
void drawing_destroy(struct drawing *d);

#endif
