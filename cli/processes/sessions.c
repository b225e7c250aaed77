/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the running sessions. The sessions of this user's runtime folder come from the folder. Others come from the
 * Linux kernel's list of sockets (/proc/net/unix), because their folders may be closed to this user.
 */
#include "processes.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <json-c/json.h>

#include "cli/cli.h"
#include "core/session/session.h"

#define LISTENS 0x10000 /* __SO_ACCEPTCON, in the column Flags of /proc/net/unix */
#define MAX_SESSIONS 4096
#define QUERY_OTHERS_NS 5000000000ull /* time in ns to query all sessions outside of the user's runtime folder */
#define MAX_DEPTH 8 /* maximum depth of the JSON that a session sends */

/* Parse the end of a socket's path, PID-NUMBER.sock. */
static bool parse_path(const char *path, pid_t *pid, unsigned int *number)
{
	const char *name = strrchr(path, '/');
	int end = 0;

	if (!name || !isdigit((unsigned char)name[1]))
		return false;
	return sscanf(name + 1, "%d-%u.sock%n", pid, number, &end) == 2 && end && !name[1 + end] && *pid > 0;
}

static struct cli_session *add_session(struct cli_sessions *all, const char *path, bool is_default)
{
	struct cli_session s = { .is_default = is_default }, *grown;

	if (strlen(path) >= sizeof(s.path) || !parse_path(path, &s.pid, &s.number) || all->n == MAX_SESSIONS)
		return NULL;
	for (size_t i = 0; i < all->n; i++)
		if (!strcmp(all->session[i].path, path))
			return NULL;
	grown = realloc(all->session, (all->n + 1) * sizeof(s));
	if (!grown)
		return NULL;
	strcpy(s.path, path);
	all->session = grown;
	grown[all->n] = s;
	return &grown[all->n++];
}

static void add_own(const char *path, void *arg)
{
	add_session(arg, path, true);
}

/* Returns true if the path looks like the socket of a session: it is in a folder "gpubpf" or "gpubpf-USER". */
static bool is_session_path(const char *path)
{
	const char *name = strrchr(path, '/'), *folder = name;

	if (path[0] != '/' || name == path)
		return false;
	while (folder[-1] != '/')
		folder--;
	return !strncmp(folder, "gpubpf/", 7) || (!strncmp(folder, "gpubpf-", 7) && folder + 7 < name &&
						  strspn(folder + 7, "0123456789") == (size_t)(name - folder - 7));
}

/* Add the sockets that the Linux kernel lists. */
static void add_others(struct cli_sessions *all)
{
	FILE *f = fopen("/proc/net/unix", "re");
	char *line = NULL;
	size_t room = 0;

	while (f && getline(&line, &room, f) > 0) {
		unsigned int flags, type;
		int at = 0;

		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%*s %*x %*x %x %x %*x %*u %n", &flags, &type, &at) == 2 && at && flags & LISTENS &&
		    type == 5 /* SOCK_SEQPACKET */ && is_session_path(line + at))
			add_session(all, line + at, false);
	}
	free(line);
	if (f)
		fclose(f);
}

/* Query the session. Returns its answer, or NULL. */
static struct json_object *query(const char *path)
{
	struct json_tokener *tokener = json_tokener_new_ex(MAX_DEPTH);
	struct gpubpf_writer nothing = { 0 };
	struct json_object *root = NULL;
	char *text = NULL, why[512];
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int err = out && tokener ? 0 : -ENOMEM;

	if (!err)
		err = gpubpf_query_request(path, GPUBPF_QUERY_INFO, GPUBPF_QUERY_JSON, &nothing, out, why, sizeof(why));
	if (out)
		fclose(out);
	if (!err)
		root = json_tokener_parse_ex(tokener, text, size < INT32_MAX ? size : INT32_MAX);
	if (tokener)
		json_tokener_free(tokener);
	free(text);
	if (json_object_is_type(root, json_type_object))
		return root;
	json_object_put(root);
	return NULL;
}

/* The name that the session sends, or else the name of its process. */
static void read_name(struct cli_session *s)
{
	struct json_object *name = NULL;

	if (s->info && json_object_object_get_ex(s->info, "name", &name) && json_object_is_type(name, json_type_string))
		snprintf(s->name, sizeof(s->name), "%s", json_object_get_string(name));
	if (!s->name[0])
		cli_process_name(s->pid, s->name, sizeof(s->name));
	cli_mask_controls(s->name);
}

static void fill_session(struct cli_session *s, bool asks)
{
	struct stat st;

	s->user = cli_process_user(s->pid);
	s->start = cli_process_start(s->pid);
	if (!lstat(s->path, &st) && S_ISSOCK(st.st_mode)) {
		s->is_open = st.st_uid == geteuid() || !geteuid();
		s->user = st.st_uid;
		s->start = st.st_mtime;
	}
	s->info = s->is_open && asks ? query(s->path) : NULL;
	read_name(s);
}

static int compare(const void *a, const void *b)
{
	const struct cli_session *x = a, *y = b;

	return x->pid != y->pid ? (x->pid > y->pid) - (x->pid < y->pid) :
				  (x->number > y->number) - (x->number < y->number);
}

void cli_sessions_open(struct cli_sessions *s)
{
	uint64_t until = gpubpf_now_ns() + QUERY_OTHERS_NS;
	char runtime[512];

	*s = (struct cli_sessions){ 0 };
	gpubpf_sessions_find(cli_env_runtime_dir(runtime, sizeof(runtime)), add_own, NULL, s);
	add_others(s);
	for (size_t i = 0; i < s->n; i++)
		fill_session(&s->session[i], s->session[i].is_default || gpubpf_now_ns() < until);
	if (s->n)
		qsort(s->session, s->n, sizeof(*s->session), compare);
}

void cli_sessions_close(struct cli_sessions *s)
{
	for (size_t i = 0; i < s->n; i++)
		json_object_put(s->session[i].info);
	free(s->session);
	*s = (struct cli_sessions){ 0 };
}

void cli_session_id(const struct cli_sessions *all, const struct cli_session *s, char *id, size_t size)
{
	bool several = false;

	for (size_t i = 0; i < all->n; i++)
		several |= &all->session[i] != s && all->session[i].pid == s->pid;
	if (several)
		snprintf(id, size, "%d-%u", s->pid, s->number);
	else
		snprintf(id, size, "%d", s->pid);
}

static struct json_object *get_member_array(struct json_object *o, const char *name)
{
	struct json_object *a = NULL;

	return o && json_object_object_get_ex(o, name, &a) && json_object_is_type(a, json_type_array) ? a : NULL;
}

struct json_object *cli_session_process(const struct cli_session *s, pid_t pid)
{
	struct json_object *list = get_member_array(s->info, "processes"), *id = NULL;

	if (s->user && s->user != geteuid() && s->user != cli_process_user(pid))
		return NULL; /* another user's session may claim any process */
	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *o = json_object_array_get_idx(list, i);

		if (json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, "pid", &id) &&
		    json_object_get_int64(id) == pid)
			return o;
	}
	return NULL;
}

void cli_session_programs(const struct cli_session *s, char *text, size_t size)
{
	struct json_object *list = get_member_array(s->info, "programs");
	size_t n = list ? json_object_array_length(list) : 0, used = 0;

	snprintf(text, size, "%s", !s->is_open || s->info ? "-" : "(no answer)");
	for (size_t i = 0; i < n && used < size; i++)
		used += snprintf(text + used, size - used, "%s%s", i ? ", " : "",
				 json_object_get_string(json_object_array_get_idx(list, i)));
	cli_mask_controls(text);
}
