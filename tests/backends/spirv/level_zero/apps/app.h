/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that the Level Zero programs of the tests share. Each program is an application without knowledge of
 * probes. It prints digests of its results, which probes must not change. argv[1] is the folder of the modules. argv[2]
 * is "compiles" if the driver compiles launches without executing them; then the results are not compared.
 */
#ifndef GPUBPF_TESTS_LEVELZERO_APP_H
#define GPUBPF_TESTS_LEVELZERO_APP_H

#include <level_zero/ze_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) app_check(call, #call, __FILE__, __LINE__)

extern ze_driver_handle_t app_driver;
extern ze_context_handle_t app_context;
extern ze_device_handle_t app_device;
extern ze_command_queue_handle_t app_queue;
extern ze_command_list_handle_t app_list;      /* a regular list */
extern ze_command_list_handle_t app_immediate; /* a synchronous one */

void app_check(ze_result_t err, const char *what, const char *file, int line);
void app_open(int argc, char **argv);
int app_close(void);

void *app_read(const char *name, size_t *size);        /* reads a file of the modules' folder; the caller frees it */
ze_module_handle_t app_module(const char *name, const char *flags, const ze_module_constants_t *constants);
ze_kernel_handle_t app_kernel(ze_module_handle_t module, const char *name, uint32_t group);

enum app_memory { APP_HOST, APP_SHARED, APP_DEVICE };
void *app_alloc(enum app_memory kind, size_t size);     /* allocates memory and fills its words with 0, 1, 2, ... */
void app_digest(const void *memory, size_t size);
/* Set an argument of the kernel to a pointer, or to a number. */
void app_pointer(ze_kernel_handle_t kernel, uint32_t index, const void *pointer);
void app_u32(ze_kernel_handle_t kernel, uint32_t index, uint32_t value);

/* Launches the kernel once, with the group size of app_kernel() and this number of groups. */
void app_launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel, uint32_t groups);
/* counts launches that app_launch() did not make; items: threads of each launch */
void app_ran(const char *name, uint32_t launches, uint32_t items);
void app_run(void);                                     /* closes the regular list, executes it and waits for its end */

#endif
