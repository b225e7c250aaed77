/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_TESTS_MISBEHAVE_H
#define GPUBPF_TESTS_MISBEHAVE_H

enum {
	MISBEHAVE_NOT,
	MISBEHAVE_CRASH,
	MISBEHAVE_HANG,
	MISBEHAVE_REFUSE,
	MISBEHAVE_GARBAGE,
	MISBEHAVE_OPEN,     /* no fault: shows what the sandbox refuses */
};

#define MISBEHAVE_INVALID "imagine" /* an invalid piece, marked by its text, since answers may have any size */

#endif
