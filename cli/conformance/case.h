/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of cases share. */
#ifndef GPUBPF_CLI_CONFORMANCE_CASE_H
#define GPUBPF_CLI_CONFORMANCE_CASE_H

#include "suite.h"

/* Read a file as the next object. */
int suite_add_object(struct suite *s, const char *path, const char *name);
/* A case of the last object; *c is NULL if the glob leaves it out. -ENOMEM. */
int suite_add_case(struct suite *s, const char *group, const char *name, const char *glob, struct suite_case **c);

/* By group, then by name. */
void suite_sort(struct suite *s);

#endif
