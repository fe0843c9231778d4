//! apr-format, the crate of the format's makers, with its two writers.

use apr_format::v2::{AprV2Flags, AprV2Metadata, AprV2Reader, AprV2StreamingWriter, AprV2Writer, TensorDType, V2FormatError};
use interop::{hard_names, made_up, Answer, Dump, Witness};
use serde_json::{json, Value};
use std::path::Path;

const DTYPES: [TensorDType; 12] = [
    TensorDType::F32,
    TensorDType::F16,
    TensorDType::BF16,
    TensorDType::F64,
    TensorDType::I32,
    TensorDType::I64,
    TensorDType::I8,
    TensorDType::U8,
    TensorDType::AprQ4,
    TensorDType::AprQ8,
    TensorDType::Q4K,
    TensorDType::Q6K,
];

fn dtype_name(dtype: TensorDType) -> String {
    dtype.to_string().to_lowercase()
}

/// Bytes of a tensor; the crate does not say how long one is.
fn size(dtype: TensorDType, shape: &[usize]) -> usize {
    let count = shape.iter().product::<usize>();
    match dtype {
        TensorDType::AprQ4 => count.div_ceil(32) * 18,
        TensorDType::AprQ8 => count + if count > 0 { 4 } else { 0 },
        TensorDType::Q4K => count / 256 * 144,
        TensorDType::Q6K => count / 256 * 210,
        plain => count * plain.bytes_per_element(),
    }
}

// ---- Files ----

fn writer() -> AprV2Writer {
    AprV2Writer::new(AprV2Metadata::new("test"))
}

fn add(mut writer: AprV2Writer, name: &str, dtype: TensorDType, shape: &[usize]) -> AprV2Writer {
    writer.add_tensor(name, dtype, shape.to_vec(), made_up(name, size(dtype, shape)));
    writer
}

fn dtypes() -> AprV2Writer {
    DTYPES.iter().fold(writer(), |writer, &d| add(writer, &dtype_name(d), d, &[3, 256]))
}

fn weights() -> Vec<f32> {
    made_up("weights", 4096).iter().map(|&b| (b as f32 / 255.0 - 0.5) * 0.25).collect()
}

/// One tensor, in its own bytes or quantised.
fn one(add: fn(&mut AprV2Writer, &'static str, Vec<usize>, &[f32])) -> AprV2Writer {
    let mut writer = writer();
    add(&mut writer, "w", vec![8, 512], &weights());
    writer
}

/// As its own quantisers make them.
fn quantised() -> AprV2Writer {
    let weights = weights();
    let mut writer = writer();
    writer.add_q8_tensor("q8", vec![8, 512], &weights);
    writer.add_q4_tensor("q4", vec![8, 512], &weights);
    writer.add_q4_tensor("q4 ragged", vec![3, 7], &weights[..21]);
    writer.add_q8_tensor("q8 ragged", vec![3, 7], &weights[..21]);
    writer.add_q4_tensor("q4 none", vec![0], &[]);
    writer.add_q8_tensor("q8 none", vec![0], &[]);
    writer.add_f16_tensor("f16", vec![8, 512], &weights);
    let flags = AprV2Flags::new().with(AprV2Flags::QUANTIZED).with(AprV2Flags::HAS_VOCAB);
    writer.set_header_flags(flags);
    writer
}

fn shapes() -> AprV2Writer {
    let writer = (0..9).fold(writer(), |writer, rank| add(writer, &format!("rank {rank}"), TensorDType::I64, &vec![2; rank]));
    let empty: [&[usize]; 4] = [&[0], &[4, 0, 2], &[0, 0], &[0, 1]];
    empty.iter().fold(writer, |writer, shape| add(writer, &format!("empty {shape:?}"), TensorDType::F32, shape))
}

fn names() -> AprV2Writer {
    let names = hard_names().into_iter().filter(|name| name.len() <= 256);
    names.fold(writer(), |writer, name| add(writer, &name, TensorDType::U8, &[4]))
}

fn many() -> AprV2Writer {
    (0..2000).fold(writer(), |writer, i| add(writer, &format!("layers.{i}.weight"), DTYPES[i % 8], &[i % 7, 3]))
}

/// Fields that the format knows, some of them null, and custom ones of every kind.
fn metadata() -> AprV2Metadata {
    let mut metadata = AprV2Metadata::new("llama");
    metadata.name = Some("größe".into());
    metadata.license = Some("MIT".into());
    metadata.param_count = u64::MAX;
    metadata.hidden_size = Some(64);
    metadata.rope_theta = Some(10000.5);
    metadata.rms_norm_eps = Some(1e-6);
    let customs = [
        ("null", Value::Null),
        ("true", json!(true)),
        ("most", json!(u64::MAX)),
        ("least", json!(i64::MIN)),
        ("float", json!(0.1)),
        ("whole", json!(1.0)),
        ("tiny", json!(5e-324)),
        ("text", json!("重み\u{1f9e0}\n\"\\")),
        ("long", json!("long ".repeat(20_000))),
        ("array", json!([1, -1, 0.5, "a", null, [], {}])),
        ("map", json!({"b": 1, "a": {"deep": [true, {"er": "x"}]}})),
    ];
    metadata.custom.extend(customs.map(|(key, value)| (key.to_string(), value)));
    let texts = hard_names().into_iter().map(|key| (format!("key {key}"), json!(key)));
    metadata.custom.extend(texts);
    metadata
}

/// The other writer, which keeps the order of the data.
fn in_stream<'a>(
    metadata: AprV2Metadata,
    tensors: impl Iterator<Item = (String, TensorDType, Vec<usize>, &'a [u8])>,
) -> Result<Vec<u8>, V2FormatError> {
    let path = std::env::temp_dir().join(format!("interop-{}.apr", std::process::id()));
    let mut writer = AprV2StreamingWriter::new(metadata)?;
    for (name, dtype, shape, data) in tensors {
        writer.add_tensor(name, dtype, shape, data)?;
    }
    writer.finalize(&path)?;
    let bytes = std::fs::read(&path).expect("it was written");
    std::fs::remove_file(path).expect("it was written");
    Ok(bytes)
}

fn streamed() -> Vec<u8> {
    let data = made_up("streamed", 4096);
    let tensors = DTYPES.into_iter().rev().enumerate().map(|(i, dtype)| {
        (format!("{i} {}", dtype_name(dtype)), dtype, vec![2, 256], &data[..size(dtype, &[2, 256])])
    });
    in_stream(AprV2Metadata::new("test"), tensors).expect("it can be written")
}

// ---- The witness ----

/// Of the fields that are always written the values that say nothing; and those in the maps that are fields.
fn stands_for_none(key: &str, value: &mut Value) -> bool {
    match key {
        "special_tokens" | "quantization" | "sharding" => {
            value.as_object_mut().into_iter().for_each(|map| map.retain(|_, value| !value.is_null()));
            false
        }
        "license" | "data_source" | "data_license" => value.is_null(),
        "model_type" => *value == "",
        "total_size" | "param_count" => *value == 0,
        _ => false,
    }
}

struct Apr;

impl Witness for Apr {
    const EXTENSION: &'static str = "apr";

    fn files() -> Vec<(&'static str, Vec<u8>)> {
        let with_metadata = add(AprV2Writer::new(metadata()), "w", TensorDType::F32, &[2]);
        let files = [
            ("none", writer()),
            ("dtypes", dtypes()),
            ("quantised", quantised()),
            ("one_f32", one(AprV2Writer::add_f32_tensor)),
            ("one_q4", one(AprV2Writer::add_q4_tensor)),
            ("one_q8", one(AprV2Writer::add_q8_tensor)),
            ("shapes", shapes()),
            ("names", names()),
            ("many", many()),
            ("metadata", with_metadata),
        ];
        let written = files.into_iter().map(|(name, mut writer)| (name, writer.write().expect("it can be written")));
        written.chain([("streamed", streamed())]).collect()
    }

    fn dump(path: &Path) -> Answer<Dump> {
        let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
        let reader = AprV2Reader::from_bytes(&bytes).map_err(|e| e.to_string())?;
        let mut dump = Dump::default();
        if let Value::Object(fields) = serde_json::to_value(reader.metadata()).map_err(|e| e.to_string())? {
            dump.metadata = fields;
            dump.metadata.retain(|key, value| !stands_for_none(key, value));
        }
        for entry in reader.tensor_index() {
            let data = reader.get_tensor_data(&entry.name).ok_or("data that is not in the file")?;
            dump.tensor(&entry.name, &dtype_name(entry.dtype), &entry.shape, data);
        }
        Ok(dump)
    }

    /// By the writer that puts the data in the order of the names, where it is so, else by the other one.
    fn rewrite(bytes: Vec<u8>) -> Answer<Vec<u8>> {
        let reader = AprV2Reader::from_bytes(&bytes).map_err(|e| e.to_string())?;
        let mut entries: Vec<_> = reader.tensor_index().iter().collect();
        entries.sort_by_key(|entry| (entry.offset, entry.size));
        let tensors = entries.iter().map(|e| (e.name.clone(), e.dtype, e.shape.clone(), reader.get_tensor_data(&e.name).unwrap_or_default()));
        if !entries.is_sorted_by_key(|entry| &entry.name) {
            return in_stream(reader.metadata().clone(), tensors).map_err(|e| e.to_string());
        }
        let mut writer = AprV2Writer::new(reader.metadata().clone());
        writer.set_header_flags(reader.header().flags);
        tensors.for_each(|(name, dtype, shape, data)| writer.add_tensor(name, dtype, shape, data.to_vec()));
        writer.write().map_err(|e| e.to_string())
    }
}

fn main() {
    interop::main::<Apr>();
}
