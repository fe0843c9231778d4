//! burn-store, which saves and loads the modules of the Burn framework: its safetensors files.

use burn_store::SafetensorsStore;
use interop::{module, Answer, Dump, Witness};
use std::path::Path;

struct Store;

fn store(path: &Path) -> SafetensorsStore {
    SafetensorsStore::from_file(path)
}

impl Witness for Store {
    const EXTENSION: &'static str = "safetensors";

    fn files() -> Vec<(&'static str, Vec<u8>)> {
        module::files(store)
    }

    fn dump(path: &Path) -> Answer<Dump> {
        module::dump(store(path), interop::burn_dtype_name)
    }

    fn rewrite(bytes: Vec<u8>) -> Answer<Vec<u8>> {
        module::rewrite(bytes, store)
    }
}

fn main() {
    interop::main::<Store>();
}
