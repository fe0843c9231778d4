//! A module of the Burn framework, and what its stores make of it. Both stores are programs of their own in src/bin.

use crate::{Answer, Dump};
use burn_core as burn;
use burn_core::module::{Module, Param, ParamId};
use burn_core::tensor::{Bool, Device, Int, Tensor, TensorData};
use burn_store::{ModuleSnapshot, ModuleStore};
use std::path::Path;

#[derive(Module, Debug)]
struct Layer {
    weight: Param<Tensor<2>>,
    bias: Option<Param<Tensor<1>>>,
}

#[derive(Module, Debug)]
struct Model {
    embedding: Param<Tensor<3>>,
    layers: Vec<Layer>,
    positions: Param<Tensor<1, Int>>,
    mask: Param<Tensor<2, Bool>>,
}

/// f32 of plain values, so that a comparison of bytes is one of numbers.
fn floats(name: &str, shape: &[usize]) -> TensorData {
    let bytes = crate::made_up(name, shape.iter().product());
    TensorData::new(bytes.iter().map(|&b| b as f32 / 64.0 - 2.0).collect::<Vec<f32>>(), shape.to_vec())
}

impl Layer {
    fn new(name: &str, bias: bool, device: &Device) -> Self {
        Layer {
            weight: Param::from_data(floats(name, &[3, 4]), device),
            bias: bias.then(|| Param::from_data(floats(name, &[4]), device)),
        }
    }
}

impl Model {
    fn new(seed: &str, layers: usize) -> Self {
        let device = &Device::flex();
        let named = |part: &str| format!("{seed} {part}");
        Model {
            embedding: Param::from_data(floats(&named("embedding"), &[2, 3, 5]), device),
            layers: (0..layers).map(|i| Layer::new(&named(&i.to_string()), i % 2 == 0, device)).collect(),
            positions: Param::initialized(ParamId::from(11), Tensor::from_data([0i64, 1, -1, i32::MAX as i64], device)),
            mask: Param::initialized(ParamId::from(u64::MAX), Tensor::from_data([[true, false], [false, true]], device)),
        }
    }
}

const SIZES: [(&str, usize); 3] = [("module_of_none", 0), ("module_of_two", 2), ("module_of_many", 300)];

/// Its files: modules of some sizes, saved by a store to the path that it is given.
pub fn files<S: ModuleStore>(store: fn(&Path) -> S) -> Vec<(&'static str, Vec<u8>)> {
    let file = |(name, layers)| {
        let path = std::env::temp_dir().join(format!("interop-{}-{name}", std::process::id()));
        Model::new("its own", layers).save_into(&mut store(&path)).map_err(|e| format!("{e:?}")).expect("it can be saved");
        let bytes = std::fs::read(&path).expect("it was saved");
        std::fs::remove_file(path).expect("it was saved");
        (name, bytes)
    };
    SIZES.into_iter().map(file).collect()
}

/// What a store says of a file; of metadata it tells nothing.
pub fn dump<S: ModuleStore>(mut store: S, dtype_name: fn(burn_pack::DType) -> String) -> Answer<Dump> {
    let mut dump = Dump::default();
    for (name, tensor) in store.get_all_tensors().map_err(|e| format!("{e:?}"))? {
        let (_, dtype, shape, _, bytes) = tensor.clone().into_parts().map_err(|e| e.to_string())?;
        dump.tensor(name, &dtype_name(dtype), &shape.to_vec(), &bytes);
    }
    Ok(dump)
}

/// Loads a file into a module of its size with other numbers, and saves that. The file has to stay until then, since its
/// tensors are read when they are asked for.
pub fn rewrite<S: ModuleStore>(bytes: Vec<u8>, store: fn(&Path) -> S) -> Answer<Vec<u8>> {
    let temporary = |name: &str| std::env::temp_dir().join(format!("interop-{}-{name}", std::process::id()));
    let (from, to) = (temporary("loaded"), temporary("saved"));
    std::fs::write(&from, bytes).map_err(|e| e.to_string())?;
    let answer = reload(&from, &to, store).and_then(|()| std::fs::read(&to).map_err(|e| e.to_string()));
    std::fs::remove_file(&from).map_err(|e| e.to_string())?;
    std::fs::remove_file(&to).map_err(|e| e.to_string())?;
    answer
}

fn reload<S: ModuleStore>(from: &Path, to: &Path, store: fn(&Path) -> S) -> Answer<()> {
    let names = store(from).keys().map_err(|e| format!("{e:?}"))?;
    let layers = names.iter().filter(|name| name.starts_with("layers.") && name.ends_with(".weight")).count();
    let mut model = Model::new("others", layers);
    let loaded = model.load_from(&mut store(from)).map_err(|e| format!("{e:?}"))?;
    if loaded.applied.len() != names.len() {
        return Err(format!("{} of {} tensors were loaded", loaded.applied.len(), names.len()));
    }
    model.save_into(&mut store(to)).map_err(|e| format!("{e:?}"))
}
