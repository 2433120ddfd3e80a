//! Rust has AVX-512 since 1.89: older compilers build the engine without it.

use std::{env, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(avx512)");
    if compiler_minor().is_some_and(|minor| minor >= 89) {
        println!("cargo::rustc-cfg=avx512");
    }
}

/// The 89 of "rustc 1.89.0 (29483883e 2025-08-04)".
fn compiler_minor() -> Option<u32> {
    let rustc = env::var_os("RUSTC")?;
    let version = Command::new(rustc).arg("--version").output().ok()?.stdout;
    String::from_utf8(version)
        .ok()?
        .split('.')
        .nth(1)?
        .parse()
        .ok()
}
