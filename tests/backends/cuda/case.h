/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the tests of the PTX target share. */
#ifndef GPUBPF_TESTS_CUDA_CASE_H
#define GPUBPF_TESTS_CUDA_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/target.h"

/*
 * Return the content of a file, or the output of a command. The caller frees the buffer. A NUL byte follows the
 * content; size does not count the NUL. read_file() ends the test if it cannot read the file; read_command() returns
 * NULL if the command fails.
 */
char *read_file(const char *path, size_t *size);
char *read_command(const char *command, size_t *size);
/*
 * Compiles a .cu file with nvcc (the path in GPUBPF_TEST_NVCC, or an installed one). Returns NULL if there is no nvcc
 * or if nvcc fails.
 */
char *compiled_cubin(const char *source, const char *arch, const char *options, size_t *size);
const char *base_name(const char *path);
/*
 * Returns a copy of the data. Unreadable memory follows the copy, so a read past its end faults. Valid until the next
 * call.
 */
const char *guard(const void *data, size_t size);
/* A pseudo-random number below limit; the sequence is the same in each run. */
uint32_t random_below(uint32_t limit);
/* Copies the rest of the first line that starts with `key` into value; copies "" if no line does. */
void expect_line(const char *text, const char *key, char *value, size_t size);
/* Counts the occurrences of the word in the text. */
uint32_t count(const char *text, size_t size, const char *word);
/* Are both texts equal except for blanks and comments? */
bool are_alike(const char *a, size_t a_size, const char *b, size_t b_size);
/* The path of ptxas: GPUBPF_TEST_PTXAS, or an installed one; NULL if there is none. */
const char *ptxas(void);
/* Does ptxas assemble the PTX text for sm_<sm>? 1 yes, 0 no, -1 no ptxas. */
int assembles(const char *text, size_t size, int sm);
/*
 * Load and verify the BPF object. Fill *job so that the object's first program runs at the entry and at each exit of
 * the GPU kernel named "kernel". The maps are laid out as in a session. Call the function once per process. On failure
 * it prints a note and returns false.
 */
bool job_of(const char *object, bool ends_threads, const struct gpubpf_device_caps *caps, struct gpubpf_lower_job *job);
/*
 * Inserts each site of the job at every listed place of the site's kind. job->insertions is valid until the next call.
 */
void insert_everywhere(struct gpubpf_lower_job *job, const struct gpubpf_kernel_info *infos, uint32_t n);

#endif
