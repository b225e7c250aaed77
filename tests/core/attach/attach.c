/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach PID LIBRARY ROUNDS: attaches ROUNDS times and prints "N attached, last byte B", or the reason of the first
 * failure. Exit status 1 if one failed. In several rounds, it repeats an attach if no thread stopped in time, which
 * happens on a busy machine.
 */
#include "core/attach/attach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define REPEATS 100 /* each takes up to 3 s */

int main(int argc, char **argv)
{
	struct gpubpf_attach_process_opts opts = { .library = argc > 2 ? argv[2] : "", .wait_ms = 3000 };
	int rounds = argc > 3 ? atoi(argv[3]) : 1, attached = 0, repeats = rounds > 1 ? REPEATS : 0;
	unsigned char byte = 0;
	char why[512] = "";

	for (int i = 0; i < rounds; i++) {
		int sock;

		do
			sock = gpubpf_attach_process(atoi(argv[1]), &opts, NULL, why, sizeof(why));
		while (sock == -ETIMEDOUT && repeats-- > 0);
		if (sock < 0) {
			printf("%d: %s\n", sock, why);
			return 1;
		}
		attached += read(sock, &byte, 1) == 1;
		close(sock);
	}
	printf("%d attached, last byte %d\n", attached, byte);
	return attached != rounds;
}
