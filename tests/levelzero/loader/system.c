/* SPDX-License-Identifier: Apache-2.0 */
/* What later.c is linked with: the name of a library that it is to have beside it. */
