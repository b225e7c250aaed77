/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of received data: truncated and oversized packets, memory without seals, and sockets of other users. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/wire/msg.h"
#include "core/wire/wire.h"
#include "tests/tap.h"

#define STRANGER 65534

/* -- packets -- */

static bool reads_whole(size_t size)
{
	static const uint8_t bytes[13] = { 1, 0, 0, 0, 1, 0, 0, 0, 'a' }; /* a number, a string */
	struct gpubpf_reader r;
	char text[8];

	gpubpf_reader_init(&r, bytes, size);
	gpubpf_get_u32(&r);
	gpubpf_get_str(&r, text, sizeof(text));
	return gpubpf_reader_done(&r);
}

static void test_rest(void)
{
	bool longer = false, shorter = false;

	for (size_t n = 0; n < 9; n++)
		shorter |= reads_whole(n);
	for (size_t n = 10; n <= 13; n++)
		longer |= reads_whole(n);
	ok(reads_whole(9), "a packet that is read to its end is whole");
	ok(!shorter, "one that is cut is not");
	ok(!longer, "one with bytes left is not");
}

static void test_header(void)
{
	struct {
		struct gpubpf_msg_hdr h;
		uint8_t more[16];
	} packet = { .h = { .magic = GPUBPF_MSG_MAGIC, .major = GPUBPF_MSG_MAJOR, .type = GPUBPF_MSG_NOTE, .length = 8 } };
	struct gpubpf_packet msg;
	bool other = false;

	ok(!gpubpf_msg_parse(&packet, sizeof(packet.h) + 8, &msg), "a packet as long as its header says");
	for (size_t n = 0; n <= sizeof(packet); n++)
		other |= n != sizeof(packet.h) + 8 && !gpubpf_msg_parse(&packet, n, &msg);
	ok(!other, "no other length is taken");
}

/* -- memory -- */

static bool is_writable(int fd)
{
	void *map = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map != MAP_FAILED)
		munmap(map, 4);
	return map != MAP_FAILED || pwrite(fd, "x", 1, 0) == 1;
}

static bool is_resizable(int fd, off_t size)
{
	return !ftruncate(fd, size - 1) || !ftruncate(fd, size + 1) || !fallocate(fd, 0, 0, size + 4096);
}

static void test_memory(void)
{
	int image = gpubpf_memfd_image("test", "image", 5), shared = gpubpf_memfd_shared("test", 8192);
	int open = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char text[8] = "";

	ok(pread(image, text, sizeof(text), 0) == 5 && !memcmp(text, "image", 5), "an image has its bytes");
	ok(!is_writable(image) && !is_resizable(image, 5), "nobody can write or resize it");
	ok(fcntl(image, F_ADD_SEALS, F_SEAL_SEAL) < 0, "nor add seals");
	ok(is_writable(shared) && !is_resizable(shared, 8192), "what is shared can be written, not resized");
	ok(gpubpf_memfd_size(image, 5) == 5 && gpubpf_memfd_size(shared, 8192) == 8192, "both have a size");
	ok(gpubpf_memfd_size(image, 4) == -E2BIG, "unless it is larger than there is room for");
	ok(gpubpf_memfd_size(open, 100) == -EPERM, "memory that can shrink has none");
	close(image);
	close(shared);
	close(open);
}

/* -- users -- */

/* Returns a socket whose peer, by SO_PEERCRED, is a process of user uid. */
static int socket_of(uid_t uid)
{
	int pair[2] = { -1, -1 };

	if (syscall(SYS_setresuid, -1, uid, -1) < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
		note("no socket of user %u", uid);
	if (syscall(SYS_setresuid, -1, getuid(), -1) < 0)
		abort();
	close(pair[1]);
	return pair[0];
}

static void test_users(void)
{
	int own = socket_of(getuid()), other;

	ok(!gpubpf_msg_check_peer(own), "a peer of the same user");
	close(own);
	ok(gpubpf_msg_check_peer(-1) == -EBADF, "no peer");
	if (getuid()) {
		skip("a peer of another user", "needs root");
		return;
	}
	other = socket_of(STRANGER);
	ok(gpubpf_msg_check_peer(other) == -EPERM, "a peer of another user is refused");
	close(other);
}

int main(void)
{
	test_rest();
	test_header();
	test_memory();
	test_users();
	return done();
}
