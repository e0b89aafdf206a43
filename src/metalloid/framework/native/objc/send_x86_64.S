// Tail calls: the argument registers are saved, the method is looked up, and it is jumped to as if it had been called.
#if defined(__x86_64__)
// `self` and `cmd` are the registers that hold receiver and selector: one further on where a structure comes back.
.macro SEND name, lookup, self, cmd
.globl \name
.type \name, @function
.p2align 4
\name:
    .cfi_startproc
    test \self, \self
    jz 1f
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    sub $192, %rsp
    mov %rdi, (%rsp)
    mov %rsi, 8(%rsp)
    mov %rdx, 16(%rsp)
    mov %rcx, 24(%rsp)
    mov %r8, 32(%rsp)
    mov %r9, 40(%rsp)
    mov %rax, 48(%rsp)              // how many vector registers a variadic call uses
    movaps %xmm0, 64(%rsp)
    movaps %xmm1, 80(%rsp)
    movaps %xmm2, 96(%rsp)
    movaps %xmm3, 112(%rsp)
    movaps %xmm4, 128(%rsp)
    movaps %xmm5, 144(%rsp)
    movaps %xmm6, 160(%rsp)
    movaps %xmm7, 176(%rsp)
    .ifnc \self, %rdi
    mov %rsi, %rdi
    mov %rdx, %rsi
    .endif
    call \lookup@PLT
    mov %rax, %r11
    movaps 64(%rsp), %xmm0
    movaps 80(%rsp), %xmm1
    movaps 96(%rsp), %xmm2
    movaps 112(%rsp), %xmm3
    movaps 128(%rsp), %xmm4
    movaps 144(%rsp), %xmm5
    movaps 160(%rsp), %xmm6
    movaps 176(%rsp), %xmm7
    mov (%rsp), %rdi
    mov 8(%rsp), %rsi
    mov 16(%rsp), %rdx
    mov 24(%rsp), %rcx
    mov 32(%rsp), %r8
    mov 40(%rsp), %r9
    mov 48(%rsp), %rax
    leave
    .cfi_def_cfa %rsp, 8
    .ifc \lookup, mt_lookup_super
    mov (\self), \self              // the receiver
    .endif
    jmp *%r11
1:  xor %edx, %edx                  // nil answers zero
    .ifc \self, %rdi
    xor %eax, %eax
    .else
    mov %rdi, %rax
    .endif
    pxor %xmm0, %xmm0
    pxor %xmm1, %xmm1
    ret
    .cfi_endproc
.size \name, .-\name
.endm

.text
SEND objc_msgSend, mt_lookup, %rdi, %rsi
SEND objc_msgSendSuper, mt_lookup_super, %rdi, %rsi
SEND objc_msgSend_stret, mt_lookup, %rsi, %rdx
SEND objc_msgSendSuper_stret, mt_lookup_super, %rsi, %rdx
.globl objc_msgSend_fpret
.set objc_msgSend_fpret, objc_msgSend
#endif
.section .note.GNU-stack,"",@progbits
