/* SPDX-License-Identifier: Apache-2.0 */
/* The call that the test's probe makes in each thread. */
struct ask {
	unsigned long long thread;
	unsigned int launch;
};

struct reply {
	unsigned long long value;
	unsigned int launch;
	unsigned char end[3];
} __attribute__((packed));

enum { EXACT, LATE, REFUSED, WRONG, OUTCOMES };
