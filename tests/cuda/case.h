/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the ptx target share. */
#ifndef GPUBPF_TESTS_CUDA_CASE_H
#define GPUBPF_TESTS_CUDA_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/target.h"

/* A file's content, or a command's output, malloc'd and ended by a NUL that is not counted; ends the
 * test when a file cannot be read; NULL when a command fails. */
char *read_file(const char *path, size_t *size);
char *read_command(const char *command, size_t *size);
/* What nvcc (GPUBPF_TEST_NVCC, or where it is found) makes of a .cu; NULL: it is not here, or does not compile that. */
char *compiled_cubin(const char *source, const char *arch, const char *options, size_t *size);
const char *base_name(const char *path);
/* A copy whose last byte is the last that can be read; good until the next call. */
const char *guard(const void *data, size_t size);
/* The same numbers in each run. */
uint32_t random_below(uint32_t limit);
/* What stands behind `key` in its line; "" where the text has no such line. */
void expect_line(const char *text, const char *key, char *value, size_t size);
/* How often the word is in the text. */
uint32_t count(const char *text, size_t size, const char *word);
/* Do they differ in nothing but blanks and comments? */
bool are_alike(const char *a, size_t a_size, const char *b, size_t b_size);
/* GPUBPF_TEST_PTXAS, or where it is found; NULL: it is not here. */
const char *ptxas(void);
/* Does it take a PTX text for sm_<sm>? 1, 0; -1: it is not here. */
int assembles(const char *text, size_t size, int sm);
/* The object's first program, verified, at the entry and the exits of "kernel"; maps
 * as a session has them. Once a process. False, and a note, if it cannot be. */
bool job_of(const char *object, bool ends_threads, const struct gpubpf_device_caps *caps, struct gpubpf_lower_job *job);
/* Let each site of the job stand at every place of its kind that was listed. Good until the next call. */
void insert_everywhere(struct gpubpf_lower_job *job, const struct gpubpf_kernel_info *infos, uint32_t n);

#endif
