/* SPDX-License-Identifier: Apache-2.0 */
/* An empty library that later.c links against. sycl.py puts the real loader under this name into the same folder. */
