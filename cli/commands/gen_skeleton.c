/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf gen skeleton: writes an object as a C header, with its bytes and a member for each of its maps and programs.
 */
#include "cli/cli.h"

#include <ctype.h>
#include <string.h>

#include <bpf/btf.h>

#include "core/load/load.h"
#include "gen_types.h"

#define NAME_SIZE 64

/*
 * The parts of a header's text, where @ stands for the object's name. The lists of maps and programs are inserted
 * between the parts.
 */
static const char begin[] = "/* What gpubpf gen skeleton made of an object; gpubpf-gen(8). Not to be changed by hand. */\n"
			    "#ifndef @_GPUBPF_SKEL_H\n"
			    "#define @_GPUBPF_SKEL_H\n"
			    "\n"
			    "#include <errno.h>\n"
			    "#include <stdbool.h>\n"
			    "#include <stdlib.h>\n"
			    "#include <string.h>\n"
			    "#include <gpubpf/gpubpf.h>\n"
			    "\n";

static const char open_functions[] =
	"static inline void @__detach(struct @ *obj)\n"
	"{\n"
	"\tstruct gpubpf_link **link = (struct gpubpf_link **)&obj->links;\n"
	"\n"
	"\tfor (size_t i = 0; i < sizeof(obj->links) / sizeof(*link); i++) {\n"
	"\t\tgpubpf_link__destroy(link[i]);\n"
	"\t\tlink[i] = NULL;\n"
	"\t}\n"
	"}\n"
	"\n"
	"static inline void @__destroy(struct @ *obj)\n"
	"{\n"
	"\tif (obj) {\n"
	"\t\tgpubpf_session__free(obj->session);\n"
	"\t\t@__free_data(obj);\n"
	"\t}\n"
	"\tfree(obj);\n"
	"}\n"
	"\n"
	"/* NULL and errno. Programs are attached by @__attach(). */\n"
	"static inline struct @ *@__open_opts(const struct gpubpf_session_opts *opts)\n"
	"{\n"
	"\tstruct @ *obj = (struct @ *)calloc(1, sizeof(*obj));\n"
	"\tstruct gpubpf_session_opts all;\n"
	"\tconst void *data;\n"
	"\tsize_t size;\n"
	"\n"
	"\tif (!obj)\n"
	"\t\treturn NULL;\n"
	"\tmemset(&all, 0, sizeof(all));\n"
	"\tif (opts)\n"
	"\t\tmemcpy(&all, opts, opts->sz < sizeof(all) ? opts->sz : sizeof(all));\n"
	"\tall.sz = sizeof(all);\n"
	"\tall.no_attach = true;\n"
	"\tobj->session = gpubpf_session__new(&all);\n"
	"\tdata = @__elf_bytes(&size);\n"
	"\tif (obj->session && !gpubpf_session__add_object_mem(obj->session, \"@\", data, size) && !@__init_data(obj))\n"
	"\t\treturn obj;\n"
	"\t@__destroy(obj);\n"
	"\terrno = ENOMEM;\n"
	"\treturn NULL;\n"
	"}\n"
	"\n"
	"static inline struct @ *@__open(void)\n"
	"{\n"
	"\treturn @__open_opts(NULL);\n"
	"}\n"
	"\n"
	"static inline const struct gpubpf_prog *@__program(const struct @ *obj, const char *name)\n"
	"{\n"
	"\tconst struct gpubpf_prog *prog = NULL;\n"
	"\n"
	"\twhile ((prog = gpubpf_session__next_program(obj->session, prog)))\n"
	"\t\tif (!strcmp(gpubpf_prog__name(prog), name))\n"
	"\t\t\tbreak;\n"
	"\treturn prog;\n"
	"}\n"
	"\n"
	"/* Global data is called after the object: its name ends as its section is called. */\n"
	"static inline struct gpubpf_map *@__map(const struct @ *obj, const char *name)\n"
	"{\n"
	"\tstruct gpubpf_map *map = NULL;\n"
	"\tsize_t n = strlen(name);\n"
	"\n"
	"\twhile ((map = gpubpf_session__next_map(obj->session, map))) {\n"
	"\t\tconst char *is = gpubpf_map__name(map);\n"
	"\t\tsize_t len = strlen(is);\n"
	"\n"
	"\t\tif (len >= n && !strcmp(is + len - n, name) && (len == n || name[0] == '.'))\n"
	"\t\t\tbreak;\n"
	"\t}\n"
	"\treturn map;\n"
	"}\n"
	"\n"
	"/* 0 or -errno; gpubpf_session__error(obj->session) says why. */\n"
	"static inline int @__load(struct @ *obj)\n"
	"{\n"
	"\tint err = @__give_data(obj);\n"
	"\n"
	"\tif (!err)\n"
	"\t\terr = gpubpf_session__load(obj->session);\n"
	"\tif (err < 0)\n"
	"\t\treturn err;\n";

static const char load_functions[] = "\treturn @__read(obj);\n"
				     "}\n"
				     "\n"
				     "static inline struct @ *@__open_and_load(void)\n"
				     "{\n"
				     "\tstruct @ *obj = @__open();\n"
				     "\tint err = obj ? @__load(obj) : 0;\n"
				     "\n"
				     "\tif (err < 0) {\n"
				     "\t\t@__destroy(obj);\n"
				     "\t\terrno = -err;\n"
				     "\t\treturn NULL;\n"
				     "\t}\n"
				     "\treturn obj;\n"
				     "}\n"
				     "\n"
				     "/* 0, or -errno and what was attached stays so. */\n"
				     "static inline int @__attach(struct @ *obj)\n"
				     "{\n";

static const char end[] = "\treturn 0;\n"
			  "}\n"
			  "\n"
			  "#endif\n";

static void put(const char *text, const char *name)
{
	for (; *text; text++)
		if (*text == '@')
			fputs(name, stdout);
		else
			putchar(*text);
}

/* Return a map's name as a member. The name of global data has the object's name as prefix, which is removed. */
static const char *member_of(const struct gpubpf_map *map)
{
	const char *dot = map->global_data ? strrchr(map->name, '.') : NULL;

	return dot ? dot + 1 : map->name;
}

/* Derive the object's name from its path: probe.bpf.o is called probe; invalid characters become underscores. */
static void name_of(const char *path, char name[NAME_SIZE])
{
	const char *slash = strrchr(path, '/');

	snprintf(name, NAME_SIZE, "%s", slash ? slash + 1 : path);
	name[strcspn(name, ".")] = '\0';
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
	if (isdigit((unsigned char)name[0]))
		name[0] = '_';
}

static bool same_member(const struct gpubpf_unit *unit, uint32_t map)
{
	for (uint32_t i = 0; i < map; i++)
		if (!strcmp(member_of(&unit->maps[i]), member_of(&unit->maps[map])))
			return true;
	return false;
}

static bool same_program(const struct gpubpf_unit *unit, uint32_t prog)
{
	for (uint32_t i = 0; i < prog; i++)
		if (!strcmp(unit->progs[i].name, unit->progs[prog].name))
			return true;
	return false;
}

/* Is this the name of a member that each skeleton has? Global data must not have such a name. */
static bool is_reserved(const char *member)
{
	static const char *const reserved[] = { "session", "own", "maps", "progs", "links" };

	for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
		if (!strcmp(member, reserved[i]))
			return true;
	return false;
}

/* Are all names valid in C? They come from the object, which may not be a compiler's output. */
static bool names_fit(const struct gpubpf_unit *unit)
{
	const char *bad = NULL;

	for (uint32_t i = 0; i < unit->nmaps && !bad; i++) {
		const struct gpubpf_map *map = &unit->maps[i];
		const char *member = member_of(map);

		if (!map->prototype &&
		    (!gen_is_identifier(member) || same_member(unit, i) || (map->global_data && is_reserved(member))))
			bad = map->name;
	}
	for (uint32_t i = 0; i < unit->nprogs && !bad; i++)
		if (!gen_is_identifier(unit->progs[i].name) || same_program(unit, i))
			bad = unit->progs[i].name;
	if (bad)
		cli_error("gen skeleton: '%s' cannot be the name of a struct member, or is not unique", bad);
	return !bad;
}

/* Is the map global data whose variables BTF describes? */
static bool is_typed(const struct gpubpf_loaded *l, const struct gpubpf_map *map)
{
	const struct btf_type *t = map->global_data && l->objects[0].btf ?
					   btf__type_by_id(l->objects[0].btf, map->btf_value) :
					   NULL;

	return t && btf_is_datasec(t) && map->init;
}

#define EACH_TYPED(l, map) \
	for (const struct gpubpf_map *map = (l)->unit.maps; map < (l)->unit.maps + (l)->unit.nmaps; map++) \
		if (is_typed(l, map))

static void put_types(const struct gpubpf_loaded *l, const char *name)
{
	EACH_TYPED(l, map)
	{
		printf("struct %s__%s {\n", name, member_of(map));
		gen_variables(l->objects[0].btf, map->btf_value, map->value_size);
		printf("};\n\n");
	}
}

static void put_data_members(const struct gpubpf_loaded *l, const char *name)
{
	uint32_t n = 0;

	EACH_TYPED(l, map)
	{
		printf("\tstruct %s__%s *%s;\n", name, member_of(map), member_of(map));
		n++;
	}
	if (n)
		printf("\tstruct {\n");
	EACH_TYPED(l, map)
	printf("\t\tstruct %s__%s *%s;\n", name, member_of(map), member_of(map));
	if (n)
		printf("\t} own; /* their memory before load, and where the session has none that can be read as it is */\n");
}

static void put_members(const struct gpubpf_loaded *l, const char *name)
{
	const struct gpubpf_unit *unit = &l->unit;

	printf("struct %s {\n\tstruct gpubpf_session *session;\n", name);
	put_data_members(l, name);
	if (unit->nmaps) {
		printf("\tstruct {\n");
		for (uint32_t i = 0; i < unit->nmaps; i++)
			if (!unit->maps[i].prototype)
				printf("\t\tstruct gpubpf_map *%s;\n", member_of(&unit->maps[i]));
		printf("\t} maps;\n");
	}
	printf("\tstruct {\n");
	for (uint32_t i = 0; i < unit->nprogs; i++)
		printf("\t\tconst struct gpubpf_prog *%s;\n", unit->progs[i].name);
	printf("\t} progs;\n\tstruct {\n");
	for (uint32_t i = 0; i < unit->nprogs; i++)
		printf("\t\tstruct gpubpf_link *%s;\n", unit->progs[i].name);
	printf("\t} links;\n};\n\n");
}

static void put_array(const char *name, const uint8_t *data, size_t size)
{
	printf("\tstatic const unsigned char %s[] = {", name);
	for (size_t i = 0; i < size; i++)
		printf("%s%u,", i % 24 ? "" : "\n\t\t", data[i]);
	printf("\n\t};\n");
}

static void put_bytes(const char *name, const uint8_t *data, size_t size)
{
	put("static inline const void *@__elf_bytes(size_t *size)\n{\n", name);
	put_array("data", data, size);
	printf("\n\t*size = sizeof(data);\n\treturn data;\n}\n\n");
}

static bool is_zero(const struct gpubpf_map *map)
{
	const uint8_t *bytes = map->init;

	return !bytes[0] && !memcmp(bytes, bytes + 1, map->value_size - 1);
}

/* Emits the object's initial data, for users who change values before loading. */
static void put_init_data(const struct gpubpf_loaded *l, const char *name)
{
	put("static inline int @__init_data(struct @ *obj)\n{\n", name);
	EACH_TYPED(l, map)
	if (!is_zero(map))
		put_array(member_of(map), map->init, map->value_size);
	printf("\n\t(void)obj;\n");
	EACH_TYPED(l, map)
	{
		const char *m = member_of(map);

		printf("\tobj->own.%s = obj->%s = (struct %s__%s *)calloc(1, sizeof(*obj->%s));\n\tif (!obj->%s)\n\t\treturn -ENOMEM;\n",
		       m, m, name, m, m, m);
		if (!is_zero(map))
			printf("\tmemcpy(obj->%s, %s, sizeof(%s));\n", m, m, m);
	}
	printf("\treturn 0;\n}\n\n");
}

static void put_give_data(const struct gpubpf_loaded *l, const char *name)
{
	put("static inline int @__give_data(struct @ *obj)\n{\n\tint err = 0;\n\n\t(void)obj;\n", name);
	EACH_TYPED(l, map)
	printf("\tif (!err)\n\t\terr = gpubpf_session__set_initial_value(obj->session, \"%s\", \".%s\", obj->own.%s, %u);\n",
	       name, member_of(map), member_of(map), map->value_size);
	printf("\treturn err;\n}\n\n");
}

static void put_free_data(const struct gpubpf_loaded *l, const char *name)
{
	put("static inline void @__free_data(struct @ *obj)\n{\n\t(void)obj;\n", name);
	EACH_TYPED(l, map)
	printf("\tfree(obj->own.%s);\n", member_of(map));
	printf("}\n\n");
}

static void put_read(const struct gpubpf_loaded *l, const char *name)
{
	put("/* Have obj->bss and the like show what programs have written. 0, or -errno as gpubpf_map__lookup_elem(). */\n"
	    "static inline int @__read(struct @ *obj)\n{\n\tconst void *at = NULL;\n\tunsigned int key = 0;\n\tsize_t stride;\n\tint err = 0;\n\n"
	    "\t(void)obj, (void)at, (void)key, (void)stride;\n",
	    name);
	EACH_TYPED(l, map)
	{
		const char *m = member_of(map);

		printf("\tif (!gpubpf_map__memory(obj->maps.%s, &at, &stride))\n\t\tobj->%s = (struct %s__%s *)(size_t)at;\n\telse if (!err)\n"
		       "\t\terr = gpubpf_map__lookup_elem(obj->maps.%s, &key, sizeof(key), obj->%s = obj->own.%s, %u, 0);\n",
		       m, m, name, m, m, m, m, map->value_size);
	}
	printf("\treturn err;\n}\n\n");
}

static void put_load(const struct gpubpf_unit *unit, const char *name)
{
	for (uint32_t i = 0; i < unit->nmaps; i++) {
		const char *member = member_of(&unit->maps[i]);

		if (unit->maps[i].prototype)
			continue;
		printf("\tobj->maps.%s = %s__map(obj, \"%s%s\");\n", member, name, unit->maps[i].global_data ? "." : "",
		       member);
	}
	for (uint32_t i = 0; i < unit->nprogs; i++)
		printf("\tobj->progs.%s = %s__program(obj, \"%s\");\n", unit->progs[i].name, name, unit->progs[i].name);
}

static void put_attach(const struct gpubpf_unit *unit)
{
	for (uint32_t i = 0; i < unit->nprogs; i++)
		if (unit->progs[i].pattern[0]) /* a program without a pattern runs only through a map of programs */
			printf("\tif (!obj->links.%s && !(obj->links.%s = gpubpf_program__attach(obj->progs.%s)))\n"
			       "\t\treturn -errno;\n",
			       unit->progs[i].name, unit->progs[i].name, unit->progs[i].name);
}

static void put_header(const struct gpubpf_loaded *l, const char *name)
{
	put(begin, name);
	put_types(l, name);
	put_members(l, name);
	put_bytes(name, l->objects[0].image, l->objects[0].size);
	put_init_data(l, name);
	put_give_data(l, name);
	put_free_data(l, name);
	put_read(l, name);
	put(open_functions, name);
	put_load(&l->unit, name);
	put(load_functions, name);
	put_attach(&l->unit);
	put(end, name);
}

static bool read_arguments(const struct cli_args *args, char name[NAME_SIZE])
{
	if (args->nrest != 1 && !(args->nrest == 3 && !strcmp(args->rest[1], "name"))) {
		cli_error("gen skeleton: expects one object, and optionally a name; gpubpf gen skeleton %s",
			  args->command->arguments);
		return false;
	}
	name_of(args->rest[0], name);
	if (args->nrest == 3)
		snprintf(name, NAME_SIZE, "%s", args->rest[2]);
	if (gen_is_identifier(name) && strlen(args->rest[args->nrest - 1]) < NAME_SIZE)
		return true;
	cli_error("gen skeleton: '%s' is not a C identifier of up to 63 characters; choose one with name NAME", name);
	return false;
}

int gpubpf_cmd_gen_skeleton(const struct cli_args *args)
{
	char *file[] = { args->nrest ? args->rest[0] : NULL, NULL }, name[NAME_SIZE];
	struct cli_args one = *args;
	struct gpubpf_loaded *loaded;
	int status;

	if (!read_arguments(args, name))
		return CLI_USAGE;
	one.rest = file;
	one.nrest = 1;
	status = cli_load(&one, &loaded);
	if (status != CLI_OK)
		return status;
	if (names_fit(&loaded->unit))
		put_header(loaded, name);
	else
		status = CLI_FAILED;
	gpubpf_loaded_destroy(loaded);
	return status;
}
