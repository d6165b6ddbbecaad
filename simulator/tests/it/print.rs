//! `printf` in kernels.

use simulator::Kind;

use crate::machine::{HEADER, Shape, device, launch, upload};

/// A kernel as nvcc makes it of `printf(FORMAT, threadIdx.x, 0.5, (long)-1, "text")`, which stores the result.
fn kernel(format: &str, buffer: usize) -> String {
    let bytes = |text: &str| text.bytes().chain([0]).map(|byte| byte.to_string()).collect::<Vec<_>>().join(", ");
    let (size, format) = (format.len() + 1, bytes(format));
    format!(
        "{HEADER}
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 vprintf_param_0, .param .b64 vprintf_param_1);
.global .align 1 .b8 $str[{size}] = {{{format}}};
.global .align 1 .b8 $word[5] = {{{word}}};
.visible .entry k(.param .u64 to)
{{
    .local .align 8 .b8 __local_depot0[{buffer}];
    .reg .b64 %SP;
    .reg .b64 %SPL;
    .reg .b32 %r<4>;
    .reg .b64 %rd<9>;
    mov.u64 %SPL, __local_depot0;
    cvta.local.u64 %SP, %SPL;
    add.u64 %rd1, %SP, 0;
    add.u64 %rd2, %SPL, 0;
    mov.u32 %r1, %tid.x;
    st.local.u32 [%rd2], %r1;
    mov.u64 %rd3, 4602678819172646912;
    st.local.u64 [%rd2+8], %rd3;
    mov.u64 %rd4, -1;
    st.local.u64 [%rd2+16], %rd4;
    mov.u64 %rd5, $word;
    cvta.global.u64 %rd6, %rd5;
    st.local.u64 [%rd2+24], %rd6;
    mov.u64 %rd5, $str;
    cvta.global.u64 %rd7, %rd5;
    {{
    .reg .b32 temp_param_reg;
    .param .b64 param0;
    st.param.b64 [param0+0], %rd7;
    .param .b64 param1;
    st.param.b64 [param1+0], %rd1;
    .param .b32 retval0;
    call.uni (retval0), vprintf, (param0, param1);
    ld.param.b32 %r2, [retval0+0];
    }}
    ld.param.u64 %rd8, [to];
    st.global.u32 [%rd8], %r2;
    ret;
}}",
        word = bytes("text"),
    )
}

#[test]
fn each_thread_prints_its_values_and_gets_their_number() {
    let mut device = device();
    let to = upload(&mut device, &[0; 4]);
    let text = kernel("%d: %.1f %ld %s\n", 32);
    launch(&mut device, &text, "k", Shape::line(1, 3), to.to_le_bytes().to_vec()).expect("no fault");
    assert_eq!(device.printed(), "0: 0.5 -1 text\n1: 0.5 -1 text\n2: 0.5 -1 text\n");
    assert_eq!(device.printed(), "", "it is taken once");
    assert_eq!(device.bytes(to, 4).expect("allocated"), [4, 0, 0, 0]);
}

#[test]
fn a_format_that_asks_for_more_than_was_passed_is_a_fault() {
    let mut device = device();
    let to = upload(&mut device, &[0; 4]);
    let text = kernel("%d %f %ld %s %d\n", 32);
    let fault = launch(&mut device, &text, "k", Shape::line(1, 1), to.to_le_bytes().to_vec()).expect_err("a fault");
    assert_eq!(fault.kind, Kind::OutOfWindow);
    assert!(fault.title().contains("Invalid read of size 4 bytes by printf"), "{fault}");
}
