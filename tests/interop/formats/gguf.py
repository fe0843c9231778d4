"""GGUF, against llama.cpp's Python package, its C library, and the reader of the Hugging Face hub."""
import json
import math

from harness import Format, Listing, Witness, same_text, same_value

PLAIN = "f32 f16 bf16 f64 i8 i16 i32 i64".split()
BLOCKS = ("q4_0 q4_1 q5_0 q5_1 q8_0 q8_1 q2_k q3_k q4_k q5_k q6_k q8_k iq2_xxs iq2_xs iq3_xxs iq1_s iq4_nl iq3_s iq2_s iq4_xs iq1_m "
	"tq1_0 tq2_0 mxfp4 nvfp4 q1_0 q2_0").split()
# Whose values are compared: all that the package has a function for.
VALUES = {
	"gguf": set(BLOCKS) - {"q8_1", "q8_k", "q1_0", "q2_0"},
	"xllamacpp": set(BLOCKS) - {"q8_1", "q8_k"},
}
QUANTISERS = "q8_0 q4_0 q4_1 q5_0 q5_1 q8_1 mxfp4 nvfp4 tq1_0 tq2_0 q1_0 q2_0".split()


def ones_dropped(shape, most):
	while len(shape) > most and shape[0] == 1:
		shape = shape[1:]
	return shape


class Gguf(Format):
	def has(self, tensor):
		return super().has(tensor) and len(ones_dropped(tensor.shape, 4)) <= 4

	def stored(self, tensor):
		"""Of more than 4 dimensions rows remain."""
		tensor = super().stored(tensor)
		shape = ones_dropped(tensor.shape, 4)
		if len(shape) > 4:
			shape = (math.prod(shape[:-1]), shape[-1]) if tensor.nbytes else (1, 0)
		return tensor._replace(shape=shape)


def shows(value, seen):
	"""Strings, numbers, booleans and arrays of one of them have their own place; everything else is there as text."""
	return same_value(value, seen) or same_text(value, seen)


def ggml_sees(tensor):
	"""To ggml outer dimensions of 1 are none, and a tensor has one at least."""
	return tensor._replace(shape=ones_dropped(tensor.shape, 1) or (1,))


def gguf_writes(listing):
	"""gguf-py has no way to write an array without items."""
	return [] not in listing.metadata.values()


def ggml_writes(listing):
	"""ggml's writer leaves out outer dimensions of 0 too, and so changes the tensor."""
	return all(len(shape) == 1 or shape and shape[0] > 1 for _, shape, _, _ in listing.tensors.values())


# ---- Checks of its own ----

def theirs(run, *names):
	return [file for file in sorted(run.work.glob("theirs/*/*.gguf")) + sorted(run.work.glob("theirs/*/gguf/*.gguf")) if file.stem in names]


def same_values(run, witness, source, file, names):
	"""The witness's numbers of some tensors of source are those that we have of the same in file."""
	pairs = [(name, str(run.work / "npy" / f"{i}.npy")) for i, name in enumerate(names)]
	for name, npy in pairs:
		run.tenon("get", "--as", "npy", "-o", npy, "--", file, name)
	(run.work / "npy/list.json").write_text(json.dumps(pairs))
	differ = json.loads(witness.call("values", source, run.work / "npy/list.json"))
	run.check(witness, f"{source.name}: its numbers are those of {file.name}, {len(pairs)} tensors", pairs and not differ, f"not of {differ}")


def values(run, witness):
	for file in theirs(run, "dtypes", "quantised", "ggml_dtypes", "ggml_blocks", "ggml_beyond", "ggml_grids"):
		listing = run.listing(file)
		if not witness.lacks(listing):
			same_values(run, witness, file, file, [name for name, t in listing.tensors.items() if t.dtype in VALUES[witness.package]])


def model_values(run, witness):
	"""Of real models the first layer, cast. gguf-py would take minutes to open one."""
	for file in sorted(run.work.glob("theirs/models/*.gguf")):
		out = run.work / "ours" / f"{file.stem}.f32.safetensors"
		run.tenon("convert", "--quiet", "--no-sync", "--dtype", "f32", "--filter", "blk.0.*", "--", file, out)
		same_values(run, witness, file, out, run.listing(out).tensors)


def offsets(run, witness, files):
	for file in files:
		ours = {t["name"]: t["offset"] for t in json.loads(run.tenon("ls", "--json", "--", file))["tensors"]}
		run.check(witness, f"{file.name}: it finds the data where we do", json.loads(witness.call("offsets", file)) == ours)


def aligned(run, witness):
	plain = run.work / "ours/sample.gguf"
	for align in (1, 8, 64, 4096):
		file = run.work / "ours" / f"aligned.{align}.gguf"
		run.tenon("convert", "--quiet", "--no-sync", "--align", align, plain, file)
		wanted, seen = (Listing.of(answer) for answer in witness.dump([plain, file]))
		wanted.metadata.update(seen.metadata)
		run.check(witness, f"data at a multiple of {align}: it reads the same", not wanted.difference(seen) and
			seen.metadata["general.alignment"] == align)


def edited(run, witness):
	"""Room that is left for edits, and an edit that takes some of it."""
	file = run.work / "ours/edited.gguf"
	run.tenon("convert", "--quiet", "--no-sync", "--slack", 200, run.work / "ours/sample.gguf", file)
	before = file.stat().st_size
	run.tenon("meta", file, "set", "--no-sync", "name=another, longer name", "steps:u16=7")
	seen = Listing.of(witness.dump([file])[0])
	slack = seen.metadata.pop("tenon.slack")
	run.check(witness, "edited in place: it reads the new metadata", file.stat().st_size == before and slack == [0] * len(slack) and
		seen.metadata["steps"] == 7 and seen.metadata["name"] == "another, longer name")


def big_endian(run, witness):
	"""Numbers are turned in the data too; of blocks the two sides differ, see docs/formats/gguf.md."""
	for source in theirs(run, "aligned", "scalars", "arrays", "vocabulary"):
		file, again = run.work / "ours" / f"big.{source.name}", run.work / "again" / f"big.{source.name}"
		run.tenon("convert", "--quiet", "--no-sync", "--endian", "big", source, file)
		answer = witness.dump([file])[0]
		run.attempt(witness, f"{source.name}: it reads the same when big-endian",
			lambda: run.listing(source).seen_by(witness).difference(Listing.of(answer)))
		if witness.rewrites(run.listing(source)):
			witness.call("rewrite", file, again)
			run.check(witness, f"{source.name}: it writes the same when big-endian", again.read_bytes() == file.read_bytes())


def shards(run, witness):
	"""Its shards are the file for us, and ours are what it writes."""
	whole, split, ours = run.work / "theirs/gguf_witness/gguf/quantised.gguf", run.work / "again/shards", run.work / "ours/shards"
	split.mkdir()
	witness.call("split", whole, split, 5)
	first = min(split.iterdir())
	seen = run.listing(first)
	for key in ("split.no", "split.count", "split.tensors.count"):
		seen.metadata.pop(key, None)
	why = run.listing(whole).difference(seen)
	run.check(witness, "its shards are one model for us", not why, why)
	run.tenon("split", "--quiet", "--no-sync", "--max-tensors", 5, "--name", "shard", whole, ours)
	differ = [file.name for file in split.iterdir() if not (ours / file.name).exists() or (ours / file.name).read_bytes() != file.read_bytes()]
	run.check(witness, "it splits into the same shards", not differ, f"not {differ}")


def quantisers(run, witness):
	for source in theirs(run, "ggml_floats"):
		for dtype in QUANTISERS:
			file = run.work / "ours" / f"quantised.{dtype}.gguf"
			run.tenon("convert", "--quiet", "--no-sync", "--quantize", dtype, source, file)
			kinds = {tensor.dtype for tensor in run.listing(file).tensors.values()}
			differ = json.loads(witness.call("quantised", file, source))
			run.check(witness, f"--quantize {dtype}: it makes the same blocks", kinds == {dtype} and not differ, f"{kinds}, not of {differ}")


def more(run, witness, files):
	offsets(run, witness, files)
	aligned(run, witness)
	edited(run, witness)
	if witness.package in VALUES:
		values(run, witness)
	if witness.language == "c":
		model_values(run, witness)
		quantisers(run, witness)
	else:
		big_endian(run, witness)
	if witness.language == "python":
		shards(run, witness)


FORMAT = Gguf(
	name="gguf",
	extension="gguf",
	witnesses=[Witness("gguf", "python", "gguf_witness", rewrites=gguf_writes, unknown=["q8_1", "q2_0"]),
		Witness("xllamacpp", "c", "ggml_witness", rewrites=ggml_writes, sees=ggml_sees),
		Witness("@huggingface/gguf", "node", "gguf", writes=False, rewrites=lambda listing: False,
			hides=("version", "tensor_count", "kv_count"), sees=lambda tensor: tensor._replace(nbytes=None, digest=None), reads_text=lambda text: text.removeprefix("\ufeff"))],
	dtypes=PLAIN + BLOCKS,
	carriers={"flex32": "f32", "bool": "i8", "bool_u8": "i8", "bool_u32": "i32"},
	bytes_dtype="i8",
	shows=shows,
	holds_name=lambda name: len(name.encode()) < 64 and "\0" not in name,
	holds_pair=lambda key, value: key != "",
	more=more,
)
