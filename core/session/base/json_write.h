/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_SESSION_JSON_WRITE_H
#define GPUBPF_SESSION_JSON_WRITE_H

#include <stdio.h>

struct json_object;

/* Write JSON in the format that the whole tool uses. Releases root. */
void gpubpf_json_write(struct json_object *root, FILE *out);
void gpubpf_json_line(struct json_object *root, FILE *out); /* writes it in one line */

#endif
