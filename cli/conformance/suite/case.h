/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with which the readers of case files add objects and cases to a suite. */
#ifndef GPUBPF_CLI_CONFORMANCE_CASE_H
#define GPUBPF_CLI_CONFORMANCE_CASE_H

#include "suite.h"

/* Read a file and append it to the suite's objects. */
int suite_add_object(struct suite *s, const char *path, const char *name);
/*
 * Add a case that belongs to the last object. If the glob does not match the case, *c becomes NULL. Returns 0 or
 * -ENOMEM.
 */
int suite_add_case(struct suite *s, const char *group, const char *name, const char *glob, struct suite_case **c);

/* Sort the cases by group, then by name. */
void suite_sort(struct suite *s);

#endif
