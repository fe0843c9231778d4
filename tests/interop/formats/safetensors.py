"""safetensors, against its Rust crate and its Python package."""
import json
import pathlib

from formats.burnpack import is_module
from harness import Format, Listing, Witness, same_text

CAST_TO = "f16 bf16 f8_e4m3 f8_e5m2 f8_e4m3fnuz f8_e5m2fnuz".split()
NUMPY = "bool u8 i8 u16 i16 u32 i32 u64 i64 f16 f32 f64".split()


def split(path):
	data = pathlib.Path(path).read_bytes()
	end = 8 + int.from_bytes(data[:8], "little")
	return json.loads(data[8:end], object_pairs_hook=list), end, data[end:]


def same_file(a, b):
	"""The same bytes, except that the crate writes the keys of the metadata in an order that is another each time."""
	def sort(header):
		return [(key, sorted(value) if key == "__metadata__" else value) for key, value in header]
	(a_header, *a_rest), (b_header, *b_rest) = split(a), split(b)
	return sort(a_header) == sort(b_header) and a_rest == b_rest


def numpy_values(run, witness, files):
	"""numpy reads the same values from our file and from our .npy, of at most some 60 tensors a file."""
	folder = run.work / "npy"
	for file in files:
		names = [name for name, tensor in run.listing(file).tensors.items() if tensor.dtype in NUMPY]
		pairs = [(name, str(folder / f"{i}.npy")) for i, name in enumerate(names[::len(names) // 30 + 1])]
		for name, npy in pairs:
			run.tenon("get", "--as", "npy", "-o", npy, "--", file, name)
		(folder / "list.json").write_text(json.dumps(pairs))
		differ = json.loads(witness.call("values", file, folder / "list.json"))
		run.check(witness, f"{file.name}: numpy has the values of `tenon get --as npy`, {len(pairs)} tensors",
			not differ, f"not of {differ}")


def aligned(run, witness):
	"""The format leaves room for spaces behind the header, so that the data can be aligned."""
	plain = run.work / "ours/sample.safetensors"
	for align in (8, 64, 256, 4096):
		file = run.work / "ours" / f"aligned.{align}.safetensors"
		run.tenon("convert", "--quiet", "--no-sync", "--align", align, plain, file)
		first = min(tensor["offset"] for tensor in json.loads(run.tenon("ls", "--json", file))["tensors"])
		plain_answer, answer = witness.dump([plain, file])
		run.check(witness, f"data at a multiple of {align}: it reads the same", first % align == 0 and
			Listing.of(plain_answer).difference(Listing.of(answer)) == "", f"the first tensor is at {first}")


def casts(run, witness):
	"""ml_dtypes has the numbers of all codes that we have, and makes the same codes of numbers."""
	folder = run.work / "npy"
	patterns, numbers = folder / "patterns.safetensors", folder / "numbers.safetensors"
	for source, dtypes in ((patterns, ["f32"]), (numbers, CAST_TO)):
		witness.call(source.stem, source)
		for dtype in dtypes:
			made = folder / f"{source.stem}.{dtype}.safetensors"
			run.tenon("convert", "--quiet", "--no-sync", "--dtype", dtype, source, made)
			kinds = {tensor.dtype for tensor in run.listing(made).tensors.values()}
			differ = json.loads(witness.call("cast", made, source))
			run.check(witness, f"{source.stem} cast to {dtype}: what ml_dtypes makes of them", kinds == {dtype} and not differ, f"{kinds}, not of {differ}")


def more(run, witness, files):
	aligned(run, witness)
	if witness.language == "python":
		numpy_values(run, witness, files)
		casts(run, witness)


FORMAT = Format(
	name="safetensors",
	extension="safetensors",
	witnesses=[Witness("safetensors", "rust", "safetensors"),
		Witness("safetensors", "python", "safetensors_witness", rewrites=lambda listing: False),
		Witness("burn-store", "rust", "store_safetensors", rewrites=is_module, tells_metadata=False,
			unknown="u16 c64 f8_e5m2 f8_e4m3 f8_e8m0 f8_e4m3fnuz f8_e5m2fnuz f6_e2m3 f6_e3m2 f4".split())],
	dtypes=NUMPY + "bf16 c64 f8_e5m2 f8_e4m3 f8_e8m0 f8_e4m3fnuz f8_e5m2fnuz f6_e2m3 f6_e3m2 f4".split(),
	carriers={"flex32": "f32", "bool_u8": "bool", "bool_u32": "u32"},
	shows=same_text,
	holds_name=lambda name: name not in ("", "__metadata__") and "\0" not in name,
	same_file=same_file,
	more=more,
)
