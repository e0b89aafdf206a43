// Tail calls: the argument registers are saved, the method is looked up, and it is jumped to as if it had been called.
#if defined(__aarch64__)
.macro SEND name, lookup
.globl \name
.type \name, %function
.p2align 4
\name:
    .cfi_startproc
    cbz x0, 1f
    stp x29, x30, [sp, #-224]!
    .cfi_def_cfa_offset 224
    .cfi_offset 29, -224
    .cfi_offset 30, -216
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    str x8, [sp, #80]
    stp q0, q1, [sp, #96]
    stp q2, q3, [sp, #128]
    stp q4, q5, [sp, #160]
    stp q6, q7, [sp, #192]
    bl \lookup
    mov x16, x0
    ldp q6, q7, [sp, #192]
    ldp q4, q5, [sp, #160]
    ldp q2, q3, [sp, #128]
    ldp q0, q1, [sp, #96]
    ldr x8, [sp, #80]
    ldp x6, x7, [sp, #64]
    ldp x4, x5, [sp, #48]
    ldp x2, x3, [sp, #32]
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #224
    .cfi_def_cfa_offset 0
    .cfi_restore 29
    .cfi_restore 30
    .ifc \name, objc_msgSendSuper
    ldr x0, [x0]                    // the receiver
    .endif
    br x16
1:  mov x0, #0                      // nil answers zero
    mov x1, #0
    movi v0.2d, #0
    movi v1.2d, #0
    movi v2.2d, #0
    movi v3.2d, #0
    ret
    .cfi_endproc
.size \name, .-\name
.endm

.text
SEND objc_msgSend, mt_lookup
SEND objc_msgSendSuper, mt_lookup_super

// Structures come back through x8 on this processor: there is nothing to do differently.
.globl objc_msgSend_stret
.set objc_msgSend_stret, objc_msgSend
.globl objc_msgSend_fpret
.set objc_msgSend_fpret, objc_msgSend
.globl objc_msgSendSuper_stret
.set objc_msgSendSuper_stret, objc_msgSendSuper
#endif
.section .note.GNU-stack,"",%progbits
