/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the Level Zero programs of the tests share. They know nothing of probes; each prints digests of what its kernels
 * computed, which are the same whether they are probed or not. argv[1]: the folder of the modules, argv[2]: "compiles" where
 * launches are compiled and not executed, so that nothing is compared.
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
extern ze_command_list_handle_t app_list;      /* a regular one */
extern ze_command_list_handle_t app_immediate; /* a synchronous one */

void app_check(ze_result_t err, const char *what, const char *file, int line);
void app_open(int argc, char **argv);
int app_close(void);

void *app_read(const char *name, size_t *size);        /* a module of the folder */
ze_module_handle_t app_module(const char *name, const char *flags, const ze_module_constants_t *constants);
ze_kernel_handle_t app_kernel(ze_module_handle_t module, const char *name, uint32_t group);

enum app_memory { APP_HOST, APP_SHARED, APP_DEVICE };
void *app_alloc(enum app_memory kind, size_t size);     /* with 0, 1, 2, ... in its words */
void app_digest(const void *memory, size_t size);
/* pointers and numbers */
void app_pointer(ze_kernel_handle_t kernel, uint32_t index, const void *pointer);
void app_u32(ze_kernel_handle_t kernel, uint32_t index, uint32_t value);

/* One launch, that is executed once, of the kernel with the groups that app_kernel() gave it. */
void app_launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel, uint32_t groups);
void app_ran(const char *name, uint32_t launches, uint32_t items); /* others: of so many threads, each */
void app_run(void);                                     /* close the regular list, execute it and wait */

#endif
