/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the formatting of typed values as text and JSON, and their parsing, with BTF that the test builds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>
#include <json-c/json.h>

#include "core/load/load.h"
#include "core/session/report/table.h"
#include "../../tap.h"

static struct btf *btf;

static void expect_text(const char *name, int type, const void *data, size_t size, const char *text, const char *json)
{
	struct json_object *value = gpubpf_typed_json(btf, type, NULL, data, size);
	const char *got_json = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
	char got[512];
	int n = gpubpf_typed_text(btf, type, NULL, data, size, got, sizeof(got));

	if (!ok(n == (int)strlen(text) && !strcmp(got, text), "%s as text", name))
		note("got %s, want %s", got, text);
	if (!ok(!strcmp(got_json, json), "%s as JSON", name))
		note("got %s, want %s", got_json, json);
	json_object_put(value);
}

static int u32, u64, s32, character, boolean, f32, f64;

static void scalars(void)
{
	expect_text("u64", u64, &(uint64_t){ ~0ull }, 8, "18446744073709551615", "18446744073709551615");
	expect_text("s32", s32, &(int32_t){ -7 }, 4, "-7", "-7");
	expect_text("bool", boolean, &(uint8_t){ 1 }, 1, "true", "true");
	expect_text("float", f32, &(float){ 1.5f }, 4, "1.5", "1.5");
	expect_text("double", f64, &(double){ -0.25 }, 8, "-0.25", "-0.25");
	expect_text("infinity", f32, &(float){ __builtin_inff() }, 4, "inf", "\"inf\"");
	expect_text("pointer", btf__add_ptr(btf, u32), &(uint64_t){ 0x1234 }, 8, "0x1234", "\"0x1234\"");
	expect_text("no type", 0, "\1\2\377", 3, "01 02 ff", "\"01 02 ff\"");
	expect_text("a value too short for its type", u64, "\1\2", 2, "01 02", "\"01 02\"");
	expect_text("a type that does not exist", 12345, "\1", 1, "01", "\"01\"");
}

static void enums(void)
{
	int colour = btf__add_enum(btf, "colour", 4);

	btf__add_enum_value(btf, "RED", 1);
	btf__add_enum_value(btf, "BLUE", 7);
	expect_text("enumerator", colour, &(uint32_t){ 7 }, 4, "BLUE", "\"BLUE\"");
	expect_text("no enumerator", colour, &(uint32_t){ 8 }, 4, "8", "8");
}

static void arrays(void)
{
	int three = btf__add_array(btf, u32, u32, 3), text = btf__add_array(btf, u32, character, 8);

	expect_text("array", three, (uint32_t[]){ 1, 2, 3 }, 12, "{ 1, 2, 3 }", "[1,2,3]");
	expect_text("string", text, "hello\0\0", 8, "\"hello\"", "\"hello\"");
	expect_text("string with a quote", text, "a\"b\n\0\0\0", 8, "\"a\\\"b\\n\"", "\"a\\\"b\\n\"");
	expect_text("full string", text, "12345678", 8, "\"12345678\"", "\"12345678\"");
	expect_text("chars that are no text", text, "a\0b\0\0\0\0", 8, "{ 97, 0, 98, 0, 0, 0, 0, 0 }",
		    "[97,0,98,0,0,0,0,0]");
	expect_text("array cut off", three, (uint32_t[]){ 1, 2 }, 8, "01 00 00 00 02 00 00 00",
		    "\"01 00 00 00 02 00 00 00\"");
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
	expect_text("struct", point, (int32_t[]){ 3, -4 }, 8, "{ .x = 3, .y = -4 }", "{\"x\":3,\"y\":-4}");
	expect_text("bit fields, nameless members, arrays", outer, &value, sizeof(value),
		    "{ .low = 5, .high = 9, .n = -1, .t = { 10, 20 } }", "{\"low\":5,\"high\":9,\"n\":-1,\"t\":[10,20]}");
	expect_text("typedef of const", btf__add_typedef(btf, "p", btf__add_const(btf, point)), (int32_t[]){ 1, 2 }, 8,
		    "{ .x = 1, .y = 2 }", "{\"x\":1,\"y\":2}");
	expect_text("struct cut off", point, "\1", 1, "01", "\"01\"");
	expect_text("empty struct", btf__add_struct(btf, "none", 0), "", 0, "{ }", "{}");
}

static void sections(void)
{
	int a = btf__add_var(btf, "a", BTF_VAR_GLOBAL_ALLOCATED, u32), b = btf__add_var(btf, "b", BTF_VAR_STATIC, u64);
	int sec = btf__add_datasec(btf, ".bss", 16);

	btf__add_datasec_var_info(btf, a, 0, 4);
	btf__add_datasec_var_info(btf, b, 8, 8);
	expect_text("global data", sec, (uint64_t[]){ 1, 2 }, 16, "{ .a = 1, .b = 2 }", "{\"a\":1,\"b\":2}");
}

static const char *kernel_name(void *ctx, uint64_t id)
{
	return id == 7 ? ctx : "";
}

/* Make the BTF type char[0][n], which encodes the number n as a struct member of size zero. Returns its id. */
static int number_type(int n)
{
	return btf__add_array(btf, u32, btf__add_array(btf, u32, character, n), 0);
}

static int hist_type(const char *name, int min, int step, int slots)
{
	int min_type = number_type(min), step_type = number_type(step), array = btf__add_array(btf, u32, u64, slots), id;

	id = btf__add_struct(btf, name, 8 * slots);
	btf__add_field(btf, "gpubpf_min", min_type, 0, 0);
	btf__add_field(btf, "gpubpf_step", step_type, 0, 0);
	btf__add_field(btf, "slot", array, 0, 0);
	return id;
}

/* Check that no percentile of a histogram exceeds the largest value. */
static void within_largest(void)
{
	static const struct gpubpf_hist_shape shapes[] = {
		{ .n = 64, .width = 8, .zeros = true },
		{ .n = 40, .width = 8, .bits = 3 },
		{ .n = 12, .width = 8, .min = 10, .step = 7 },
	};
	uint32_t wrong = 0, n = 0;

	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
		for (uint64_t largest = 1; largest < 4000; largest += 1 + largest / 9, n++) {
			uint64_t slot[64] = { 0 }, sum = largest, low, high;

			for (uint64_t v = largest; sum < 50 * largest; v = v > 3 ? v - v / 3 : largest, sum += v)
				for (uint32_t i = 0; i < shapes[s].n; i++) {
					gpubpf_hist_bounds(&shapes[s], i, &low, &high);
					slot[i] += low <= v && v <= high;
				}
			for (unsigned int percent = 50; percent <= 100; percent++)
				wrong += gpubpf_hist_percentile(&shapes[s], slot, percent) > largest;
		}
	}
	ok(!wrong && n > 100, "of %u histograms no percentile is above the largest value", n);
}

static void one_amount(void)
{
	static const struct gpubpf_hist_shape fine = { .n = 320, .width = 8, .bits = 3 };
	uint64_t slot[320] = { 0 }, low, high;

	for (uint32_t i = 0; i < 320; i++) {
		gpubpf_hist_bounds(&fine, i, &low, &high);
		slot[i] = low <= 274800 && 274800 <= high;
	}
	ok(gpubpf_amounts_percentile(&fine, slot, 274800, 50) == 274800 &&
		   gpubpf_amounts_percentile(&fine, slot, 274800, 99) == 274800,
	   "of one amount, whose sum is known, each percentile is that amount");
	ok(gpubpf_amounts_percentile(&fine, slot, 1, 99) <= 274800, "a sum that a reader saw too early does no harm");
}

/*
 * A histogram with eight slots per power of two. Slots 0 to 7 hold one value each; slots 28 and 29 hold [48, 52) and
 * [52, 56).
 */
static void fine(void)
{
	int zero = number_type(0), three = number_type(3), array = btf__add_array(btf, u32, u64, 40);
	uint64_t slots[40] = { [5] = 1, [28] = 2, [29] = 1, [39] = 1 };
	int type = btf__add_struct(btf, "gpubpf_quantiles", sizeof(slots));

	btf__add_field(btf, "gpubpf_min", zero, 0, 0);
	btf__add_field(btf, "gpubpf_step", zero, 0, 0);
	btf__add_field(btf, "gpubpf_bits", three, 0, 0);
	btf__add_field(btf, "slot", array, 0, 0);
	expect_text("quantiles", type, slots, sizeof(slots), "<5 values, p50 50, p90 120, p99 120>",
		    "{\"count\":5,\"histogram\":[{\"min\":5,\"max\":5,\"count\":1},{\"min\":48,\"max\":51,\"count\":2},"
		    "{\"min\":52,\"max\":55,\"count\":1},{\"min\":120,\"max\":18446744073709551615,\"count\":1}],"
		    "\"percentiles\":{\"p50\":50,\"p90\":120,\"p99\":120}}");
}

static const struct gpubpf_typed_param *params_of(void *ctx, uint64_t id, uint32_t *n)
{
	static const struct gpubpf_typed_param params[] = {
		{ "by", "short", 2, GPUBPF_TYPED_SIGNED },   { "", "float", 4, GPUBPF_TYPED_REAL },
		{ "v", "int *", 8, GPUBPF_TYPED_ADDRESS },   { "", "", 4, GPUBPF_TYPED_UNSIGNED },
		{ "s", "struct s", 24, GPUBPF_TYPED_BYTES }, { "image", "image2d_t", 0, GPUBPF_TYPED_ADDRESS },
	};

	*n = 6;
	return id == 7 ? params : NULL;
}

/*
 * struct gpubpf_args is formatted by the kernel's parameters. Arguments without a known parameter are printed in hex.
 */
static void arguments(void)
{
	struct gpubpf_typed_names names = { .kernel = kernel_name, .ctx = "scale", .params = params_of };
	uint64_t call[34] = { 7, 6, 0xfffd, 0x3fc00000, 0x1000, 5, 0x11, 0 };
	int values = btf__add_array(btf, u32, u64, 32), type = btf__add_struct(btf, "gpubpf_args", sizeof(call));
	struct json_object *json;
	char text[512];

	btf__add_field(btf, "kernel", u64, 0, 0);
	btf__add_field(btf, "n", u64, 64, 0);
	btf__add_field(btf, "value", values, 128, 0);
	gpubpf_typed_text(btf, type, &names, call, sizeof(call), text, sizeof(text));
	ok(!strcmp(text, "scale(short by = -3, float arg1 = 1.5, int *v = 0x1000, arg3 = 5, struct s s = 0x11..., "
			 "image2d_t image = ?)"),
	   "arguments: %s", text);
	json = gpubpf_typed_json(btf, type, &names, call, sizeof(call));
	ok(strstr(json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN),
		  "{\"kernel\":\"scale\",\"args\":[{\"name\":\"by\",\"type\":\"short\",\"value\":-3},"
		  "{\"name\":\"\",\"type\":\"float\",\"value\":1.5}"),
	   "as JSON");
	json_object_put(json);
	call[0] = 8;
	call[1] = 2;
	gpubpf_typed_text(btf, type, &names, call, sizeof(call), text, sizeof(text));
	ok(!strcmp(text, "(arg0 = 0xfffd, arg1 = 0x3fc00000)"), "of a kernel that nobody knows: %s", text);
	call[0] = 7;
	call[1] = 1ull << 40;
	gpubpf_typed_text(btf, type, &names, call, sizeof(call), text, sizeof(text));
	ok(strstr(text, "arg31 = 0x0)"), "no more than there is room for");
}

/* Types of <gpubpf/probe.h> whose name tells how to format a value: kernels, addresses, histograms. */
static void meanings(void)
{
	char whole[300] = "_Z6gatherIfLi4EEvPKfPfi";
	struct gpubpf_typed_names names = { kernel_name, whole, false }, wide = { kernel_name, whole, true };
	int kernel = btf__add_typedef(btf, "gpubpf_kernel", u64), address = btf__add_typedef(btf, "gpubpf_address", u64);
	int log2 = hist_type("gpubpf_hist", 0, 0, 64), linear = hist_type("lanes", 10, 5, 4), chars, name, both, forty;
	uint64_t slots[64] = { 0 }, four[4] = { 0, 2, 2, 0 };
	struct json_object *json;
	char text[512];

	memset(whole + strlen(whole), 'x', 299 - strlen(whole));
	gpubpf_typed_text(btf, kernel, &names, &(uint64_t){ 7 }, 8, text, sizeof(text));
	ok(!strcmp(text, whole), "a kernel is its whole name");
	json = gpubpf_typed_json(btf, kernel, &names, &(uint64_t){ 7 }, 8);
	ok(json_object_is_type(json, json_type_string) && !strcmp(json_object_get_string(json), whole), "in JSON too");
	json_object_put(json);
	expect_text("a kernel that nobody has", kernel, &(uint64_t){ 9 }, 8, "9", "9");
	expect_text("an address", address, &(uint64_t){ 0xdeadbeef }, 8, "0xdeadbeef", "\"0xdeadbeef\"");
	slots[13] = 90;
	slots[14] = 10;
	expect_text("a log2 histogram", log2, slots, sizeof(slots), "<100 values, p50 6371, p90 8191, p99 8192>",
		    "{\"count\":100,\"histogram\":[{\"min\":4096,\"max\":8191,\"count\":90},"
		    "{\"min\":8192,\"max\":16383,\"count\":10}],\"percentiles\":{\"p50\":6371,\"p90\":8191,\"p99\":8192}}");
	expect_text("a linear one", linear, four, sizeof(four), "<4 values, p50 14, p90 15, p99 15>",
		    "{\"count\":4,\"histogram\":[{\"min\":10,\"max\":14,\"count\":2},{\"min\":15,\"max\":19,"
		    "\"count\":2}],\"percentiles\":{\"p50\":14,\"p90\":15,\"p99\":15}}");
	fine();
	within_largest();
	one_amount();
	arguments();
	expect_text("nanoseconds", btf__add_typedef(btf, "gpubpf_ns", u64), &(uint64_t){ 1234567 }, 8, "1.2 ms", "1234567");
	expect_text("a minimum", btf__add_typedef(btf, "gpubpf_minimum", u64), &(uint64_t){ ~1234ull }, 8, "1234", "1234");
	expect_text("no minimum", btf__find_by_name(btf, "gpubpf_minimum"), &(uint64_t){ 0 }, 8, "none", "\"none\"");
	gpubpf_typed_text(btf, btf__add_typedef(btf, "gpubpf_kernel_index", u32), &names, &(uint32_t){ 7 }, 4, text,
			  sizeof(text));
	ok(!strcmp(text, whole), "a kernel's index is its whole name");
	chars = btf__add_array(btf, u32, character, 16);
	name = btf__add_struct(btf, "gpubpf_name", 16);
	btf__add_field(btf, "text", chars, 0, 0);
	expect_text("a name", name, "step_one\0\0\0\0\0\0\0\0", 16, "step_one", "{\"text\":\"step_one\"}");
	both = btf__add_struct(btf, "both", 24);
	btf__add_field(btf, "n", u64, 0, 0);
	btf__add_field(btf, "name", name, 64, 0);
	expect_text("a name in a struct", both, "\1\0\0\0\0\0\0\0step_one\0\0\0\0\0\0\0\0", 24,
		    "{ .n = 1, .name = step_one }", "{\"n\":1,\"name\":{\"text\":\"step_one\"}}");
	forty = btf__add_array(btf, u32, u64, 40);
	memset(slots, 0, sizeof(slots));
	slots[39] = 1;
	gpubpf_typed_text(btf, forty, NULL, slots, 40 * 8, text, sizeof(text));
	ok(!strcmp(text, "{ 0 <repeats 39 times>, 1 }"), "zeros are folded: %s", text);
	json = gpubpf_typed_json(btf, u64, &wide, &(uint64_t){ (1ull << 53) + 1 }, 8);
	ok(json_object_is_type(json, json_type_string), "beyond 2^53 as a string, where that is asked for");
	json_object_put(json);
	json = gpubpf_typed_json(btf, u64, &wide, &(uint64_t){ 1ull << 53 }, 8);
	ok(json_object_is_type(json, json_type_int), "up to it as a number");
	json_object_put(json);
}

/* Structs nested 40 deep, with both members at offset 0: without a limit the output would double at each level. */
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
	gpubpf_typed_text(btf, type, NULL, "\1\0\0\0", 4, text, sizeof(text));
	ok(!strcmp(text, "01 00 00 00"), "types nested too deep come out as bytes");
	self = btf__add_struct(btf, "self", 4);
	btf__add_field(btf, "self", self, 0, 0);
	gpubpf_typed_text(btf, self, NULL, "\1\0\0\0", 4, text, sizeof(text));
	ok(!strcmp(text, "01 00 00 00"), "a type that contains itself is printed as bytes");
	ok(gpubpf_typed_text(btf, u64, NULL, "\377\377\377\377\0\0\0\0", 8, text, 4) == 10 && !strcmp(text, "429"),
	   "text that does not fit is cut, its length returned");
}

/* A histogram with the maximum number of slots, which cover all 64-bit values. The output includes the last slots. */
static void largest(void)
{
	const struct gpubpf_hist_shape shape = { .n = (65 - 3) << 3, .width = 8, .bits = 3 };
	uint64_t slot[(65 - 3) << 3] = { [1] = 2, [((65 - 3) << 3) - 9] = 3, [((65 - 3) << 3) - 1] = 4 };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	gpubpf_hist_print(&shape, slot, out);
	fclose(out);
	ok(strstr(text, "  [1]                       2 |") && strstr(text, "  [4E, 8E)                  3 |") &&
		   strstr(text, "  [8E, ...)                 4 |"),
	   "the largest values of a fine histogram are drawn");
	free(text);
}

/* The kernel of gpubpf_typed_lookup: ctx is the name of kernel 7. */
static int find_kernel(void *ctx, const char *word, uint64_t *id, char *why, size_t why_size)
{
	*id = 7;
	if (!strcmp(word, ctx))
		return 1;
	snprintf(why, why_size, "no kernel %s", word);
	return word[0] >= '0' && word[0] <= '9' ? 0 : -1;
}

static const char *scale(void *ctx, uint64_t id)
{
	(void)ctx;
	return id == 7 ? "void scale<int, 4>(int *)" : "";
}

/* Parse words into a value of this type. text is the expected value, formatted as text, or the expected error. */
static void reads_these(int type, size_t size, const char *words, const char *const *list, uint32_t n, const char *text)
{
	char data[64], why[200] = "", got[256];
	const struct gpubpf_typed_form form = { btf, type,
						&(struct gpubpf_typed_lookup){ "void scale<int, 4>(int *)", find_kernel } };
	int err = gpubpf_typed_read(&form, list, n, data, size, why, sizeof(why));

	if (!err)
		gpubpf_typed_text(btf, type, &(struct gpubpf_typed_names){ .kernel = scale }, data, size, got,
				  sizeof(got));
	if (!ok(!strcmp(err ? why : got, text), "%s: %s", words, text))
		note("got %s", err ? why : got);
}

static void reads(int type, size_t size, const char *words, const char *text)
{
	char copy[160];
	const char *list[32];
	uint32_t n = 0;

	snprintf(copy, sizeof(copy), "%s", words);
	for (char *at = NULL, *word = strtok_r(copy, " ", &at); word; word = strtok_r(NULL, " ", &at))
		list[n++] = word;
	reads_these(type, size, words, list, n, text);
}

static void reads_whole(int type, size_t size, const char *word, const char *text)
{
	reads_these(type, size, word, &word, 1, text);
}

static int job_type(void)
{
	int text = btf__add_array(btf, u32, character, 4), pair = btf__add_array(btf, u32, s32, 2), colour, inner, job;

	colour = btf__add_enum(btf, "paint", 4);
	btf__add_enum_value(btf, "RED", 1);
	btf__add_enum_value(btf, "BLUE", 7);
	inner = btf__add_struct(btf, NULL, 8);
	btf__add_field(btf, "low", u32, 0, 0);
	btf__add_field(btf, "bits", u32, 32, 3);
	job = btf__add_struct(btf, "job", 32);
	btf__add_field(btf, "number", u64, 0, 0);
	btf__add_field(btf, "paint", colour, 64, 0);
	btf__add_field(btf, "name", text, 96, 0);
	btf__add_field(btf, NULL, inner, 128, 0);
	btf__add_field(btf, "pair", pair, 192, 0);
	return job;
}

static void read_words(void)
{
	int job = job_type();
	int three = btf__add_array(btf, u32, u32, 3);

	reads(u64, 8, "18446744073709551615", "18446744073709551615");
	reads(u64, 8, "18446744073709551616", "18446744073709551616 does not fit into unsigned 64 bits");
	reads(u64, 8, "-1", "-1 does not fit into unsigned 64 bits");
	reads(u64, 8, "hex ff 0 0 0 0 0 0 0", "255");
	reads(u64, 8, "1 2 3", "it has 8 bytes, not 3");
	reads(u64, 8, "0x10", "16");
	reads(u64, 8, "seven", "seven is not a number");
	reads(u64, 8, "", "it has 8 bytes, not 0");
	reads(s32, 4, "-2147483648", "-2147483648");
	reads(s32, 4, "2147483648", "2147483648 does not fit into 32 bits");
	reads(s32, 4, "1 0 0 300", "300 is not a byte");
	reads(boolean, 1, "true", "true");
	reads(f64, 8, "-2.5", "-2.5");
	reads(f32, 4, "1e3", "1000");
	reads(three, 12, "1 2 3", "{ 1, 2, 3 }");
	reads(three, 12, "[2]=7", "{ 0, 0, 7 }");
	reads(three, 12, "[3]=7", "there is no element [3]");
	reads(0, 2, "1 2", "01 02");
	reads(0, 2, "7", "7: it has no type; write it as bytes");
	reads(job, 32, ".number=5 .paint=BLUE .name=ab .bits=5 .pair[1]=-3",
	      "{ .number = 5, .paint = BLUE, .name = \"ab\", .low = 0, .bits = 5, .pair = { 0, -3 } }");
	reads(job, 32, ".bits=8", "8 does not fit into unsigned 3 bits");
	reads(job, 32, ".paint=GREEN", "GREEN is not an enumerator of its type");
	reads(job, 32, ".name=abcde", "\"abcde\" has 5 characters, but at most 4 fit");
	reads(job, 32, ".nothing=1", "there is no member nothing");
	reads(job, 32, ".number.more=1", "there is no member more");
	reads(job, 32, ".number", ".number: write a member and its value as .NAME=VALUE");
	reads(job, 32, "5", "5: it is a struct; name its members, as in .x=1 or { .x = 1 }");
	reads(job, 32, ".pair.x=1", "there is no member x: it is an array; name one element, as in .x[0]=1");
	reads(job, 32, ".number=", "nothing is not a number");
	reads(job, 16, ".pair[0]=1", "its type does not fit into 16 bytes");
}

/* A whole struct or array, parsed from one argument of the command line. */
static void read_wholes(void)
{
	static const char *full =
		"{ .number = 5, .paint = BLUE, .name = \"a\\\"b\", .low = 9, .bits = 5, .pair = { 4, -3 } }";
	int job = job_type(), three = btf__add_array(btf, u32, u32, 3), deep = u32;
	char nested[80] = "";

	reads_whole(job, 32, full, full);
	reads_whole(job, 32,
		    "{\"number\":5,\"paint\":\"BLUE\",\"name\":\"a\\\"b\",\"low\":9,\"bits\":5,\"pair\":[4,-3]}", full);
	reads_whole(job, 32, "{ .paint = 7, { .bits = 3, }, }",
		    "{ .number = 0, .paint = BLUE, .name = \"\", .low = 0, .bits = 3, .pair = { 0, 0 } }");
	reads_whole(job, 32, ".pair={ 1, 2 }",
		    "{ .number = 0, .paint = 0, .name = \"\", .low = 0, .bits = 0, .pair = { 1, 2 } }");
	reads_whole(three, 12, "{ 1, 2, 0x3 }", "{ 1, 2, 3 }");
	reads_whole(three, 12, "[1, 2]", "{ 1, 2, 0 }");
	reads_whole(three, 12, "{}", "{ 0, 0, 0 }");
	reads_whole(three, 12, "{ 1, 2, 3, 4 }", "there is no element [3]");
	reads_whole(three, 12, "{ 1, 2", "nothing: expected , or } before it");
	reads_whole(three, 12, "{ 1 2 }", "1 2 is not a number");
	reads_whole(three, 12, "{ 1,", "nothing is not a number");
	reads_whole(three, 12, "{ 1 } 2", "2 follows the end of the value");
	reads_whole(three, 12, "{ 1, 4294967296 }", "4294967296 does not fit into unsigned 32 bits");
	reads_whole(job, 32, "{ .bits = 8 }", "8 does not fit into unsigned 3 bits");
	reads_whole(job, 32, "{ .nothing = 1 }", "there is no member nothing");
	reads_whole(job, 32, "{ .number 5 }", ".number: write a member and its value as .NAME = VALUE");
	reads_whole(job, 32, "{ 5, BLUE, \"a\\\"b\", 9, 5, { 4, -3 } }", full);
	reads_whole(job, 32, "{number: 5, paint: BLUE, name: \"a\\u0022b\", low: 9, bits: 5, pair: [4, -3]}", full);
	reads_whole(job, 32, "{ .number = 5, BLUE }", "name all members, as in .NAME = VALUE, or none");
	reads_whole(job, 32, "{ 5, BLUE, a, 9, 5, { 1 }, 2 }", "there is no member number 7");
	reads(job, 32, "{ .number = 5, .paint = BLUE, .name = \"a\\\"b\", .low = 9, .bits = 5, .pair = { 4, -3 } }", full);
	reads(job, 32, "5 BLUE a\"b 9 5 {4,-3}", full);
	reads(job, 32, "5 BLUE", "its struct has more than 2 members; name the members, as in .x=1");
	reads_whole(job, 32, "{ .name = \"op }", "nothing: expected , or } before it");
	reads_whole(job, 16, "{ .pair = { 1 } }", "its type does not fit into 16 bytes");
	reads_whole(u64, 8, "{ 1 }", "{ 1 } is not a number");
	for (int i = 0; i < 20; i++) {
		deep = btf__add_array(btf, u32, deep, 1);
		strcat(nested, "{ ");
	}
	reads_whole(deep, 4, nested, "it is nested more than 16 times");
}

/* The forms in which dumps print types of <gpubpf/probe.h>, repeated elements and bytes. */
static void read_printed(void)
{
	int twelve = btf__add_array(btf, u32, u32, 12), eight = btf__add_array(btf, u32, character, 8), key, wide, pair,
	    rows;
	int ns = btf__find_by_name(btf, "gpubpf_ns"), kernel = btf__find_by_name(btf, "gpubpf_kernel");
	static const char *printed =
		"{ .kernel = void scale<int, 4>(int *), .took = 1.5 ms, .name = step one, .wide = 00 01 02 03 04 "
		"05 06 07 08 09 0a 0b 0c 0d 0e ff }";

	wide = btf__add_int(btf, "__int128", 16, 0);
	key = btf__add_struct(btf, "printed", 48);
	btf__add_field(btf, "kernel", kernel, 0, 0);
	btf__add_field(btf, "took", ns, 64, 0);
	btf__add_field(btf, "name", btf__find_by_name(btf, "gpubpf_name"), 128, 0);
	btf__add_field(btf, "wide", wide, 256, 0);
	reads_whole(key, 48, printed, printed);
	reads_whole(key, 48,
		    "{\"kernel\":\"void scale<int, 4>(int *)\",\"took\":1500000,\"name\":{\"text\":\"step one\"},"
		    "\"wide\":\"00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e ff\"}",
		    printed);
	reads_whole(key, 48, "{ .kernel = nothing }", "no kernel nothing");
	reads_whole(key, 48, "{ .name = 0123456789abcdef }", "\"0123456789abcdef\" has 16 characters, but at most 15 fit");
	reads_whole(key, 48, "{ .wide = 00 01 }", "00 01: write its 16 bytes in base 16, separated by blanks");
	reads_whole(kernel, 8, "\"void scale<int, 4>(int *)\"", "void scale<int, 4>(int *)");
	reads_whole(ns, 8, "2.25 s", "2.25 s");
	reads_whole(ns, 8, "1e30 s", "1e30 s does not fit into 64 bits of nanoseconds");
	reads(f64, 8, "1e999", "1e999 does not fit into 64 bits");
	reads(f32, 4, "-1e39", "-1e39 does not fit into 32 bits");
	reads(f32, 4, "-inf", "-inf");
	reads_whole(u64, 8, "2.25 s", "2.25 s is not a number");
	reads_whole(twelve, 48, "{ 1, 0 <repeats 10 times>, 2 }", "{ 1, 0 <repeats 10 times>, 2 }");
	reads_whole(twelve, 48, "{ 3 <repeats 2 times> }", "{ 3, 3, 0 <repeats 10 times> }");
	reads_whole(twelve, 48, "{ 3 <repeats 13 times> }", "<repeats 13 times> }: the array has no room for it");
	reads_whole(twelve, 48, "{ 3 <repeats 0 times> }", "<repeats 0 times> }: the array has no room for it");
	reads_whole(btf__add_array(btf, u32, btf__add_array(btf, u32, u32, 3), 2), 24, "{ { 5 <repeats 4 times> } }",
		    "<repeats 4 times> } }: the array has no room for it");
	reads_whole(eight, 8, "\"x y\"", "\"x y\"");
	reads_whole(eight, 8, "x\"y", "\"x\\\"y\"");
	reads_whole(eight, 8, "31 32 33 34 35 36 37 38",
		    "\"31 32 33 34 35 36 37 38\" has 23 characters, but at most 8 fit");
	reads_whole(0, 3, "01 0a ff", "01 0a ff");
	reads_whole(0, 3, "[\"0x01\",10,\"0xff\"]", "01 0a ff");
	reads_whole(0, 3, "[1, 2]", "it has 3 bytes, not 2");
	reads_whole(0, 3, "[1, 2, 3, 4]", "it has 3 bytes, not 4");
	reads_whole(0, 3, "[1, 2, 256]", "256 is not a byte");
	reads_whole(0, 3, "[1 2 3]", "1 2 3 is not a byte");
	pair = btf__add_struct(btf, "two", 8);
	btf__add_field(btf, "a", u32, 0, 0);
	btf__add_field(btf, "b", u32, 32, 0);
	rows = btf__add_array(btf, u32, pair, 2);
	reads_whole(pair, 8, "[1,0,0,0,\"0x02\",0,0,0]", "{ .a = 1, .b = 2 }");
	reads_whole(pair, 8, "01 00 00 00 02 00 00 00", "{ .a = 1, .b = 2 }");
	reads_whole(rows, 16, "{ { 1, 2 }, { .b = 3 } }", "{ { .a = 1, .b = 2 }, { .a = 0, .b = 3 } }");
	reads(rows, 16, "{1,2} {3,4}", "{ { .a = 1, .b = 2 }, { .a = 3, .b = 4 } }");
	reads(rows, 16, "{ { 1 , 2 } , { 3 , 4 } }", "{ { .a = 1, .b = 2 }, { .a = 3, .b = 4 } }");
}

/* Each path may pass many members, however many the paths before it passed. */
static void read_many_members(void)
{
	const struct gpubpf_typed_form form = { btf, btf__add_union(btf, "many", 4), NULL };
	static const char *const words[] = { ".last=1", ".last=2" };
	char why[200] = "";
	uint32_t data = 0;

	for (int i = 0; i < 40000; i++)
		btf__add_field(btf, "other", u32, 0, 0);
	btf__add_field(btf, "last", u32, 0, 0);
	if (!ok(!gpubpf_typed_read(&form, words, 2, &data, 4, why, sizeof(why)) && data == 2, "two paths pass many members"))
		note("got %s", why);
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
	meanings();
	read_words();
	read_wholes();
	read_printed();
	read_many_members();
	bombs();
	largest();
	slot = btf__add_typedef(btf, "gpubpf_log2_slot", u64);
	ok(gpubpf_typed_is(btf, slot, "gpubpf_log2_slot") && !gpubpf_typed_is(btf, u64, "gpubpf_log2_slot"),
	   "a slot is known by its typedef");
	btf__free(btf);
	return done();
}
