/* SPDX-License-Identifier: Apache-2.0 */
/* Times of launches that runtimes measured, in place of programs that would only measure the same. */
#ifndef GPUBPF_SESSION_LAUNCH_TIMES_H
#define GPUBPF_SESSION_LAUNCH_TIMES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct gpubpf_session;
struct gpubpf_prog;
struct session_report;

/*
 * Returns true if the program only measures times of launches. Such a program uses only maps for these times and scratch
 * maps, and its object has a map for these times.
 */
bool gpubpf_launch_times_only(const struct gpubpf_session *s, const struct gpubpf_prog *prog);
/* Add the times since the last call to the maps for times of launches. */
void gpubpf_launch_times_add(struct gpubpf_session *s);
/* Returns the number of launches that runtimes measured. *lost receives the number of launches without a time. */
uint64_t gpubpf_launch_times_count(const struct gpubpf_session *s, uint64_t *lost);
/* Implemented in text_times.c. Write how many times the runtimes measured, and how many they lost. */
void gpubpf_launch_times_text(const struct gpubpf_session *s, FILE *out);
/* Write by which factor probed launches take longer. receives_times: the map is for times of launches. */
void gpubpf_launch_factor_text(const struct gpubpf_session *s, bool receives_times, FILE *out);
void gpubpf_launch_times_destroy(struct session_report *report);

#endif
