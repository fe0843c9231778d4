//! thintensor, the crate of the format's makers, whose program is `thintensor-core`.

use interop::{made_up, Answer, Dump, Witness};
use serde_json::{json, Map, Value};
use std::path::{Path, PathBuf};
use thintensor::archive::{write_archive_pages, ArchivePage, ArchivePageSource};
use thintensor::manifest::PageSpec;
use thintensor::verify::verify_archive;
use thintensor::{Archive, Manifest};

/// The words for a type that its converter writes and its loader knows, and the others that Tenon has.
const DTYPES: [(&str, &str, usize); 28] = [
    ("F64", "f64", 8), ("F32", "f32", 4), ("F16", "f16", 2), ("BF16", "bf16", 2), ("I64", "i64", 8), ("I32", "i32", 4),
    ("I16", "i16", 2), ("I8", "i8", 1), ("U64", "u64", 8), ("U32", "u32", 4), ("U16", "u16", 2), ("U8", "u8", 1),
    ("BOOL", "bool", 1), ("F8_E4M3", "f8_e4m3", 1), ("F8_E5M2", "f8_e5m2", 1), ("bf16", "bf16", 2), ("fp16", "f16", 2),
    ("half", "f16", 2), ("float", "f32", 4), ("double", "f64", 8), ("bfloat16", "bf16", 2), ("uint8", "u8", 1),
    ("int64", "i64", 8), ("torch.float16", "f16", 2), ("torch.int64", "i64", 8), ("boolean", "bool", 1),
    ("float8_e4m3fn", "f8_e4m3", 1), ("float16", "f16", 2),
];

/// More types by Tenon's names.
const OTHERS: &str = "c64 f8_e8m0 f8_e4m3fnuz f8_e5m2fnuz f6_e2m3 f6_e3m2 f4 q4_0 q4_1 q5_0 q5_1 q8_0 q8_1 q2_k q3_k q4_k q5_k q6_k q8_k \
    iq2_xxs iq2_xs iq3_xxs iq1_s iq4_nl iq3_s iq2_s iq4_xs iq1_m tq1_0 tq2_0 mxfp4 nvfp4 q1_0 q2_0 apr_q4 apr_q8 qfloat";

// ---- Files ----

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("interop-{}-{name}.thin", std::process::id()))
}

/// An archive in the making: the manifest as JSON, and the bytes of its records.
struct Model {
    manifest: Value,
    records: Vec<(String, Vec<u8>)>,
}

fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn page(id: &str, dtype: &str, shape: &[usize], bytes: &[u8]) -> Value {
    json!({"id": id, "kind": "weight", "op": "unknown", "dtype": dtype, "shape": shape, "size": bytes.len(),
        "backend_layout": "row_major_contiguous", "checksum": digest(bytes)})
}

impl Model {
    fn new(fields: Value) -> Self {
        let mut model = json!({"arch": "llama", "hidden_size": 64, "layers": 100, "heads": 4, "kv_heads": 2, "dtype": "bf16"});
        model.as_object_mut().unwrap().extend(fields.as_object().cloned().unwrap_or_default());
        let plan = json!({"scratch_bytes": 1, "min_vram_bytes": 2, "recommended_vram_bytes": 3,
            "kv_cache": {"policy": "hybrid", "recent_tokens_high_precision": 512, "old_tokens_codec": "q4"}});
        let manifest = json!({"format": "thintensor", "version": 0, "model": model, "execution_tape": [], "pages": [], "memory_plan": plan});
        Model { manifest, records: Vec::new() }
    }

    fn page(mut self, page: Value) -> Self {
        self.manifest["pages"].as_array_mut().unwrap().push(page);
        self
    }

    fn record(mut self, id: &str, bytes: Vec<u8>) -> Self {
        self.records.push((id.into(), bytes));
        self
    }

    fn tensor(self, id: &str, dtype: &str, shape: &[usize], size: usize) -> Self {
        self.with(id, dtype, shape, size, json!({}))
    }

    /// The same, with more members of the page.
    fn with(self, id: &str, dtype: &str, shape: &[usize], size: usize, members: Value) -> Self {
        let mut bytes = made_up(id, shape.iter().product::<usize>() * size);
        if dtype.to_lowercase().starts_with("bool") {
            bytes.iter_mut().for_each(|byte| *byte &= 1);
        }
        let mut described = page(id, dtype, shape, &bytes);
        described.as_object_mut().unwrap().extend(members.as_object().cloned().unwrap_or_default());
        self.page(described).record(id, bytes)
    }

    /// A page of which others are slices.
    fn fused(mut self, id: &str, slices: &[(&str, usize)]) -> Self {
        let bytes = made_up(id, slices.iter().map(|(_, rows)| rows * 16).sum());
        let mut whole = page(id, "bf16", &[bytes.len() / 16, 8], &bytes);
        whole["kind"] = "fused_physical".into();
        self = self.page(whole);
        let mut at = 0;
        for (slice, rows) in slices {
            let mut part = page(slice, "bf16", &[*rows, 8], &bytes[at..at + rows * 16]);
            part["fused_to"] = id.into();
            part["fused_offset"] = at.into();
            self = self.page(part);
            at += rows * 16;
        }
        self.record(id, bytes)
    }

    fn stage(mut self, stage: Value) -> Self {
        self.manifest["execution_tape"].as_array_mut().unwrap().push(stage);
        self
    }

    fn bytes(mut self) -> Vec<u8> {
        if self.manifest["execution_tape"].as_array().unwrap().is_empty() {
            let refs: Vec<_> = self.manifest["pages"].as_array().unwrap().iter().map(|page| page["id"].clone()).collect();
            self = self.stage(json!({"stage": "all", "operator": "embedding", "page_refs": refs}));
        }
        let manifest: Manifest = serde_json::from_value(self.manifest).expect("it is a manifest");
        let pages = self.records.into_iter().map(|(id, bytes)| record(id, bytes)).collect();
        written(&manifest, pages).expect("it can be written")
    }
}

fn record(id: String, bytes: Vec<u8>) -> ArchivePage<'static> {
    ArchivePage { id, size: bytes.len() as u64, checksum: *blake3::hash(&bytes).as_bytes(), source: ArchivePageSource::Owned(bytes) }
}

fn written(manifest: &Manifest, pages: Vec<ArchivePage>) -> Answer<Vec<u8>> {
    let path = temporary("out");
    write_archive_pages(&path, manifest, &pages).map_err(|e| e.to_string())?;
    let bytes = std::fs::read(&path).map_err(|e| e.to_string())?;
    std::fs::remove_file(path).map_err(|e| e.to_string())?;
    Ok(bytes)
}

fn model() -> Model {
    Model::new(json!({}))
}

fn dtypes() -> Model {
    DTYPES.iter().fold(model(), |model, (word, _, size)| model.tensor(&format!("of.{word}"), word, &[3, 5], *size))
}

/// Types that nobody knows, so that no size can be told for them.
fn unknown_dtypes() -> Model {
    ["int4_packed", "q4_0_rows", "?", "größe"].iter().fold(model(), |model, word| model.tensor(&format!("of.{word}"), word, &[3, 5], 7))
}

fn shapes() -> Model {
    (1..9).fold(model(), |model, rank| model.tensor(&format!("rank.{rank}"), "i16", &vec![2; rank], 2))
}

fn names() -> Model {
    let names = ["a.b.c", "quote\"", "größe", "重み", "\u{1f9e0}", "e\u{301}", "\u{202e}txet", "\u{feff}bom", "null", "{}", "%s%n", "..", "-", "\u{1b}[31m"];
    let model = names.iter().fold(model(), |model, name| model.tensor(name, "u8", &[4], 1));
    [23, 255, 4096].iter().fold(model, |model, &n| model.tensor(&"n".repeat(n), "u8", &[4], 1))
}

fn many() -> Model {
    (0..2000).fold(model(), |model, i| model.tensor(&format!("layers.{i}.weight"), DTYPES[i % 13].0, &[1 + i % 7, 3], DTYPES[i % 13].2))
}

/// All members of a page, and slices of pages.
fn pages() -> Model {
    let quantised = json!({"kind": "lm_head", "layer": 7, "op": "mlp.down", "backend_layout": "tiled", "quant_scheme": "int8_rows",
        "bits_per_weight": 8, "quant_group_size": 64, "scale_page": "scales"});
    model()
        .with("embedding", "bf16", &[8, 8], 2, json!({"kind": "embedding", "op": "embed"}))
        .fused("qkv", &[("q", 4), ("k", 2), ("v", 2)])
        .with("weights", "i8", &[8, 8], 1, quantised)
        .tensor("scales", "f32", &[8], 4)
        .with("odd", "u8", &[3], 1, json!({"kind": "lookup", "experimental": true}))
}

/// Records in another order than the pages, and a tape that says more than their names.
fn tape() -> Model {
    let mut model = model().tensor("a", "f32", &[4], 4).tensor("b", "f32", &[3], 4).tensor("c", "f32", &[2], 4);
    model.records.reverse();
    model
        .stage(json!({"stage": "first", "operator": "rope", "operator_params": {"base": 10000.5, "flags": [1, null, "x"], "deep": {"er": true}}, "page_refs": ["c", "a"]}))
        .stage(json!({"stage": "second", "page_refs": []}))
        .stage(json!({"stage": "third", "operator": "lm_head", "page_refs": ["b", "c", "a", "a"]}))
}

/// Fields of every kind.
fn fields() -> Model {
    let fields = json!({"model_type": "größe", "head_dim": u64::MAX, "rms_norm_eps": 1e-6, "rope_theta": 10000.5, "norm_eps": 0.1,
        "rope_scaling": {"factor": 8.0, "type": "llama3", "list": [1, -1, 0.5, null]}, "tie_word_embeddings": false, "qkv_bias": true,
        "attention_variants": ["gqa", "重み\u{1f9e0}\n\"\\"], "no_rope_layers": [true, false], "layer_types": ["full_attention"],
        "vocab_size": 32000, "tokenizer_json_hash": "0".repeat(64), "quantization_config": "long ".repeat(20_000)});
    Model::new(fields).tensor("w", "f32", &[2], 4)
}

// ---- The witness ----

fn dtype_name(page: &PageSpec) -> String {
    let word = page.dtype.to_lowercase();
    let plain = word.strip_prefix("torch.").unwrap_or(&word);
    let known = DTYPES.iter().find(|(their, our, _)| their.to_lowercase() == plain || *our == plain);
    let other = OTHERS.split_whitespace().find(|name| *name == plain).unwrap_or("opaque");
    known.map_or(other, |(_, our, _)| our).into()
}

/// The bytes of a page: its record's, or a slice of another's.
fn bytes_of(archive: &Archive, page: &PageSpec) -> Answer<Vec<u8>> {
    let id = page.fused_to.as_ref().unwrap_or(&page.id);
    let record = archive.records().iter().find(|record| record.page_id == *id).ok_or("a page without a record")?;
    let bytes = archive.read_page(record).map_err(|e| e.to_string())?;
    if page.fused_to.is_none() {
        return Ok(bytes);
    }
    let start = page.fused_offset.unwrap_or(0) as usize;
    bytes.get(start..start.saturating_add(page.size as usize)).map(<[u8]>::to_vec).ok_or("a slice beyond its page".into())
}

/// Whether a page is no more than the sum of its slices.
fn is_sum(manifest: &Manifest, page: &PageSpec) -> bool {
    let mut slices: Vec<_> = manifest.pages.iter().filter(|slice| slice.fused_to.as_ref() == Some(&page.id)).collect();
    slices.sort_by_key(|slice| slice.fused_offset);
    let end = slices.iter().try_fold(0, |at, slice| (slice.fused_offset.unwrap_or(0) == at).then_some(at + slice.size));
    page.kind == "fused_physical" && end == Some(page.size) && !slices.is_empty()
}

fn fields_of(manifest: &Manifest) -> Map<String, Value> {
    match serde_json::to_value(&manifest.model) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

struct Thin;

impl Witness for Thin {
    const EXTENSION: &'static str = "thin";

    fn files() -> Vec<(&'static str, Vec<u8>)> {
        let files = [
            ("dtypes", dtypes()),
            ("unknown_dtypes", unknown_dtypes()),
            ("shapes", shapes()),
            ("names", names()),
            ("many", many()),
            ("pages", pages()),
            ("tape", tape()),
            ("fields", fields()),
        ];
        files.into_iter().map(|(name, model)| (name, model.bytes())).collect()
    }

    fn dump(path: &Path) -> Answer<Dump> {
        let archive = Archive::open(path).map_err(|e| format!("{e:#}"))?;
        let report = verify_archive(&archive).map_err(|e| format!("{e:#}"))?;
        let mut dump = Dump::default();
        dump.fault = report.errors.into_iter().next();
        dump.metadata = fields_of(archive.manifest());
        for page in &archive.manifest().pages {
            if !is_sum(archive.manifest(), page) {
                let shape: Vec<_> = page.shape.iter().map(|&n| n as usize).collect();
                dump.tensor(&page.id, &dtype_name(page), &shape, &bytes_of(&archive, page)?);
            }
        }
        Ok(dump)
    }

    fn rewrite(bytes: Vec<u8>) -> Answer<Vec<u8>> {
        let path = temporary("in");
        std::fs::write(&path, bytes).map_err(|e| e.to_string())?;
        let archive = Archive::open(&path).map_err(|e| e.to_string())?;
        let read = |record: &thintensor::PageTableRecord| Ok(self::record(record.page_id.clone(), archive.read_page(record).map_err(|e| e.to_string())?));
        let pages = archive.records().iter().map(read).collect::<Answer<Vec<_>>>();
        std::fs::remove_file(&path).map_err(|e| e.to_string())?;
        written(archive.manifest(), pages?)
    }
}

fn main() {
    interop::main::<Thin>();
}
