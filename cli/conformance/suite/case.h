/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the readers of cases share. */
#ifndef GPUBPF_CLI_CONFORMANCE_CASE_H
#define GPUBPF_CLI_CONFORMANCE_CASE_H

#include "suite.h"

/* Read a file as the next object. */
int suite_add_object(struct suite *s, const char *path, const char *name);
/* Add a case to the last object; *c is NULL if the glob excludes it. Returns 0 or -ENOMEM. */
int suite_add_case(struct suite *s, const char *group, const char *name, const char *glob, struct suite_case **c);

/* Sort by group, then by name. */
void suite_sort(struct suite *s);

#endif
