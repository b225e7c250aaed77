/* SPDX-License-Identifier: Apache-2.0 */
/* The text of kernels.cl with the device library, which maps/device/expand.py writes. */
#ifndef GPUBPF_TESTS_MAPS_KERNELS_H
#define GPUBPF_TESTS_MAPS_KERNELS_H

extern const char gpubpf_test_kernels[];

#endif
