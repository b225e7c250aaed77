/* SPDX-License-Identifier: Apache-2.0 */
/* Adds to a query the files that a source includes, from disk and from the headers of clCompileProgram. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "query_builder.h"

const char *clquery_join(struct builder *b, const char *folder, const char *name)
{
	char *path = gpubpf_pool_alloc(b->pool, strlen(folder) + strlen(name) + 2, 1);

	if (path)
		sprintf(path, "%s%s%s", folder, folder[0] && folder[strlen(folder) - 1] != '/' ? "/" : "", name);
	return path;
}

static const char *folder_of(struct builder *b, const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? gpubpf_pool_strndup(b->pool, path, slash + 1 - path) : "";
}

/* Read up to `size` bytes, with several calls of read() if necessary. Returns the number of bytes, or -1. */
static ssize_t read_all(int fd, char *text, size_t size)
{
	size_t done = 0;
	ssize_t n;

	while ((n = read(fd, text + done, size - done)) > 0 || (n < 0 && errno == EINTR))
		done += n < 0 ? 0 : n;
	return n < 0 ? -1 : (ssize_t)done;
}

static bool load(struct builder *b, struct file *f)
{
	int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	char *text = NULL;
	ssize_t n = -1;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size < MAX_FILE_BYTES)
		text = gpubpf_pool_alloc(b->pool, st.st_size + 1, 1);
	if (text)
		n = read_all(fd, text, st.st_size);
	close(fd);
	f->text = text;
	f->size = n < 0 ? 0 : strnlen(text, n);
	return n >= 0;
}

static uint32_t find_file(const struct builder *b, const char *path, bool embedded)
{
	for (uint32_t i = 1; i < b->nfiles; i++)
		if (b->file[i].embedded == embedded && !strcmp(b->file[i].path, path))
			return i;
	return 0;
}

static uint32_t add_file(struct builder *b, struct file f)
{
	if (b->nfiles == MAX_FILES) {
		b->query->unsure = "it includes too many files";
		return 0;
	}
	f.folder = folder_of(b, f.path);
	b->file[b->nfiles] = f;
	return b->nfiles++;
}

static uint32_t find_on_disk(struct builder *b, const char *path)
{
	struct file f = { .path = path };
	uint32_t known = path ? find_file(b, path, false) : 0;

	if (known || !path)
		return known;
	return load(b, &f) ? add_file(b, f) : 0;
}

static uint32_t find_embedded(struct builder *b, const char *name)
{
	const struct gpubpf_header *h = b->source->headers;
	uint32_t known = name ? find_file(b, name, true) : 0;

	for (uint32_t i = 0; name && !known && i < b->source->nheaders; i++)
		if (!strcmp(h[i].name, name))
			known = add_file(b, (struct file){ .path = h[i].name,
							   .embedded = true,
							   .text = h[i].data,
							   .size = strnlen(h[i].data, h[i].size) });
	return known;
}

uint32_t clquery_find_included(struct builder *b, const struct file *from, const char *name, bool quoted)
{
	uint32_t found = 0;

	if (name[0] == '/')
		return find_on_disk(b, name);
	if (quoted && from->embedded)
		found = find_embedded(b, clquery_join(b, from->folder, name));
	else if (quoted && from->folder[0])
		found = find_on_disk(b, clquery_join(b, from->folder, name));
	for (uint32_t i = 0; !found && i < b->nfolders; i++)
		found = find_on_disk(b, clquery_join(b, b->folder[i], name));
	return found ? found : find_embedded(b, name);
}
