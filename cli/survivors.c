/* SPDX-License-Identifier: Apache-2.0 */
/* Finds processes that still run after the application has ended, such as a daemon or a background job of a script. */
#include "cli.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/session/session.h"

#define ENVIRON_MAX (1u << 20)

static size_t read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got = 1;

	while (fd >= 0 && n < size - 1 && got > 0) {
		got = read(fd, buf + n, size - 1 - n);
		n += got > 0 ? got : 0;
	}
	if (fd >= 0)
		close(fd);
	buf[n] = 0;
	return n;
}

/* Returns true if the process environment `text` contains GPUBPF_SESSION with this session's socket. */
static bool of_session(const char *text, size_t size, const char *session)
{
	static const char name[] = "GPUBPF_SESSION=";

	for (const char *at = text; at < text + size; at += strlen(at) + 1)
		if (!strncmp(at, name, sizeof(name) - 1) && !strcmp(at + sizeof(name) - 1, session))
			return true;
	return false;
}

pid_t cli_survivor(const char *session, char *name, size_t size)
{
	char *text = malloc(ENVIRON_MAX), path[64];
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0;

	while (proc && text && !found && (entry = readdir(proc))) {
		pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;

		snprintf(path, sizeof(path), "/proc/%d/environ", pid);
		if (pid && of_session(text, read_file(path, text, ENVIRON_MAX), session))
			found = pid;
	}
	if (found) {
		snprintf(path, sizeof(path), "/proc/%d/comm", found);
		name[read_file(path, name, size) ? strcspn(name, "\n") : 0] = 0;
	}
	if (proc)
		closedir(proc);
	free(text);
	return found;
}

void cli_note_survivors(struct gpubpf_session *s)
{
	for (const struct gpubpf_peer *peer = gpubpf_peers_first(s); peer; peer = peer->next) {
		const char *slash = strrchr(peer->exe, '/');

		if (peer->kind == GPUBPF_PEER_AGENT)
			gpubpf_session_note(s,
					    "%s (pid %u) continues unprobed: probing ends when the command ends; keep "
					    "the command in the foreground",
					    slash ? slash + 1 : peer->exe, peer->pid);
	}
}
