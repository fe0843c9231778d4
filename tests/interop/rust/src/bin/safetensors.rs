//! safetensors, the crate that the Python package is made of too.

use interop::{hard_names, made_up, made_up_bools, Answer, Dump, Witness};
use safetensors::tensor::{serialize, SafeTensors, TensorView};
use safetensors::Dtype;
use std::collections::HashMap;
use std::path::Path;

const DTYPES: [Dtype; 22] = [
    Dtype::BOOL,
    Dtype::F4,
    Dtype::F6_E2M3,
    Dtype::F6_E3M2,
    Dtype::U8,
    Dtype::I8,
    Dtype::F8_E5M2,
    Dtype::F8_E4M3,
    Dtype::F8_E8M0,
    Dtype::F8_E4M3FNUZ,
    Dtype::F8_E5M2FNUZ,
    Dtype::I16,
    Dtype::U16,
    Dtype::F16,
    Dtype::BF16,
    Dtype::I32,
    Dtype::U32,
    Dtype::F32,
    Dtype::C64,
    Dtype::F64,
    Dtype::I64,
    Dtype::U64,
];

// ---- Files ----

/// A file in the making: tensors with their bytes, and the metadata.
#[derive(Default)]
struct Model {
    tensors: Vec<(String, Dtype, Vec<usize>, Vec<u8>)>,
    metadata: Option<HashMap<String, String>>,
}

impl Model {
    fn tensor(mut self, name: &str, dtype: Dtype, shape: &[usize]) -> Self {
        let count = shape.iter().product::<usize>();
        let bytes = match dtype {
            Dtype::BOOL => made_up_bools(name, count, 1),
            _ => made_up(name, count * dtype.bitsize() / 8),
        };
        self.tensors.push((name.into(), dtype, shape.to_vec(), bytes));
        self
    }

    fn metadata(mut self, key: &str, text: &str) -> Self {
        self.metadata.get_or_insert_default().insert(key.into(), text.into());
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let view = |dtype: &Dtype, shape: &Vec<usize>, bytes| TensorView::new(*dtype, shape.clone(), bytes);
        let tensors = self.tensors.iter().map(|(name, dtype, shape, bytes)| {
            (name, view(dtype, shape, bytes).expect("the bytes fit the shape"))
        });
        serialize(tensors, self.metadata.clone()).expect("it can be written")
    }
}

fn dtypes() -> Model {
    DTYPES.iter().fold(Model::default(), |model, &d| model.tensor(&d.to_string(), d, &[3, 8]))
}

fn plain_dtypes() -> Model {
    let plain = |d: &&Dtype| matches!(d.bitsize(), 16 | 32 | 64) && **d != Dtype::C64 || matches!(**d, Dtype::U8 | Dtype::I8);
    let model = Model::default().tensor("BOOL", Dtype::BOOL, &[3, 5]);
    DTYPES.iter().filter(plain).fold(model, |model, &d| model.tensor(&d.to_string(), d, &[3, 5]))
}

fn metadata() -> Model {
    let model = Model::default().tensor("w", Dtype::F32, &[2]).metadata("format", "pt").metadata("", "of an empty key");
    let model = model.metadata("empty", "").metadata("long", &"long ".repeat(20_000)).metadata("number", "1e3");
    hard_names().iter().fold(model, |model, key| model.metadata(key, &format!("value of {key}")))
}

fn empties() -> Model {
    let shapes: [(&str, Dtype, &[usize]); 6] = [
        ("first", Dtype::I64, &[0]),
        ("full", Dtype::F32, &[3]),
        ("middle", Dtype::F32, &[4, 0, 2]),
        ("middle too", Dtype::F32, &[0, 0]),
        ("odd", Dtype::U8, &[7]),
        ("zlast", Dtype::U8, &[0]),
    ];
    shapes.iter().fold(Model::default(), |model, (name, dtype, shape)| model.tensor(name, *dtype, shape))
}

fn ranks() -> Model {
    (0..9).fold(Model::default(), |model, rank| model.tensor(&format!("rank {rank}"), Dtype::I16, &vec![2; rank]))
}

fn names() -> Model {
    hard_names().iter().fold(Model::default(), |model, name| model.tensor(name, Dtype::U8, &[4]))
}

fn many() -> Model {
    let plain = [Dtype::F32, Dtype::BF16, Dtype::I64, Dtype::U8];
    (0..2000).fold(Model::default(), |model, i| model.tensor(&format!("layers.{i}.weight"), plain[i % 4], &[i % 7, 3]))
}

// ---- The witness ----

struct Safetensors;

impl Witness for Safetensors {
    const EXTENSION: &'static str = "safetensors";

    fn files() -> Vec<(&'static str, Vec<u8>)> {
        let files = [
            ("none", Model::default()),
            ("only_metadata", Model::default().metadata("key", "text")),
            ("one_key", Model::default().tensor("w", Dtype::F32, &[2]).metadata("format", "pt")),
            ("dtypes", dtypes()),
            ("plain_dtypes", plain_dtypes()),
            ("metadata", metadata()),
            ("empties", empties()),
            ("ranks", ranks()),
            ("names", names()),
            ("many", many()),
        ];
        files.into_iter().map(|(name, model)| (name, model.bytes())).collect()
    }

    fn dump(path: &Path) -> Answer<Dump> {
        let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|e| e.to_string())?;
        let file = SafeTensors::deserialize(&bytes).map_err(|e| e.to_string())?;
        let mut dump = Dump::default();
        for (key, text) in header.metadata().iter().flatten() {
            dump.metadata.insert(key.clone(), text.clone().into());
        }
        for (name, view) in file.tensors() {
            dump.tensor(&name, &view.dtype().to_string().to_lowercase(), view.shape(), view.data());
        }
        Ok(dump)
    }

    fn rewrite(bytes: Vec<u8>) -> Answer<Vec<u8>> {
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|e| e.to_string())?;
        let file = SafeTensors::deserialize(&bytes).map_err(|e| e.to_string())?;
        serialize(file.tensors(), header.metadata().clone()).map_err(|e| e.to_string())
    }
}

fn main() {
    interop::main::<Safetensors>();
}
