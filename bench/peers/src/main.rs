//! The formats' own readers, timed as bench.c times ours.
//!
//!     peers open burnpack|safetensors|apr|apr-owned|thin FILE RUNS
//!     peers verify thin FILE RUNS
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

fn open_thin(path: &str) -> usize {
    let archive = thintensor::Archive::open(path).expect("thintensor opens the file");
    archive.records().len()
}

/// Every rule and every checksum.
fn verify_thin(path: &str) -> usize {
    let archive = thintensor::Archive::open(path).expect("thintensor opens the file");
    let report = thintensor::verify::verify_archive(&archive).expect("the file is readable");
    assert!(report.is_ok(), "thintensor finds the file good");
    archive.records().len()
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
    let what = (args.get(1).map_or("", String::as_str), args.get(2).map_or("", String::as_str));
    let work: fn(&str) -> usize = match what {
        ("open", "burnpack") => open_burnpack,
        ("open", "safetensors") => open_safetensors,
        ("open", "apr") => open_apr,
        ("open", "apr-owned") => open_apr_owned,
        ("open", "thin") => open_thin,
        ("verify", "thin") => verify_thin,
        _ => panic!("usage: peers open|verify FORMAT FILE RUNS"),
    };
    let (path, runs) = (&args[3], args[4].parse::<usize>().expect("RUNS is a number"));
    std::hint::black_box(work(path));
    let mut ms: Vec<f64> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(work(path));
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    ms.sort_by(f64::total_cmp);
    println!("{:.2} {:.2} {}", ms[runs / 2], ms[0], peak_kib());
}
