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
define [1 x i32] @mtd_tensor_x1(i64 %b0, i32 %o0) alwaysinline convergent nounwind {
  %w0 = sext i32 %o0 to i64
  %a0 = add i64 %b0, %w0
  %at = call i64 @mtd_tensor_line(i64 %a0, i64 %a0, i64 %a0, i64 %a0)
  %line = inttoptr i64 %at to ptr addrspace(3)
  %m = call i32 @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3(ptr addrspace(3) %line)
  %r0 = insertvalue [1 x i32] poison, i32 %m, 0
  ret [1 x i32] %r0
}
define [1 x i32] @mtd_tensor_x1_turned(i64 %b0, i32 %o0) alwaysinline convergent nounwind {
  %w0 = sext i32 %o0 to i64
  %a0 = add i64 %b0, %w0
  %at = call i64 @mtd_tensor_line(i64 %a0, i64 %a0, i64 %a0, i64 %a0)
  %line = inttoptr i64 %at to ptr addrspace(3)
  %m = call i32 @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.trans.b16.p3(ptr addrspace(3) %line)
  %r0 = insertvalue [1 x i32] poison, i32 %m, 0
  ret [1 x i32] %r0
}
define [2 x i32] @mtd_tensor_x2(i64 %b0, i32 %o0, i64 %b1, i32 %o1) alwaysinline convergent nounwind {
  %w0 = sext i32 %o0 to i64
  %a0 = add i64 %b0, %w0
  %w1 = sext i32 %o1 to i64
  %a1 = add i64 %b1, %w1
  %at = call i64 @mtd_tensor_line(i64 %a0, i64 %a1, i64 %a0, i64 %a1)
  %line = inttoptr i64 %at to ptr addrspace(3)
  %m = call { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) %line)
  %m0 = extractvalue { i32, i32 } %m, 0
  %r0 = insertvalue [2 x i32] poison, i32 %m0, 0
  %m1 = extractvalue { i32, i32 } %m, 1
  %r1 = insertvalue [2 x i32] %r0, i32 %m1, 1
  ret [2 x i32] %r1
}
define [2 x i32] @mtd_tensor_x2_turned(i64 %b0, i32 %o0, i64 %b1, i32 %o1) alwaysinline convergent nounwind {
  %w0 = sext i32 %o0 to i64
  %a0 = add i64 %b0, %w0
  %w1 = sext i32 %o1 to i64
  %a1 = add i64 %b1, %w1
  %at = call i64 @mtd_tensor_line(i64 %a0, i64 %a1, i64 %a0, i64 %a1)
  %line = inttoptr i64 %at to ptr addrspace(3)
  %m = call { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.trans.b16.p3(ptr addrspace(3) %line)
  %m0 = extractvalue { i32, i32 } %m, 0
  %r0 = insertvalue [2 x i32] poison, i32 %m0, 0
  %m1 = extractvalue { i32, i32 } %m, 1
  %r1 = insertvalue [2 x i32] %r0, i32 %m1, 1
  ret [2 x i32] %r1
}
define [4 x i32] @mtd_tensor_x4(i64 %b0, i32 %o0, i64 %b1, i32 %o1, i64 %b2, i32 %o2, i64 %b3, i32 %o3) alwaysinline convergent nounwind {
  %w0 = sext i32 %o0 to i64
  %a0 = add i64 %b0, %w0
  %w1 = sext i32 %o1 to i64
  %a1 = add i64 %b1, %w1
  %w2 = sext i32 %o2 to i64
  %a2 = add i64 %b2, %w2
  %w3 = sext i32 %o3 to i64
  %a3 = add i64 %b3, %w3
  %at = call i64 @mtd_tensor_line(i64 %a0, i64 %a1, i64 %a2, i64 %a3)
  %line = inttoptr i64 %at to ptr addrspace(3)
  %m = call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %line)
  %m0 = extractvalue { i32, i32, i32, i32 } %m, 0
  %r0 = insertvalue [4 x i32] poison, i32 %m0, 0
  %m1 = extractvalue { i32, i32, i32, i32 } %m, 1
  %r1 = insertvalue [4 x i32] %r0, i32 %m1, 1
  %m2 = extractvalue { i32, i32, i32, i32 } %m, 2
  %r2 = insertvalue [4 x i32] %r1, i32 %m2, 2
  %m3 = extractvalue { i32, i32, i32, i32 } %m, 3
  %r3 = insertvalue [4 x i32] %r2, i32 %m3, 3
  ret [4 x i32] %r3
}
define [4 x i32] @mtd_tensor_x4_turned(i64 %b0, i32 %o0, i64 %b1, i32 %o1, i64 %b2, i32 %o2, i64 %b3, i32 %o3) alwaysinline convergent nounwind {
  %w0 = sext i32 %o0 to i64
  %a0 = add i64 %b0, %w0
  %w1 = sext i32 %o1 to i64
  %a1 = add i64 %b1, %w1
  %w2 = sext i32 %o2 to i64
  %a2 = add i64 %b2, %w2
  %w3 = sext i32 %o3 to i64
  %a3 = add i64 %b3, %w3
  %at = call i64 @mtd_tensor_line(i64 %a0, i64 %a1, i64 %a2, i64 %a3)
  %line = inttoptr i64 %at to ptr addrspace(3)
  %m = call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3(ptr addrspace(3) %line)
  %m0 = extractvalue { i32, i32, i32, i32 } %m, 0
  %r0 = insertvalue [4 x i32] poison, i32 %m0, 0
  %m1 = extractvalue { i32, i32, i32, i32 } %m, 1
  %r1 = insertvalue [4 x i32] %r0, i32 %m1, 1
  %m2 = extractvalue { i32, i32, i32, i32 } %m, 2
  %r2 = insertvalue [4 x i32] %r1, i32 %m2, 2
  %m3 = extractvalue { i32, i32, i32, i32 } %m, 3
  %r3 = insertvalue [4 x i32] %r2, i32 %m3, 3
  ret [4 x i32] %r3
}
declare i32 @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3(ptr addrspace(3))
declare i32 @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.trans.b16.p3(ptr addrspace(3))
declare { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3))
declare { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.trans.b16.p3(ptr addrspace(3))
declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3))
declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3(ptr addrspace(3))
; Numbers of 16 bits with the other sign.
define half @mtd_negated_f16(half %x) alwaysinline nounwind {
  %bits = bitcast half %x to i16
  %turned = call i16 @mtd_negated_bits(i16 %bits)
  %made = bitcast i16 %turned to half
  ret half %made
}
define bfloat @mtd_negated_bf16(bfloat %x) alwaysinline nounwind {
  %bits = bitcast bfloat %x to i16
  %turned = call i16 @mtd_negated_bits(i16 %bits)
  %made = bitcast i16 %turned to bfloat
  ret bfloat %made
}
; A sum and the products of the bytes of two words; after the name the signs of the bytes.
define i32 @mtd_dot_ss(i32 %sum, i32 %a, i32 %b) alwaysinline nounwind {
  %made = call i32 @llvm.nvvm.idp4a.s.s(i32 %a, i32 %b, i32 %sum)
  ret i32 %made
}
declare i32 @llvm.nvvm.idp4a.s.s(i32, i32, i32)
define i32 @mtd_dot_us(i32 %sum, i32 %a, i32 %b) alwaysinline nounwind {
  %made = call i32 @llvm.nvvm.idp4a.u.s(i32 %a, i32 %b, i32 %sum)
  ret i32 %made
}
declare i32 @llvm.nvvm.idp4a.u.s(i32, i32, i32)
define i32 @mtd_dot_uu(i32 %sum, i32 %a, i32 %b) alwaysinline nounwind {
  %made = call i32 @llvm.nvvm.idp4a.u.u(i32 %a, i32 %b, i32 %sum)
  ret i32 %made
}
declare i32 @llvm.nvvm.idp4a.u.u(i32, i32, i32)
