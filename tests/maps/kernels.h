/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.cl with the device library as one text (made by maps/device/expand.py). */
#ifndef GPUBPF_TESTS_MAPS_KERNELS_H
#define GPUBPF_TESTS_MAPS_KERNELS_H

extern const char gpubpf_test_kernels[];

#endif
