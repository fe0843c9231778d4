"""gguf, the Python package of llama.cpp.

	gguf_witness.py write DIR            writes its files to DIR
	gguf_witness.py dump FILE...         what it reads: a line of JSON for each file
	gguf_witness.py rewrite IN OUT       reads IN and writes it again
	gguf_witness.py values FILE LIST     names the tensors whose values are not those of a numpy file;
	                                     LIST is JSON: [[tensor, file.npy], ...]
	gguf_witness.py offsets FILE         where it finds each tensor
	gguf_witness.py split IN DIR N       writes IN as shards of N tensors
"""
import json
import math
import pathlib

import gguf
import numpy

import witness
from gguf import GGMLQuantizationType as Type, GGUFValueType as Value

RAW = {Type.F32: "f4", Type.F16: "f2", Type.F64: "f8", Type.I8: "i1", Type.I16: "i2", Type.I32: "i4", Type.I64: "i8"}
INTEGERS = [(f"{sign}int{bits}", bits, sign == "") for bits in (8, 16, 32, 64) for sign in ("u", "")]
HARD = ["", " ", "a/b/c", "with space", "quote\"", "back\\slash", "tab\tand\nline", "\x7f", "\x1b[31m", "größe", "重み",
	"\U0001f9e0", "e\u0301", "\u202etxet", "\ufeffbom", "null", "{}", "%s%n", "..", "-", "n" * 63, *map(chr, range(1, 32))]


# ---- Files ----

def made_up(name, kind, shape):
	"""An array for add_tensor: elements of their dtype, or blocks as bytes."""
	block, size = gguf.GGML_QUANT_SIZES[kind]
	data = witness.made_up(name, math.prod(shape) // block * size)
	if kind in RAW:
		return numpy.frombuffer(data, RAW[kind]).reshape(shape)
	return numpy.frombuffer(data, "u1").reshape(gguf.quant_shape_to_byte_shape(shape, kind))


def add(writer, name, kind=Type.F32, shape=(2,)):
	writer.add_tensor(name, made_up(name, kind, shape), raw_dtype=kind)


def dtypes(writer):
	"""All but Q8_1, whose blocks it believes to be of 40 bytes; those of ggml have 36."""
	for kind in sorted(set(Type) - {Type.Q8_1}):
		add(writer, kind.name, kind, (3, 256))


def quantised(writer):
	"""Blocks that its own quantisers make of numbers like weights."""
	bits = numpy.frombuffer(witness.made_up("weights", 4 * 8 * 512), "u4").reshape(8, 512)
	weights = ((bits / 2.0 ** 32 - 0.5) * 0.25).astype("f4")
	for kind in Type:
		try:
			data = gguf.quantize(weights, kind)
		except NotImplementedError:
			continue
		writer.add_tensor(f"weights {kind.name}", data, raw_dtype=kind)


def shapes(writer):
	for shape in [(), (1,), (0,), (4, 0), (0, 4), (1, 1, 1, 1), (1, 3), (3, 1), (2, 3, 4, 5), (1, 2, 1, 2)]:
		add(writer, str(shape), Type.I16, shape)
	add(writer, "rows of blocks", Type.Q8_0, (2, 2, 3, 64))
	add(writer, "no blocks", Type.Q4_K, (0, 256))


def names(writer):
	for name in HARD:
		add(writer, name)


def many(writer):
	kinds = [*RAW, Type.BF16]
	for i in range(2000):
		add(writer, f"layers.{i}.weight", kinds[i % len(kinds)], (i % 7, 3))


def scalars(writer):
	for name, bits, signed in INTEGERS:
		least, most = (-2 ** (bits - 1), 2 ** (bits - 1) - 1) if signed else (0, 2 ** bits - 1)
		for value in (least, 1, most):
			getattr(writer, f"add_{name}")(f"{name}.{value}", value)
	for value in (0.1, 1.0, -0.0, 1e-45, 3.4028234663852886e38, math.nan, math.inf, -math.inf):
		writer.add_float32(f"float32.{value}", value)
	for value in (0.1, 1.0, -0.0, 5e-324, 1.7976931348623157e308, math.nan, math.inf, -math.inf):
		writer.add_float64(f"float64.{value}", value)
	writer.add_bool("true", True)
	writer.add_bool("false", False)


def strings(writer):
	for i, value in enumerate([*HARD, "long " * 20_000]):
		writer.add_key_value(f"string.{i}", value, Value.STRING)
	for name in HARD[1:]:
		writer.add_string(name, f"value of {name}")
	writer.add_string("key " * 16_000, "of a long key")


def arrays(writer):
	for name, bits, signed in INTEGERS:
		least, most = (-2 ** (bits - 1), 2 ** (bits - 1) - 1) if signed else (0, 2 ** bits - 1)
		writer.add_key_value(f"array.{name}", [least, 0, 1, most], Value.ARRAY, sub_type=Value[name.upper()])
	floats = [0.5, -1.0, 0.1, math.inf, math.nan]
	writer.add_key_value("array.float32", floats, Value.ARRAY, sub_type=Value.FLOAT32)
	writer.add_key_value("array.float64", floats, Value.ARRAY, sub_type=Value.FLOAT64)
	writer.add_array("array.bool", [True, False, True])
	writer.add_array("array.string", HARD)
	writer.add_array("array.bytes", b"\x00\x7f\xff")
	writer.add_array("one", [7])


def vocabulary(writer):
	writer.add_tokenizer_model("gpt2")
	writer.add_token_list([f"token {i} {HARD[i % len(HARD)]}" for i in range(30_000)])
	writer.add_token_scores([-i / 7 for i in range(30_000)])
	writer.add_token_types([1 + i % 6 for i in range(30_000)])
	writer.add_token_merges([f"{i} {i + 1}" for i in range(10_000)])
	writer.add_chat_template("{% for m in messages %}{{ m }}{% endfor %}")


def aligned(writer):
	writer.add_custom_alignment(256)
	for kind in RAW:
		add(writer, kind.name, kind, (5,))


def nothing(writer):
	pass


FILES = {"none": nothing, "dtypes": dtypes, "quantised": quantised, "shapes": shapes, "names": names, "many": many,
	"scalars": scalars, "strings": strings, "arrays": arrays, "vocabulary": vocabulary, "aligned": aligned}


def finish(writer):
	writer.write_header_to_file()
	writer.write_kv_data_to_file()
	writer.write_tensors_to_file()
	writer.close()


def write(folder):
	for name, fill in FILES.items():
		writer = gguf.GGUFWriter(pathlib.Path(folder, f"{name}.gguf"), "llama")
		fill(writer)
		finish(writer)
	bare = gguf.GGUFWriter(pathlib.Path(folder, "only_pairs.gguf"), "llama") # as llama.cpp writes vocabularies
	scalars(bare)
	bare.write_header_to_file()
	bare.write_kv_data_to_file()
	bare.close()


# ---- Reading ----

def little_endian(data):
	return data.astype(data.dtype.newbyteorder("<")).tobytes()


def read(path):
	reader = gguf.GGUFReader(path)
	tensors = [witness.tensor(t.name, t.tensor_type.name.lower(), t.shape[::-1], little_endian(t.data)) for t in reader.tensors]
	fields = reader.fields.items()
	return {"tensors": tensors, "metadata": {key: witness.plain(field.contents()) for key, field in fields if not key.startswith("GGUF.")}}


def dump(path):
	try:
		return read(path)
	except Exception as error: # it has none of its own, and leaves much to those of numpy
		return {"refused": repr(error)}


def copy(source, target, **options):
	reader = gguf.GGUFReader(source)
	writer = gguf.GGUFWriter(target, "", endianess=reader.endianess, **options)
	for name, field in reader.fields.items():
		if not name.startswith("GGUF."):
			writer.add_key_value(name, field.contents(), field.types[0], sub_type=field.types[-1])
	writer.data_alignment = int(reader.alignment)
	for t in reader.tensors:
		writer.add_tensor(t.name, t.data, raw_dtype=t.tensor_type, tensor_endianess=reader.endianess)
	finish(writer)


def rewrite(source, target):
	copy(source, target)


def split(source, folder, count):
	copy(source, pathlib.Path(folder, "shard.gguf"), split_max_tensors=int(count))


def values(path, pairs):
	tensors = {t.name: t for t in gguf.GGUFReader(path).tensors}
	return [name for name, npy in json.loads(pathlib.Path(pairs).read_text())
		if not witness.same_numbers(gguf.dequantize(tensors[name].data, tensors[name].tensor_type), numpy.load(npy))]


def offsets(path):
	return {t.name: int(t.data_offset) for t in gguf.GGUFReader(path).tensors}


witness.main({"write": write, "dump": dump, "rewrite": rewrite, "values": values, "offsets": offsets, "split": split}, __doc__)
