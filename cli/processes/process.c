/* SPDX-License-Identifier: Apache-2.0 */
/* Reads facts about a process from /proc. */
#include "processes.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CGROUPS "/sys/fs/cgroup"

/* Read at most size - 1 bytes of /proc/PID/NAME. Returns their number; the text ends with a NUL. */
static size_t read_file(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	f = fopen(path, "re");
	if (f) {
		n = fread(text, 1, size - 1, f);
		fclose(f);
	}
	text[n] = 0;
	return n;
}

void cli_mask_controls(char *text)
{
	for (char *c = text; *c; c++)
		*c = (unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c;
}

bool cli_process_exists(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return !access(path, F_OK);
}

void cli_process_name(pid_t pid, char *name, size_t size)
{
	size_t n = read_file(pid, "comm", name, size);

	if (n && name[n - 1] == '\n')
		name[n - 1] = 0;
	cli_mask_controls(name);
}

void cli_process_command(pid_t pid, char *text, size_t size)
{
	size_t n = read_file(pid, "cmdline", text, size);
	char name[64];

	while (n && !text[n - 1])
		n--;
	for (size_t i = 0; i < n; i++)
		if (!text[i])
			text[i] = ' ';
	cli_mask_controls(text);
	if (n)
		return;
	cli_process_name(pid, name, sizeof(name));
	snprintf(text, size, name[0] ? "[%s]" : "%s", name);
}

uid_t cli_process_user(pid_t pid)
{
	char text[4096];
	const char *at = read_file(pid, "status", text, sizeof(text)) ? strstr(text, "\nUid:") : NULL;
	unsigned int real, effective;

	return at && sscanf(at, "\nUid: %u %u", &real, &effective) == 2 ? effective : (uid_t)-1;
}

/* Read the time when the machine started, from /proc/stat. */
static time_t read_boot_time(void)
{
	FILE *f = fopen("/proc/stat", "re");
	char *line = NULL;
	size_t room = 0;
	long long when = 0;

	while (f && !when && getline(&line, &room, f) > 0)
		if (sscanf(line, "btime %lld", &when) != 1)
			when = 0;
	free(line);
	if (f)
		fclose(f);
	return when;
}

time_t cli_process_start(pid_t pid)
{
	char text[1024], *at;
	unsigned long long ticks = 0;

	read_file(pid, "stat", text, sizeof(text));
	at = strrchr(text, ')'); /* the name before it may contain blanks and parentheses */
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, "%llu", &ticks) != 1)
		return 0;
	return read_boot_time() + (time_t)(ticks / sysconf(_SC_CLK_TCK));
}

/* Store the path of the control group of version 2. A hybrid system lists groups of version 1 before it. */
static bool read_cgroup(pid_t pid, char *path, size_t size)
{
	char text[4096], *at;

	read_file(pid, "cgroup", text, sizeof(text));
	at = strncmp(text, "0::", 3) ? strstr(text, "\n0::") : text;
	if (!at)
		return false;
	at = strchr(at, ':') + 2;
	at[strcspn(at, "\n")] = 0;
	snprintf(path, size, "%s", at);
	return true;
}

bool cli_process_is_in_cgroup(pid_t pid, const char *path)
{
	char group[4096];
	size_t n;

	if (!strncmp(path, CGROUPS, strlen(CGROUPS)))
		path += strlen(CGROUPS);
	n = strlen(path);
	while (n > 1 && path[n - 1] == '/')
		n--;
	if (!read_cgroup(pid, group, sizeof(group)))
		return false;
	return n <= 1 || (!strncmp(group, path, n) && (group[n] == '/' || !group[n]));
}

#define ID_DIGITS 64 /* hexadecimal digits of a container's id in Docker, containerd, CRI-O and Podman */
#define SHOWN_DIGITS 12

/* Find a container's id in one folder of the path, such as "docker-<id>.scope" or "<id>". */
static bool find_id(const char *folder, size_t n, char *id, size_t size)
{
	for (size_t i = 0; i + ID_DIGITS <= n; i++) {
		size_t digits = strspn(folder + i, "0123456789abcdef");

		if (digits == ID_DIGITS) {
			snprintf(id, size, "%.*s", SHOWN_DIGITS, folder + i);
			return true;
		}
		i += digits;
	}
	return false;
}

/* Find the name in the folder of an LXC or systemd-nspawn container. */
static bool find_name(const char *folder, size_t n, char *name, size_t size)
{
	static const char *const before[] = { "lxc.payload.", "machine-" };

	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		size_t skip = strlen(before[i]), end = n;

		if (n <= skip || strncmp(folder, before[i], skip))
			continue;
		if (end > skip + 6 && !strncmp(folder + end - 6, ".scope", 6))
			end -= 6;
		snprintf(name, size, "%.*s", (int)(end - skip), folder + skip);
		return true;
	}
	return false;
}

void cli_container_of(const char *cgroups, char *id, size_t size)
{
	id[0] = 0;
	for (const char *at = cgroups, *end; *at; at = *end ? end + 1 : end) {
		end = at + strcspn(at, "/\n");
		if (find_id(at, end - at, id, size) || find_name(at, end - at, id, size))
			break;
	}
	cli_mask_controls(id);
}

void cli_process_container(pid_t pid, char *id, size_t size)
{
	char cgroups[8192];

	read_file(pid, "cgroup", cgroups, sizeof(cgroups));
	cli_container_of(cgroups, id, size);
}

bool cli_process_is_helper(pid_t pid)
{
	char path[64], program[4096];
	const char *slash;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, program, sizeof(program) - 1);
	program[n > 0 ? n : 0] = 0;
	slash = strrchr(program, '/');
	return slash && !strncmp(slash, "/gpubpf-", 8);
}

void cli_process_each(void (*fn)(pid_t pid, void *arg), void *arg)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			fn(atoi(entry->d_name), arg);
	if (dir)
		closedir(dir);
}
