/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device library as OpenCL C 1.2 text, which expand.py generates. A source that uses it has this text first, after
 * the macros that devlib.h lists.
 */
#ifndef GPUBPF_MAPS_TEXT_H
#define GPUBPF_MAPS_TEXT_H

extern const char gpubpf_device_text[];

#endif
