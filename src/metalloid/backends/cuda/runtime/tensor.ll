; Products of matrices on tensor cores. A lane's two elements of an 8x8 matrix travel as one word. Metal and NVIDIA spread
; the same 64 elements over the lanes in different orders; `mtd_tensor_moved` (device.cpp) leads from one to the other.

define i32 @mtd_tensor_rows_f16(half %x, half %y) alwaysinline convergent nounwind {
  %a = insertelement <2 x half> poison, half %x, i32 0
  %b = insertelement <2 x half> %a, half %y, i32 1
  %word = bitcast <2 x half> %b to i32
  %moved = call i32 @mtd_tensor_moved(i32 %word)
  ret i32 %moved
}
define i32 @mtd_tensor_rows_bf16(bfloat %x, bfloat %y) alwaysinline convergent nounwind {
  %a = insertelement <2 x bfloat> poison, bfloat %x, i32 0
  %b = insertelement <2 x bfloat> %a, bfloat %y, i32 1
  %word = bitcast <2 x bfloat> %b to i32
  %moved = call i32 @mtd_tensor_moved(i32 %word)
  ret i32 %moved
}
define i32 @mtd_tensor_columns_f16(half %x, half %y) alwaysinline convergent nounwind {
  %rows = call i32 @mtd_tensor_rows_f16(half %x, half %y)
  %turned = call i32 asm "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r"(i32 %rows) convergent nounwind memory(none)
  ret i32 %turned
}
define i32 @mtd_tensor_columns_bf16(bfloat %x, bfloat %y) alwaysinline convergent nounwind {
  %rows = call i32 @mtd_tensor_rows_bf16(bfloat %x, bfloat %y)
  %turned = call i32 asm "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r"(i32 %rows) convergent nounwind memory(none)
  ret i32 %turned
}
define [4 x float] @mtd_tensor_product_f16_k8(i32 %a0, i32 %a1, i32 %b0, float %c0, float %c1, float %c2, float %c3) alwaysinline convergent nounwind {
  %x0 = bitcast i32 %a0 to <2 x half>
  %x1 = bitcast i32 %a1 to <2 x half>
  %y0 = bitcast i32 %b0 to <2 x half>
  %d = call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.f32.f32(<2 x half> %x0, <2 x half> %x1, <2 x half> %y0, float %c0, float %c1, float %c2, float %c3)
  %all = call [4 x float] @mtd_tensor_four({ float, float, float, float } %d)
  ret [4 x float] %all
}
define [4 x float] @mtd_tensor_product_f16_k16(i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1, float %c0, float %c1, float %c2, float %c3) alwaysinline convergent nounwind {
  %x0 = bitcast i32 %a0 to <2 x half>
  %x1 = bitcast i32 %a1 to <2 x half>
  %x2 = bitcast i32 %a2 to <2 x half>
  %x3 = bitcast i32 %a3 to <2 x half>
  %y0 = bitcast i32 %b0 to <2 x half>
  %y1 = bitcast i32 %b1 to <2 x half>
  %d = call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half> %x0, <2 x half> %x1, <2 x half> %x2, <2 x half> %x3, <2 x half> %y0, <2 x half> %y1, float %c0, float %c1, float %c2, float %c3)
  %all = call [4 x float] @mtd_tensor_four({ float, float, float, float } %d)
  ret [4 x float] %all
}
define [4 x float] @mtd_tensor_product_bf16_k8(i32 %a0, i32 %a1, i32 %b0, float %c0, float %c1, float %c2, float %c3) alwaysinline convergent nounwind {
  %d = call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.bf16(i32 %a0, i32 %a1, i32 %b0, float %c0, float %c1, float %c2, float %c3)
  %all = call [4 x float] @mtd_tensor_four({ float, float, float, float } %d)
  ret [4 x float] %all
}
define [4 x float] @mtd_tensor_product_bf16_k16(i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1, float %c0, float %c1, float %c2, float %c3) alwaysinline convergent nounwind {
  %d = call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1, float %c0, float %c1, float %c2, float %c3)
  %all = call [4 x float] @mtd_tensor_four({ float, float, float, float } %d)
  ret [4 x float] %all
}
define [4 x float] @mtd_tensor_four({ float, float, float, float } %d) alwaysinline nounwind {
  %d0 = extractvalue { float, float, float, float } %d, 0
  %d1 = extractvalue { float, float, float, float } %d, 1
  %d2 = extractvalue { float, float, float, float } %d, 2
  %d3 = extractvalue { float, float, float, float } %d, 3
  %r0 = insertvalue [4 x float] poison, float %d0, 0
  %r1 = insertvalue [4 x float] %r0, float %d1, 1
  %r2 = insertvalue [4 x float] %r1, float %d2, 2
  %r3 = insertvalue [4 x float] %r2, float %d3, 3
  ret [4 x float] %r3
}
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.f32.f32(<2 x half>, <2 x half>, <2 x half>, float, float, float, float)
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, float, float, float, float)
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.bf16(i32, i32, i32, float, float, float, float)
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32, i32, i32, i32, i32, i32, float, float, float, float)
