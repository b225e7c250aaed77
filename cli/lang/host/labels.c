/* SPDX-License-Identifier: Apache-2.0 */
/* Prints numbers and bytes as texts: errors, users, symbols of the Linux kernel, addresses, system calls and cgroups. */
#include <arpa/inet.h>
#include <ftw.h>
#include <inttypes.h>
#include <mntent.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>

#include "host.h"
#include "cli/lang/host/syscalls.h" /* made by syscalls.py */

/* -- cgroups -- */

/* nftw() passes no argument to its function, so each thread has these. */
static __thread uint64_t wanted;
static __thread char found[512];

static int visit(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)ftw;
	if (kind != FTW_D || st->st_ino != wanted)
		return 0;
	snprintf(found, sizeof(found), "%s", path);
	return 1;
}

/* Print the path of a cgroup of version 2 below its mount, as bpftrace does. */
static bool show_cgroup(uint64_t id, FILE *out)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	bool ok = false;

	wanted = id;
	while (mounts && !ok && (m = getmntent(mounts))) {
		size_t n = strlen(m->mnt_dir);

		if (strcmp(m->mnt_type, "cgroup2") || nftw(m->mnt_dir, visit, 16, FTW_PHYS | FTW_MOUNT) != 1)
			continue;
		fprintf(out, "unified:%s", found[n] ? found + n : "/");
		ok = true;
	}
	if (mounts)
		endmntent(mounts);
	return ok;
}

/* -- labels -- */

static bool show_user(uint64_t id, FILE *out)
{
	const struct passwd *user = getpwuid((uid_t)id);

	if (user)
		fprintf(out, "%s", user->pw_name);
	return user;
}

static bool show_symbol(uint64_t address, FILE *out)
{
	char text[300];

	if (lang_kernel_symbol(address, text, sizeof(text)))
		fprintf(out, "%.*s", (int)strcspn(text, "+"), text);
	else
		fprintf(out, "0x%" PRIx64, address);
	return true;
}

static bool show_syscall(uint64_t number, FILE *out)
{
	if (number >= sizeof(syscalls) / sizeof(syscalls[0]) || !syscalls[number])
		return false;
	fprintf(out, "%s", syscalls[number]);
	return true;
}

static bool show_error(uint64_t number, FILE *out)
{
	fprintf(out, "%s", strerror((int)number));
	return true;
}

static bool show_ip4(uint64_t v, FILE *out)
{
	fprintf(out, "%u.%u.%u.%u", (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24));
	return true;
}

static bool show_mac(uint64_t v, FILE *out)
{
	for (int i = 0; i < 6; i++)
		fprintf(out, "%s%02X", i ? ":" : "", (uint8_t)(v >> 8 * i));
	return true;
}

void lang_show_label(enum lang_label label, uint64_t v, FILE *out)
{
	static bool (*const shows[])(uint64_t v, FILE *out) = {
		[LANG_LABEL_ERROR] = show_error,
		[LANG_LABEL_USER] = show_user,
		[LANG_LABEL_KERNEL_SYMBOL] = show_symbol,
		[LANG_LABEL_IP4] = show_ip4,
		[LANG_LABEL_MAC] = show_mac,
		[LANG_LABEL_SYSCALL] = show_syscall,
		[LANG_LABEL_CGROUP] = show_cgroup,
	};

	if (label >= sizeof(shows) / sizeof(shows[0]) || !shows[label] || !shows[label](v, out))
		fprintf(out, "%" PRIu64, v);
}

void lang_show_ip6(const uint8_t *at, FILE *out)
{
	char text[INET6_ADDRSTRLEN];

	if (inet_ntop(AF_INET6, at, text, sizeof(text)))
		fprintf(out, "%s", text);
}
