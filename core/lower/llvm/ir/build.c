/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds IR: constants, types, blocks, a program's registers and stack, pointers, and calls of the device library.
 */
#include <string.h>

#include "ir.h"

LLVMValueRef low_const(struct low *l, uint64_t v)
{
	return LLVMConstInt(low_int(l, 8), v, false);
}

LLVMValueRef low_const32(struct low *l, uint32_t v)
{
	return LLVMConstInt(l->i32, v, false);
}

LLVMTypeRef low_int(struct low *l, unsigned bytes)
{
	return LLVMIntTypeInContext(l->ctx, bytes * 8);
}

LLVMValueRef low_alloca(struct low_prog *p, LLVMTypeRef type, unsigned align, const char *name)
{
	LLVMBasicBlockRef at = LLVMGetInsertBlock(p->l->b);
	LLVMValueRef v;

	LLVMPositionBuilderAtEnd(p->l->b, p->entry);
	v = LLVMBuildAlloca(p->l->b, type, name);
	LLVMSetAlignment(v, align);
	LLVMPositionBuilderAtEnd(p->l->b, at);
	return v;
}

LLVMValueRef low_byte_ptr(struct low *l, LLVMValueRef base, LLVMValueRef index)
{
	return LLVMBuildGEP2(l->b, l->i8, base, &index, 1, "");
}

LLVMValueRef low_device_ptr(struct low *l, LLVMValueRef address)
{
	return LLVMBuildIntToPtr(l->b, address, l->global, "");
}

LLVMBasicBlockRef low_block(struct low_prog *p, const char *name)
{
	return LLVMAppendBasicBlockInContext(p->l->ctx, p->fn, name);
}

LLVMValueRef low_library(struct low *l, const char *name, LLVMTypeRef *type)
{
	LLVMValueRef fn = LLVMGetNamedFunction(l->mod, name), in_lib;

	if (!fn) {
		in_lib = LLVMGetNamedFunction(l->lib, name);
		if (!in_lib) {
			gpubpf_diag_set(l->diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC,
					"the device library of target %s has no function %s", l->target->name, name);
			return NULL;
		}
		fn = LLVMAddFunction(l->mod, name, LLVMGlobalGetValueType(in_lib));
		LLVMSetFunctionCallConv(fn, LLVMGetFunctionCallConv(in_lib));
	}
	*type = LLVMGlobalGetValueType(fn);
	return fn;
}

static LLVMValueRef resize_int(struct low *l, LLVMValueRef v, LLVMTypeRef type)
{
	unsigned have, want;

	if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind)
		return v;
	have = LLVMGetIntTypeWidth(LLVMTypeOf(v));
	want = LLVMGetIntTypeWidth(type);
	return have > want ? LLVMBuildTrunc(l->b, v, type, "") : LLVMBuildZExt(l->b, v, type, "");
}

LLVMValueRef low_call(struct low *l, const char *name, const LLVMValueRef *args, unsigned n)
{
	LLVMTypeRef type, params[24];
	LLVMValueRef fn = low_library(l, name, &type), fitted[24], call;

	if (!fn)
		return NULL;
	if (LLVMCountParamTypes(type) != n || n > 24) {
		gpubpf_diag_set(l->diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC,
				"%s of the device library takes %u arguments, not %u", name, LLVMCountParamTypes(type), n);
		return NULL;
	}
	LLVMGetParamTypes(type, params);
	for (unsigned i = 0; i < n; i++)
		fitted[i] = resize_int(l, args[i], params[i]);
	call = LLVMBuildCall2(l->b, type, fn, fitted, n, "");
	LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(fn));
	if (LLVMGetTypeKind(LLVMGetReturnType(type)) == LLVMVoidTypeKind)
		return NULL;
	return resize_int(l, call, low_int(l, 8));
}

void low_attribute(struct low *l, LLVMValueRef fn, LLVMAttributeIndex at, const char *name)
{
	LLVMAddAttributeAtIndex(fn, at,
				LLVMCreateEnumAttribute(l->ctx, LLVMGetEnumAttributeKindForName(name, strlen(name)), 0));
}

LLVMValueRef low_get(struct low_frame *f, unsigned reg)
{
	struct low *l = f->p->l;

	return LLVMBuildLoad2(l->b, low_int(l, 8), f->reg[reg], "");
}

void low_set(struct low_frame *f, unsigned reg, LLVMValueRef v)
{
	LLVMBuildStore(f->p->l->b, v, f->reg[reg]);
}
