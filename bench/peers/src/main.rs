//! The formats' own readers, timed as bench.c times ours.
//!
//!     peers open burnpack|safetensors|apr|apr-owned FILE RUNS
//!
//! Prints one line: median and least milliseconds, and the peak of memory in KiB.

use std::time::Instant;

fn open_burnpack(path: &str) -> usize {
    let reader = burn_pack::Reader::from_file(path).expect("burn-pack opens the file");
    reader.tensor_names().len()
}

/// The crate parses bytes that are in memory, so the file is read into it, as its users do.
fn open_safetensors(path: &str) -> usize {
    let bytes = std::fs::read(path).expect("the file is readable");
    let tensors = safetensors::SafeTensors::deserialize(&bytes).expect("safetensors opens the file");
    tensors.len()
}

/// Likewise.
fn open_apr(path: &str) -> usize {
    let bytes = std::fs::read(path).expect("the file is readable");
    let reader = apr_format::v2::AprV2ReaderRef::from_bytes(&bytes).expect("apr-format opens the file");
    reader.tensor_names().len()
}

/// The reader that owns its bytes, which is what callers of the crate hold for longer than a call.
fn open_apr_owned(path: &str) -> usize {
    let bytes = std::fs::read(path).expect("the file is readable");
    let reader = apr_format::v2::AprV2Reader::from_bytes(&bytes).expect("apr-format opens the file");
    reader.tensor_names().len()
}

fn peak_kib() -> i64 {
    // SAFETY: getrusage fills the struct that it is given.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage.ru_maxrss
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let open: fn(&str) -> usize = match args.get(2).map(String::as_str) {
        Some("burnpack") => open_burnpack,
        Some("safetensors") => open_safetensors,
        Some("apr") => open_apr,
        Some("apr-owned") => open_apr_owned,
        _ => panic!("usage: peers open burnpack|safetensors|apr|apr-owned FILE RUNS"),
    };
    let (path, runs) = (&args[3], args[4].parse::<usize>().expect("RUNS is a number"));
    std::hint::black_box(open(path));
    let mut ms: Vec<f64> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(open(path));
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    ms.sort_by(f64::total_cmp);
    println!("{:.2} {:.2} {}", ms[runs / 2], ms[0], peak_kib());
}
