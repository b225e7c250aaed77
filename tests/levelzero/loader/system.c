/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in that later.c links against; sycl.py puts a real library of this name next to it. */
