/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach PID LIBRARY ROUNDS: attaches ROUNDS times and prints "N attached, last byte B", or the reason of the first
 * failure. Exit status 1 if one failed.
 */
#include "core/attach/attach.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct gpubpf_attach_process_opts opts = { .library = argc > 2 ? argv[2] : "", .wait_ms = 3000 };
	int rounds = argc > 3 ? atoi(argv[3]) : 1, attached = 0;
	unsigned char byte = 0;
	char why[512] = "";

	for (int i = 0; i < rounds; i++) {
		int sock = gpubpf_attach_process(atoi(argv[1]), &opts, NULL, why, sizeof(why));

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
