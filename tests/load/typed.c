/* SPDX-License-Identifier: Apache-2.0 */
/* Values as text and JSON through BTF that libbpf builds here. */
#include <stdio.h>
#include <string.h>

#include <bpf/btf.h>
#include <json-c/json.h>

#include "core/load/load.h"
#include "../tap.h"

static struct btf *btf;

static void is(const char *name, int type, const void *data, size_t size, const char *text, const char *json)
{
	struct json_object *value = gpubpf_typed_json(btf, type, data, size);
	const char *got_json = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
	char got[512];
	int n = gpubpf_typed_text(btf, type, data, size, got, sizeof(got));

	if (!ok(n == (int)strlen(text) && !strcmp(got, text), "%s as text", name))
		note("got %s, want %s", got, text);
	if (!ok(!strcmp(got_json, json), "%s as JSON", name))
		note("got %s, want %s", got_json, json);
	json_object_put(value);
}

static int u32, u64, s32, character, boolean, f32, f64;

static void scalars(void)
{
	is("u64", u64, &(uint64_t){ ~0ull }, 8, "18446744073709551615", "18446744073709551615");
	is("s32", s32, &(int32_t){ -7 }, 4, "-7", "-7");
	is("bool", boolean, &(uint8_t){ 1 }, 1, "true", "true");
	is("float", f32, &(float){ 1.5f }, 4, "1.5", "1.5");
	is("double", f64, &(double){ -0.25 }, 8, "-0.25", "-0.25");
	is("infinity", f32, &(float){ __builtin_inff() }, 4, "inf", "\"inf\"");
	is("pointer", btf__add_ptr(btf, u32), &(uint64_t){ 0x1234 }, 8, "0x1234", "\"0x1234\"");
	is("no type", 0, "\1\2\377", 3, "01 02 ff", "\"01 02 ff\"");
	is("a value too short for its type", u64, "\1\2", 2, "01 02", "\"01 02\"");
	is("a type that does not exist", 12345, "\1", 1, "01", "\"01\"");
}

static void enums(void)
{
	int colour = btf__add_enum(btf, "colour", 4);

	btf__add_enum_value(btf, "RED", 1);
	btf__add_enum_value(btf, "BLUE", 7);
	is("enumerator", colour, &(uint32_t){ 7 }, 4, "BLUE", "\"BLUE\"");
	is("no enumerator", colour, &(uint32_t){ 8 }, 4, "8", "8");
}

static void arrays(void)
{
	int three = btf__add_array(btf, u32, u32, 3), text = btf__add_array(btf, u32, character, 8);

	is("array", three, (uint32_t[]){ 1, 2, 3 }, 12, "{ 1, 2, 3 }", "[1,2,3]");
	is("string", text, "hello\0\0", 8, "\"hello\"", "\"hello\"");
	is("string with a quote", text, "a\"b\n\0\0\0", 8, "\"a\\\"b\\n\"", "\"a\\\"b\\n\"");
	is("full string", text, "12345678", 8, "\"12345678\"", "\"12345678\"");
	is("chars that are no text", text, "a\0b\0\0\0\0", 8, "{ 97, 0, 98, 0, 0, 0, 0, 0 }", "[97,0,98,0,0,0,0,0]");
	is("array cut off", three, (uint32_t[]){ 1, 2 }, 8, "01 00 00 00 02 00 00 00", "\"01 00 00 00 02 00 00 00\"");
}

static void structs(void)
{
	struct {
		uint32_t low : 3, high : 29;
		int32_t n;
		uint64_t t[2];
	} value = { 5, 9, -1, { 10, 20 } };
	int pair = btf__add_array(btf, u32, u64, 2), anonymous, outer, point;

	point = btf__add_struct(btf, "point", 8);
	btf__add_field(btf, "x", s32, 0, 0);
	btf__add_field(btf, "y", s32, 32, 0);
	anonymous = btf__add_struct(btf, NULL, 8);
	btf__add_field(btf, "n", s32, 32, 0);
	outer = btf__add_struct(btf, "outer", 24);
	btf__add_field(btf, "low", u32, 0, 3);
	btf__add_field(btf, "high", u32, 3, 29);
	btf__add_field(btf, NULL, anonymous, 0, 0);
	btf__add_field(btf, "t", pair, 64, 0);
	is("struct", point, (int32_t[]){ 3, -4 }, 8, "{ .x = 3, .y = -4 }", "{\"x\":3,\"y\":-4}");
	is("bit fields, nameless members, arrays", outer, &value, sizeof(value),
	   "{ .low = 5, .high = 9, .n = -1, .t = { 10, 20 } }", "{\"low\":5,\"high\":9,\"n\":-1,\"t\":[10,20]}");
	is("typedef of const", btf__add_typedef(btf, "p", btf__add_const(btf, point)), (int32_t[]){ 1, 2 }, 8,
	   "{ .x = 1, .y = 2 }", "{\"x\":1,\"y\":2}");
	is("struct cut off", point, "\1", 1, "01", "\"01\"");
	is("empty struct", btf__add_struct(btf, "none", 0), "", 0, "{ }", "{}");
}

static void sections(void)
{
	int a = btf__add_var(btf, "a", BTF_VAR_GLOBAL_ALLOCATED, u32), b = btf__add_var(btf, "b", BTF_VAR_STATIC, u64);
	int sec = btf__add_datasec(btf, ".bss", 16);

	btf__add_datasec_var_info(btf, a, 0, 4);
	btf__add_datasec_var_info(btf, b, 8, 8);
	is("global data", sec, (uint64_t[]){ 1, 2 }, 16, "{ .a = 1, .b = 2 }", "{\"a\":1,\"b\":2}");
}

/* Structs of structs, all at offset 0: 2^16 scalars a level, were there no bound. */
static void bombs(void)
{
	int type = u32, self;
	char text[64];

	for (int level = 0; level < 40; level++) {
		int next = btf__add_struct(btf, NULL, 4);

		btf__add_field(btf, "a", type, 0, 0);
		btf__add_field(btf, "b", type, 0, 0);
		type = next;
	}
	gpubpf_typed_text(btf, type, "\1\0\0\0", 4, text, sizeof(text));
	ok(!strcmp(text, "01 00 00 00"), "types nested too deep come out as bytes");
	self = btf__add_struct(btf, "self", 4);
	btf__add_field(btf, "self", self, 0, 0);
	gpubpf_typed_text(btf, self, "\1\0\0\0", 4, text, sizeof(text));
	ok(!strcmp(text, "01 00 00 00"), "a type that holds itself comes out as bytes");
	ok(gpubpf_typed_text(btf, u64, "\377\377\377\377\0\0\0\0", 8, text, 4) == 10 && !strcmp(text, "429"),
	   "text that does not fit is cut, its length returned");
}

int main(void)
{
	int slot;

	btf = btf__new_empty();
	u32 = btf__add_int(btf, "unsigned int", 4, 0);
	u64 = btf__add_int(btf, "unsigned long long", 8, 0);
	s32 = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	character = btf__add_int(btf, "char", 1, BTF_INT_SIGNED);
	boolean = btf__add_int(btf, "_Bool", 1, BTF_INT_BOOL);
	f32 = btf__add_float(btf, "float", 4);
	f64 = btf__add_float(btf, "double", 8);
	scalars();
	enums();
	arrays();
	structs();
	sections();
	bombs();
	slot = btf__add_typedef(btf, "gpubpf_log2_slot", u64);
	ok(gpubpf_typed_is(btf, slot, "gpubpf_log2_slot") && !gpubpf_typed_is(btf, u64, "gpubpf_log2_slot"),
	   "a histogram is known by its typedef");
	btf__free(btf);
	return done();
}
