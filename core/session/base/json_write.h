/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_SESSION_JSON_WRITE_H
#define GPUBPF_SESSION_JSON_WRITE_H

#include <stdio.h>

struct json_object;

/* Write root as indented JSON, and release root. */
void gpubpf_json_write(struct json_object *root, FILE *out);
void gpubpf_json_line(struct json_object *root, FILE *out); /* like gpubpf_json_write(), in one line */

#endif
