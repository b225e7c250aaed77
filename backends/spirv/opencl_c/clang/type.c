/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes type names that are valid anywhere in the source, and finds the memory spaces in which objects of a type lie.
 */
#include <stdio.h>
#include <string.h>

#include "reader.h"

static const struct {
	unsigned clang;
	const char *name;
	uint32_t spaces;
} address_spaces[] = {
	{ CLANG_AS_GLOBAL, "__global", GPUBPF_IN(GLOBAL) },
	{ CLANG_AS_LOCAL, "__local", GPUBPF_IN(SHARED) },
	{ CLANG_AS_CONSTANT, "__constant", GPUBPF_IN(CONSTANT) },
	{ CLANG_AS_PRIVATE, "__private", GPUBPF_IN(LOCAL) },
	{ CLANG_AS_GENERIC, "__generic", GPUBPF_IN(GLOBAL) | GPUBPF_IN(SHARED) | GPUBPF_IN(LOCAL) },
};

#define NSPACES (sizeof(address_spaces) / sizeof(*address_spaces))

/*
 * Returns the index in address_spaces[] for the type's address space, or NSPACES if no row matches. The function
 * clang_getAddressSpace() must not be called with an invalid type.
 */
static size_t address_space_row(CXType type)
{
	unsigned space = type.kind == CXType_Invalid ? CLANG_AS_DEFAULT : clang_getAddressSpace(type);
	size_t i = 0;

	while (i < NSPACES && address_spaces[i].clang != space)
		i++;
	return i;
}

uint32_t clread_spaces(CXType type)
{
	size_t i = address_space_row(type);

	return i < NSPACES ? address_spaces[i].spaces : 0;
}

static bool is_vector(CXType canonical)
{
	return canonical.kind == CXType_ExtVector || canonical.kind == CXType_Vector;
}

uint32_t clread_elements(CXType type)
{
	CXType canonical = clang_getCanonicalType(type);

	return is_vector(canonical) ? clang_getNumElements(canonical) : 1;
}

static const char *number_name(enum CXTypeKind kind)
{
	switch (kind) {
	case CXType_Bool:
		return "bool";
	case CXType_Char_S:
	case CXType_SChar:
		return "char";
	case CXType_Char_U:
	case CXType_UChar:
		return "uchar";
	case CXType_Short:
		return "short";
	case CXType_UShort:
		return "ushort";
	case CXType_Int:
		return "int";
	case CXType_UInt:
		return "uint";
	case CXType_Long:
	case CXType_LongLong:
		return "long";
	case CXType_ULong:
	case CXType_ULongLong:
		return "ulong";
	case CXType_Half:
		return "half";
	case CXType_Float:
		return "float";
	case CXType_Double:
		return "double";
	default:
		return "";
	}
}

static bool is_at_file_scope(CXType type)
{
	CXCursor declared = clang_getTypeDeclaration(type);

	return clang_getCursorKind(declared) != CXCursor_NoDeclFound &&
	       clang_getCursorKind(clang_getCursorSemanticParent(declared)) == CXCursor_TranslationUnit;
}

/* Returns the name of a typedef, struct, union or enum. Returns "" if the type is not declared at file scope. */
static const char *declared_name(struct reader *r, CXType type)
{
	CXType bare = clang_getUnqualifiedType(type);
	const char *name = clread_text(r, clang_getTypeSpelling(bare));

	while (bare.kind == CXType_Elaborated)
		bare = clang_Type_getNamedType(bare);
	return is_at_file_scope(bare) && !strchr(name, '(') ? name : "";
}

static const char *concat(struct reader *r, const char *a, const char *b, const char *c)
{
	char *text = gpubpf_pool_alloc(r->pool, strlen(a) + strlen(b) + strlen(c) + 1, 1);

	if (!text)
		return "";
	strcpy(stpcpy(stpcpy(text, a), b), c);
	return text;
}

/*
 * Build the name of an atomic type of OpenCL C 2.0, such as atomic_int. The canonical pointee type no longer contains
 * this typedef's name.
 */
static const char *atomic_name(struct reader *r, CXType atomic)
{
	const char *number = number_name(clang_getCanonicalType(clang_Type_getValueType(atomic)).kind);

	return *number ? concat(r, "atomic_", number, "") : "";
}

const char *clread_pointer_name(struct reader *r, CXType type)
{
	const char *name = clread_type_name(r, type), *space;
	size_t i = address_space_row(type);

	if (!*name || i == NSPACES)
		return "";
	/* in C++ for OpenCL and OpenCL C 2.0 the generic space is the default and needs no keyword */
	space = address_spaces[i].clang == CLANG_AS_GENERIC ? "" : address_spaces[i].name;
	name = concat(r, name, " ", space);
	if (clang_isConstQualifiedType(type))
		name = concat(r, name, " const", "");
	if (clang_isVolatileQualifiedType(type))
		name = concat(r, name, " volatile", "");
	return concat(r, name, " *", "");
}

bool clread_is_array(CXType canonical)
{
	return canonical.kind == CXType_ConstantArray || canonical.kind == CXType_IncompleteArray;
}

/*
 * Returns the element type's name with the qualifiers and address space of the array. libclang reports them for the
 * array type but not for its element type.
 */
static const char *qualified_element_name(struct reader *r, CXType array, CXType element)
{
	const char *name = clread_type_name(r, element);
	size_t i = address_space_row(array);

	if (!*name || i == NSPACES)
		return "";
	name = concat(r, name, " ", address_spaces[i].clang == CLANG_AS_GENERIC ? "" : address_spaces[i].name);
	if (clang_isConstQualifiedType(array) || clang_isConstQualifiedType(element))
		name = concat(r, name, " const", "");
	if (clang_isVolatileQualifiedType(array) || clang_isVolatileQualifiedType(element))
		name = concat(r, name, " volatile", "");
	return name;
}

const char *clread_array_pointer(struct reader *r, CXType type)
{
	CXType array = clang_getCanonicalType(type), element = clang_getArrayElementType(array);
	const char *name, *lengths = "";
	char length[32];

	while (clread_is_array(clang_getCanonicalType(element))) {
		element = clang_getCanonicalType(element);
		snprintf(length, sizeof(length), "[%lld]", clang_getArraySize(element));
		lengths = concat(r, lengths, length, "");
		element = clang_getArrayElementType(element);
	}
	name = qualified_element_name(r, array, element);
	return !*name ? "" : *lengths ? concat(r, name, " (*)", lengths) : concat(r, name, " *", "");
}

const char *clread_type_name(struct reader *r, CXType type)
{
	CXType canonical = clang_getCanonicalType(type);
	char number[16];

	switch (canonical.kind) {
	case CXType_ExtVector:
	case CXType_Vector:
		snprintf(number, sizeof(number), "%lld", clang_getNumElements(canonical));
		return concat(r, number_name(clang_getCanonicalType(clang_getElementType(canonical)).kind), number, "");
	case CXType_Pointer:
		return clread_pointer_name(r, clang_getPointeeType(canonical));
	case CXType_Record:
	case CXType_Enum:
		return declared_name(r, type);
	case CXType_Atomic:
		return atomic_name(r, canonical);
	default:
		return number_name(canonical.kind);
	}
}
