/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_WIRE_SHA256_H
#define GPUBPF_WIRE_SHA256_H

#include <stddef.h>
#include <stdint.h>

void gpubpf_sha256(const void *data, size_t size, uint8_t digest[32]); /* FIPS 180-4 */
void gpubpf_sha256_hex(const void *data, size_t size, char hex[65]);

#endif
