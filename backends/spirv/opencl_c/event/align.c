/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the alignment that compilers may assume for an lvalue. The alignment is lower than that of the type if the
 * lvalue is a member of a packed struct, or if a typedef lowers it. A probed copy stores the lvalue's address in a
 * pointer variable. The pointee type of that variable must have the same alignment.
 */
#include "walk.h"

static enum CXTypeKind get_kind(CXCursor c)
{
	return clang_getCanonicalType(clang_getCursorType(c)).kind;
}

static bool is_array(CXCursor c)
{
	return get_kind(c) == CXType_ConstantArray || get_kind(c) == CXType_IncompleteArray;
}

static uint32_t lower_align(uint32_t align, long long at)
{
	return at > 0 && (at & -at) < align ? at & -at : align;
}

static uint32_t get_natural_align(CXType type)
{
	long long align = clang_Type_getAlignOf(type);

	return align > 0 ? align : UINT32_MAX;
}

/*
 * Returns the pointee type with its typedef names, because a typedef can lower the alignment. Canonical types contain
 * no typedefs.
 */
static CXType get_pointee(CXType pointer)
{
	while (pointer.kind == CXType_Typedef || pointer.kind == CXType_Elaborated)
		pointer = pointer.kind == CXType_Typedef ?
				  clang_getTypedefDeclUnderlyingType(clang_getTypeDeclaration(pointer)) :
				  clang_Type_getNamedType(pointer);
	if (pointer.kind != CXType_Pointer)
		pointer = clang_getCanonicalType(pointer);
	return clang_getPointeeType(pointer);
}

/*
 * Returns the alignment of the object to which a pointer expression points. For an array name or an &lvalue expression,
 * this is the alignment of that object. Otherwise it is the natural alignment of the pointee type.
 */
static uint32_t get_pointee_align(CXCursor pointer)
{
	CXCursor c = pointer;

	while (clang_getCursorKind(c) == CXCursor_ParenExpr ||
	       (clang_getCursorKind(c) == CXCursor_UnexposedExpr && !is_array(c)))
		c = clread_only_child(c);
	if (!clang_Cursor_isNull(c) && is_array(c))
		return clread_align_of(c);
	if (clang_getCursorKind(c) == CXCursor_UnaryOperator &&
	    clang_getCursorUnaryOperatorKind(c) == CXUnaryOperator_AddrOf)
		return clread_align_of(clread_first_child(c));
	return get_natural_align(get_pointee(clang_getCursorType(pointer)));
}

uint32_t clread_align_of(CXCursor c)
{
	uint32_t found = get_natural_align(clang_getCursorType(c)), base = UINT32_MAX;
	CXCursor of = clread_first_child(c);

	switch (clang_Cursor_isNull(of) ? CXCursor_DeclRefExpr : clang_getCursorKind(c)) {
	case CXCursor_MemberRefExpr:
		base = get_kind(of) == CXType_Pointer ? get_pointee_align(of) : clread_align_of(of);
		base = lower_align(base, clang_Cursor_getOffsetOfField(clang_getCursorReferenced(c)) / 8);
		break;
	case CXCursor_ArraySubscriptExpr:
		base = get_kind(of) == CXType_Pointer ?
			       lower_align(get_pointee_align(of), clang_Type_getSizeOf(clang_getCursorType(c))) :
			       UINT32_MAX;
		break;
	case CXCursor_UnaryOperator:
		base = get_kind(of) == CXType_Pointer ? get_pointee_align(of) : UINT32_MAX;
		break;
	case CXCursor_ParenExpr:
	case CXCursor_UnexposedExpr:
		base = clread_align_of(of);
		break;
	default:
		break;
	}
	return base < found ? base : found;
}
