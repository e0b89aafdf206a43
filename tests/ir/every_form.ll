source_filename = "every form"
target datalayout = "e-m:e-p:64:64-p1:64:64-p3:32:32-p5:32:32-i64:64-v16:16-v32:32-n32:64-S32-A5-G1"
target triple = "amdgcn-amd-amdhsa"

%struct.P = type { i32, float, ptr addrspace(1), [3 x i8] }
%"class.odd name" = type <{ i8, i32 }>

@s = internal unnamed_addr addrspace(3) global [64 x float] undef, align 16
@z = internal addrspace(3) global %struct.P zeroinitializer, align 8
@table = internal unnamed_addr addrspace(1) constant [4 x float] [float 1.000000e+00, float -2.500000e+00, float 0x7FF0000000000000, float 0x3FB99999A0000000], align 16
@text = private unnamed_addr addrspace(1) constant [13 x i8] c"a \22q\22, !b\0A\5C\00c"
@pair = internal addrspace(1) constant { i32, half } { i32 -7, half 0xH3C00 }
@packed = internal addrspace(1) constant %"class.odd name" <{ i8 1, i32 2 }>
@__mt_constant_3 = external addrspace(1) constant i32, align 4
@where = internal addrspace(1) constant ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @s, i32 16)
@"odd name" = internal addrspace(1) global i32 ptrtoint (ptr addrspace(3) @s to i32)

define internal float @arithmetic(float noundef %0, i32 %1, i64 range(i64 0, 9) %w) #0 {
  %3 = add nuw nsw i32 %1, 1
  %4 = sub i32 %3, -5
  %5 = mul nsw i32 %4, %3
  %6 = udiv exact i32 %5, 3
  %7 = or disjoint i32 %6, 1
  %8 = shl nuw i32 %7, 2
  %9 = ashr exact i32 %8, 1
  %10 = zext nneg i32 %9 to i64
  %11 = trunc nuw nsw i64 %10 to i16
  %12 = sext i16 %11 to i128
  %13 = trunc i128 %12 to i24
  %14 = uitofp nneg i24 %13 to float
  %15 = fadd reassoc nsz arcp contract afn float %14, %0
  %16 = fmul fast float %15, 0x3FB99999A0000000
  %17 = fneg contract float %16
  %18 = fptrunc contract float %17 to half
  %19 = fadd half %18, 0xH7E00
  %20 = fptrunc float %17 to bfloat
  %21 = fcmp nnan ninf uno bfloat %20, 0xR7FC0
  %22 = icmp samesign ult i32 %9, 7
  %23 = select i1 %22, i1 true, i1 %21
  %24 = select nnan i1 %23, float %15, float %16
  %25 = freeze float %24
  %26 = fptosi float %25 to i32
  %27 = bitcast float %25 to i32
  %28 = frem float %25, 2.000000e+00
  %29 = fpext float %28 to double
  %30 = fadd double %29, 1.000000e-300
  %31 = fptrunc double %30 to float
  br label %33

32:                                               ; preds = %33
  ret float %31

33:                                               ; preds = %33, %2
  %34 = phi i32 [ %26, %2 ], [ %27, %33 ]
  br i1 %22, label %32, label %33, !llvm.loop !5
}

define dso_local void @__mt_entry() local_unnamed_addr #0 !dbg !3 {
entry:
  %arr = alloca [8 x float], align 16, addrspace(5)
  %many = alloca i8, i32 12, align 1, addrspace(5)
  call void @llvm.lifetime.start.p5(ptr addrspace(5) %arr) #2
  %p = tail call noundef nonnull align 4 dereferenceable(4) ptr addrspace(1) @__mt_buffer(i32 noundef 0) #1, !dbg !4
    #dbg_value(ptr addrspace(1) %p, !6, !DIExpression(), !4)
  %q = getelementptr inbounds nuw %struct.P, ptr addrspace(1) %p, i64 3, i32 3, i64 1
  %c = icmp eq ptr addrspace(1) %p, null
  call void @llvm.assume(i1 true) [ "align"(ptr addrspace(1) %p, i64 16) ]
  %l = load volatile i8, ptr addrspace(1) %q, align 1, !range !7
  %a = load atomic i32, ptr addrspace(1) %p syncscope("agent-one-as") monotonic, align 4
  store atomic i32 %a, ptr addrspace(1) %p syncscope("agent") release, align 4, !tbaa !8
  %old = atomicrmw fadd ptr addrspace(3) @s, float 1.000000e+00 syncscope("workgroup") monotonic, align 4
  %w = atomicrmw volatile umax ptr addrspace(1) %p, i32 4 seq_cst, align 4
  %x = cmpxchg weak ptr addrspace(1) %p, i32 0, i32 1 syncscope("agent") acq_rel monotonic, align 4
  %x0 = extractvalue { i32, i1 } %x, 0
  %x1 = insertvalue { i32, i1 } %x, i32 %x0, 0
  fence syncscope("workgroup") release
  %m = call [2 x i32] @__mt_matrix_load_b32_device(ptr addrspace(1) %p, i64 8, i32 0) #1
  %m1 = extractvalue [2 x i32] %m, 1
  %g = addrspacecast ptr addrspace(3) @s to ptr
  %n = ptrtoint ptr %g to i64
  %f = call nnan ninf float @arithmetic(float 1.000000e+00, i32 %m1, i64 0)
  %"odd local" = load float, ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @s, i32 16), align 4
  switch i32 %x0, label %d [
    i32 0, label %"odd label"
    i32 -3, label %d
  ], !dbg !4

"odd label":                                      ; preds = %entry
  switch i1 %c, label %d [
  ]

d:                                                ; preds = %"odd label", %entry, %entry
  %v = insertelement <4 x float> poison, float %"odd local", i32 0
  %splat = shufflevector <4 x float> %v, <4 x float> poison, <4 x i32> zeroinitializer
  %sum = fadd <4 x float> %splat, splat (float 2.000000e+00)
  %mix = shufflevector <4 x float> %sum, <4 x float> %v, <2 x i32> <i32 7, i32 poison>
  %mask = fcmp olt <4 x float> %sum, <float 0.000000e+00, float 1.000000e+00, float 2.000000e+00, float 3.000000e+00>
  %sel = select <4 x i1> %mask, <4 x float> %sum, <4 x float> zeroinitializer
  %e = extractelement <4 x float> %sel, i64 2
  %ptrs = getelementptr float, ptr addrspace(1) %p, <4 x i64> <i64 0, i64 1, i64 2, i64 3>
  %got = call <4 x float> @llvm.masked.gather.v4f32.v4p1(<4 x ptr addrspace(1)> align 4 %ptrs, <4 x i1> splat (i1 true), <4 x float> poison)
  %named = call i32 @llvm.read_register.i32(metadata !9)
  ret void, !dbg !4
}

declare void @llvm.lifetime.start.p5(ptr addrspace(5) captures(none)) #2
declare ptr addrspace(1) @__mt_buffer(i32 noundef) local_unnamed_addr #1
declare [2 x i32] @__mt_matrix_load_b32_device(ptr addrspace(1), i64, i32) #1
declare void @llvm.assume(i1 noundef)
declare <4 x float> @llvm.masked.gather.v4f32.v4p1(<4 x ptr addrspace(1)>, <4 x i1>, <4 x float>)
declare i32 @llvm.read_register.i32(metadata)

attributes #0 = { convergent nounwind "no-trapping-math"="true" }
attributes #1 = { convergent nounwind }
attributes #2 = { nounwind memory(argmem: readwrite) }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}

!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !1, producer: "clang", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug)
!1 = !DIFile(filename: "k.metal", directory: "")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "entry", scope: !1, file: !1, line: 3, type: !10, scopeLine: 3, spFlags: DISPFlagDefinition, unit: !0)
!4 = !DILocation(line: 4, column: 5, scope: !3)
!5 = distinct !{!5, !11}
!6 = !DILocalVariable(name: "p", scope: !3, file: !1, line: 3)
!7 = !{i8 0, i8 4}
!8 = !{!12, !12, i64 0}
!9 = !{!"m0"}
!10 = !DISubroutineType(types: !13)
!11 = !{!"llvm.loop.mustprogress"}
!12 = !{!"int", !14, i64 0}
!13 = !{null}
!14 = !{!"omnipotent char", !15, i64 0}
!15 = !{!"Simple C++ TBAA"}
