//! burn-pack, the implementation of burnpack that the Burn framework uses.

use burn_pack::{Bytes, DType, Reader, Scalar, Tensor, Writer};
use burn_std::quantization::{quantized_data_len, QuantMode, QuantScheme, QuantStore, QuantValue, ScaleDtype};
use burn_std::{BoolStore, Shape};
use interop::{burn_dtype_name, float, hard_names, made_up, made_up_bools, Answer, Dump, Witness};
use serde_json::{json, Value};
use std::path::Path;

const DTYPES: [DType; 16] = [
    DType::F64,
    DType::F32,
    DType::Flex32,
    DType::F16,
    DType::BF16,
    DType::I64,
    DType::I32,
    DType::I16,
    DType::I8,
    DType::U64,
    DType::U32,
    DType::U16,
    DType::U8,
    DType::Bool(BoolStore::Native),
    DType::Bool(BoolStore::U8),
    DType::Bool(BoolStore::U32),
];

// ---- Files ----

fn tensor_of(name: &str, dtype: DType, shape: &[usize], param_id: Option<u64>) -> Tensor {
    let count = shape.iter().product::<usize>();
    let bytes = match dtype {
        DType::Bool(_) => made_up_bools(name, count, dtype.size()),
        DType::QFloat(scheme) => made_up(name, quantized_data_len(&scheme, &Shape::from(shape.to_vec()))),
        _ => made_up(name, count * dtype.size()),
    };
    Tensor::new(name.into(), dtype, shape.to_vec(), param_id, Bytes::from_bytes_vec(bytes))
}

fn tensor(name: &str, dtype: DType, shape: &[usize]) -> Tensor {
    tensor_of(name, dtype, shape, None)
}

fn dtypes() -> Writer {
    Writer::new(DTYPES.iter().map(|&d| tensor(&burn_dtype_name(d), d, &[3, 5])).collect())
}

/// Every value type in every store, with scales of every kind; the crate itself says how long the data is.
fn quantised() -> Writer {
    use QuantValue::*;
    let scales = [
        QuantScheme::default(),
        QuantScheme::default().per_tensor(ScaleDtype::F32),
        QuantScheme::default().per_tensor(ScaleDtype::BF16),
        QuantScheme::default().per_block([8], ScaleDtype::F16),
        QuantScheme::default().per_block([2, 16], ScaleDtype::UE8M0),
        QuantScheme::default().per_block([16], ScaleDtype::UE4M3).per_tensor(ScaleDtype::F32),
    ];
    let stores = [
        QuantStore::Native,
        QuantStore::PackedNative(0),
        QuantStore::PackedNative(1),
        QuantStore::PackedU32(0),
        QuantStore::PackedU32(1),
    ];
    let mut tensors = Vec::new();
    for value in [Q8F, E5M2, E4M3, Q4F, E2M1, Q2F, Q8S, Q4S, Q2S] {
        for store in stores {
            for (i, scale) in scales.iter().enumerate() {
                let scheme = scale.with_value(value).with_store(store);
                let name = format!("{value:?} {store:?} {i}");
                tensors.push(tensor(&name, DType::QFloat(scheme), &[16, 32]));
            }
        }
    }
    let lookup = QuantScheme::default().with_mode(QuantMode::Lookup).with_value(Q4F);
    tensors.push(tensor("lookup", DType::QFloat(lookup), &[4, 8]));
    let ragged = QuantScheme::default().with_value(Q4S).with_store(QuantStore::PackedU32(0));
    tensors.push(tensor("ragged", DType::QFloat(ragged), &[3, 3]));
    Writer::new(tensors)
}

fn scalars() -> Writer {
    let values = [
        ("int zero", Scalar::Int(0)),
        ("int one", Scalar::Int(1)),
        ("int least", Scalar::Int(i64::MIN)),
        ("int most", Scalar::Int(i64::MAX)),
        ("uint zero", Scalar::UInt(0)),
        ("uint most", Scalar::UInt(u64::MAX)),
        ("float", Scalar::Float(0.1)),
        ("float whole", Scalar::Float(1.0)),
        ("float -0", Scalar::Float(-0.0)),
        ("float half", Scalar::Float(65504.0)),
        ("float single", Scalar::Float(f32::MAX as f64)),
        ("float least", Scalar::Float(5e-324)),
        ("float most", Scalar::Float(f64::MAX)),
        ("float nan", Scalar::Float(f64::NAN)),
        ("float inf", Scalar::Float(f64::INFINITY)),
        ("float -inf", Scalar::Float(f64::NEG_INFINITY)),
        ("bool true", Scalar::Bool(true)),
        ("bool false", Scalar::Bool(false)),
    ];
    let writer = Writer::new(vec![tensor("w", DType::F32, &[2])]).with_metadata("text", "beside them");
    values.into_iter().fold(writer, |writer, (key, value)| writer.with_scalar(key, value))
}

fn metadata() -> Writer {
    let long = "long ".repeat(20_000);
    let writer = Writer::new(vec![tensor("w", DType::F32, &[2])]);
    let writer = writer.with_metadata("long", &long).with_metadata("", "of an empty key").with_metadata("empty", "");
    let keys = hard_names();
    keys.iter().fold(writer, |writer, key| writer.with_metadata(key, &format!("value of {key}")))
}

fn param_ids() -> Writer {
    let ids = [0, 1, 23, 24, 255, 256, 65535, 65536, u32::MAX as u64, 1 << 32, u64::MAX];
    let tensors = ids.map(|id| tensor_of(&format!("p{id}"), DType::F32, &[1], Some(id)));
    Writer::new(tensors.into_iter().chain([tensor("none", DType::F32, &[1])]).collect())
}

fn empties() -> Writer {
    let shapes: [(&str, &[usize]); 8] = [
        ("first", &[0]),
        ("full", &[3]),
        ("middle", &[4, 0, 2]),
        ("middle too", &[0, 0]),
        ("full too", &[64]),
        ("boundary", &[0, 1]),
        ("last full", &[5]),
        ("last", &[0]),
    ];
    Writer::new(shapes.iter().map(|(name, shape)| tensor(name, DType::F32, shape)).collect())
}

fn ranks() -> Writer {
    Writer::new((0..9).map(|rank| tensor(&format!("rank {rank}"), DType::I16, &vec![2; rank])).collect())
}

/// Data that is not in the order of the names, which is the one in which the index stands.
fn order() -> Writer {
    let names = ["zebra", "ape", "mole", "Zebra", "bee", "a"];
    Writer::new(names.iter().map(|name| tensor(name, DType::U8, &[name.len()])).collect())
}

fn names(names: &[String]) -> Writer {
    Writer::new(names.iter().map(|name| tensor(name, DType::U8, &[4])).collect())
}

fn many() -> Writer {
    let one = |i: usize| tensor(&format!("layers.{i}.weight"), DTYPES[i % DTYPES.len()], &[i % 7, 3]);
    Writer::new((0..2000).map(one).collect())
}

// ---- The witness ----

/// Tensors in the order of their data. The reader sorts them by name and tells no offsets, but their bytes are
/// views of one buffer.
fn in_order_of_data(reader: Reader) -> Answer<Vec<Tensor>> {
    let tensors = reader.into_tensors().map_err(|e| e.to_string())?;
    let mut placed = Vec::new();
    for tensor in tensors {
        let bytes = tensor.to_bytes().map_err(|e| e.to_string())?;
        placed.push((bytes.as_ptr() as usize, bytes.len(), tensor));
    }
    placed.sort_by(|a, b| (a.0, a.1, &a.2.name).cmp(&(b.0, b.1, &b.2.name)));
    Ok(placed.into_iter().map(|(_, _, tensor)| tensor).collect())
}

fn scalar(value: Scalar) -> Value {
    match value {
        Scalar::Int(i) => json!(i),
        Scalar::UInt(u) => json!(u),
        Scalar::Float(f) => float(f),
        Scalar::Bool(b) => json!(b),
    }
}

struct Burnpack;

impl Witness for Burnpack {
    const EXTENSION: &'static str = burn_pack::EXTENSION;

    fn files() -> Vec<(&'static str, Vec<u8>)> {
        let files = [
            ("none", Writer::new(Vec::new())),
            ("dtypes", dtypes()),
            ("quantised", quantised()),
            ("scalars", scalars()),
            ("metadata", metadata()),
            ("param_ids", param_ids()),
            ("empties", empties()),
            ("ranks", ranks()),
            ("order", order()),
            ("names", names(&hard_names())),
            ("name_empty", names(&["".into(), "x".into()])),
            ("name_nul", names(&["nul\0".into()])),
            ("name_metadata", names(&["__metadata__".into()])),
            ("many", many()),
        ];
        files.into_iter().map(|(name, writer)| (name, writer.into_bytes().expect("it can be written").to_vec())).collect()
    }

    fn dump(path: &Path) -> Answer<Dump> {
        let reader = Reader::from_file_exact(path).map_err(|e| e.to_string())?;
        let mut dump = Dump::default();
        for (key, value) in reader.scalars() {
            dump.metadata.insert(key.clone(), scalar(*value));
        }
        for (key, text) in reader.metadata() {
            dump.metadata.insert(key.clone(), json!(text));
        }
        for tensor in reader.into_tensors().map_err(|e| e.to_string())? {
            let (name, dtype, shape, _, bytes) = tensor.into_parts().map_err(|e| e.to_string())?;
            dump.tensor(&name, &burn_dtype_name(dtype), &shape.to_vec(), &bytes);
        }
        Ok(dump)
    }

    fn rewrite(bytes: Vec<u8>) -> Answer<Vec<u8>> {
        let reader = Reader::from_bytes(Bytes::from_bytes_vec(bytes)).map_err(|e| e.to_string())?;
        let (metadata, scalars) = (reader.metadata().clone(), reader.scalars().clone());
        let writer = Writer::new(in_order_of_data(reader)?);
        let writer = metadata.iter().fold(writer, |writer, (key, text)| writer.with_metadata(key, text));
        let writer = scalars.iter().fold(writer, |writer, (key, value)| writer.with_scalar(key, *value));
        Ok(writer.into_bytes().map_err(|e| e.to_string())?.to_vec())
    }
}

fn main() {
    interop::main::<Burnpack>();
}
