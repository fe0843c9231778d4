//! What the witnesses written in Rust have in common. Each is a program in src/bin, named after its format:
//!
//!     FORMAT write DIR          writes its files to DIR
//!     FORMAT dump FILE...       what it reads: a line of JSON for each file
//!     FORMAT rewrite IN OUT     reads IN and writes it again
//!
//! A line of `dump` is {"tensors":[{"name","dtype","shape","nbytes","digest"}],"metadata":{}}, or {"refused":WHY} or
//! {"panicked":WHY}; with "fault":WHY beside the tensors where the package has a check that a reader need not make, and it
//! found something. The dtypes are in Tenon's words, the digest is BLAKE3 of the tensor's bytes, and floats for which
//! JSON has no number are the strings that `tenon ls --json` uses.

use burn_pack::DType;
use burn_std::BoolStore;
use serde_json::{json, Map, Value};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;

pub mod module;

pub type Answer<T> = Result<T, String>;

/// One implementation of one format.
pub trait Witness {
    /// Names and contents of the files that it writes.
    fn files() -> Vec<(&'static str, Vec<u8>)>;
    fn dump(path: &Path) -> Answer<Dump>;
    fn rewrite(bytes: Vec<u8>) -> Answer<Vec<u8>>;
    const EXTENSION: &'static str;
}

#[derive(Default)]
pub struct Dump {
    tensors: Vec<Value>,
    pub metadata: Map<String, Value>,
    pub fault: Option<String>,
}

impl Dump {
    pub fn tensor(&mut self, name: &str, dtype: &str, shape: &[usize], bytes: &[u8]) {
        self.tensors.push(json!({
            "name": name,
            "dtype": dtype,
            "shape": shape,
            "nbytes": bytes.len(),
            "digest": blake3::hash(bytes).to_hex().as_str(),
        }));
    }
}

/// A float as `tenon ls --json` spells it.
pub fn float(x: f64) -> Value {
    match serde_json::Number::from_f64(x) {
        Some(number) => Value::Number(number),
        None if x.is_nan() => "NaN".into(),
        None if x > 0.0 => "Infinity".into(),
        None => "-Infinity".into(),
    }
}

/// A dtype of the Burn framework in Tenon's words.
pub fn burn_dtype_name(dtype: DType) -> String {
    match dtype {
        DType::Bool(BoolStore::Native) => "bool".into(),
        DType::Bool(BoolStore::U8) => "bool_u8".into(),
        DType::Bool(BoolStore::U32) => "bool_u32".into(),
        DType::QFloat(_) => "qfloat".into(),
        plain => format!("{plain:?}").to_lowercase(),
    }
}

/// Bytes that follow from the name of their tensor, so that no two tensors are alike.
pub fn made_up(name: &str, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    blake3::Hasher::new().update(name.as_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// As many little-endian booleans of the given width.
pub fn made_up_bools(name: &str, count: usize, width: usize) -> Vec<u8> {
    let mut bytes = vec![0; count * width];
    for (place, random) in bytes.chunks_mut(width).zip(made_up(name, count)) {
        place[0] = random & 1;
    }
    bytes
}

/// Names that writers may get wrong: long, of other scripts, with everything that JSON has to escape.
pub fn hard_names() -> Vec<String> {
    let mut names: Vec<String> = [
        "a.b.c", "a/b/c", "with space", " ", "quote\"", "back\\slash", "tab\tand\nline", "\u{7f}", "\u{1b}[31m",
        "größe", "重み", "\u{1f9e0}", "e\u{301}", "\u{e9}", "\u{202e}txet", "\u{feff}bom", "null", "{}", "%s%n", "..", "-",
    ]
    .map(String::from)
    .to_vec();
    names.extend((1..0x20).map(|c: u8| format!("control {}", c as char)));
    names.extend([23, 24, 255, 256, 5000].map(|n| "n".repeat(n)));
    names
}

fn one_line<W: Witness>(path: &Path) -> Value {
    match catch_unwind(AssertUnwindSafe(|| W::dump(path))) {
        Ok(Ok(dump)) => json!({"tensors": dump.tensors, "metadata": dump.metadata, "fault": dump.fault}),
        Ok(Err(why)) => json!({ "refused": why }),
        Err(panic) => {
            let why = panic.downcast_ref::<String>().cloned();
            let text = panic.downcast_ref::<&str>().map(|s| s.to_string());
            json!({ "panicked": why.or(text).unwrap_or_default() })
        }
    }
}

/// The main function of every witness.
pub fn main<W: Witness>() {
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("write") => {
            for (name, bytes) in W::files() {
                let path = Path::new(&args[2]).join(name).with_extension(W::EXTENSION);
                std::fs::write(path, bytes).expect("the directory is writable");
            }
        }
        Some("dump") => {
            std::panic::set_hook(Box::new(|_| ()));
            args[2..].iter().for_each(|file| println!("{}", one_line::<W>(Path::new(file))));
        }
        Some("rewrite") => {
            let bytes = W::rewrite(std::fs::read(&args[2]).expect("the file is readable"));
            std::fs::write(&args[3], bytes.expect("it can be rewritten")).expect("the file is writable");
        }
        _ => panic!("usage: FORMAT write DIR | dump FILE... | rewrite IN OUT"),
    }
}
