/* SPDX-License-Identifier: Apache-2.0 */
/* The question that the probe sends to the host, and the host's answer. */
struct question {
	unsigned long long kernel, block;
};

struct answer {
	unsigned int tenant, weight;
};
