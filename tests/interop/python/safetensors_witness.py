"""safetensors' Python package, as numpy's users see it.

	safetensors_witness.py write DIR            writes its files to DIR
	safetensors_witness.py dump FILE...         what it reads: a line of JSON for each file
	safetensors_witness.py values FILE LIST     names the tensors whose values are not those of a numpy file;
	                                            LIST is JSON: [[tensor, file.npy], ...]
	safetensors_witness.py patterns OUT         writes every code of every small float
	safetensors_witness.py numbers OUT          writes f32 of every kind: ties, those beyond all others, NaN
	safetensors_witness.py cast FILE SOURCE     names the tensors of FILE that are not what ml_dtypes makes of SOURCE's
"""
import json
import pathlib

import ml_dtypes
import numpy
import safetensors
import safetensors.numpy

import witness

DTYPES = "bool u1 i1 u2 i2 u4 i4 u8 i8 f2 f4 f8".split()


def made_up(name, dtype, shape):
	dtype = numpy.dtype(dtype)
	count = int(numpy.prod(shape, dtype=int))
	data = witness.made_up(name, count * dtype.itemsize)
	if dtype == bool:
		data = bytes(byte & 1 for byte in data)
	return numpy.frombuffer(data, dtype).reshape(shape)


def write(folder):
	folder = pathlib.Path(folder)
	dtypes = {name: made_up(name, name, (3, 5)) for name in DTYPES}
	shapes = {str(shape): made_up(str(shape), "f4", shape) for shape in [(), (0,), (1,), (2, 0, 3), (2, 3, 4, 5)]}
	save = safetensors.numpy.save_file
	save(dtypes, folder / "numpy_dtypes.safetensors", {"format": "np"})
	save(shapes, folder / "numpy_shapes.safetensors")
	save({}, folder / "numpy_none.safetensors")


def read(path):
	"""Both ways that the package has to read a file, which must not differ."""
	tensors = []
	for name, tensor in safetensors.deserialize(pathlib.Path(path).read_bytes()):
		tensors.append(witness.tensor(name, tensor["dtype"].lower(), tensor["shape"], bytes(tensor["data"])))
	with safetensors.safe_open(path, "numpy") as file:
		slices = [(name, file.get_slice(name)) for name in file.keys()]
		opened = {name: (part.get_dtype().lower(), part.get_shape()) for name, part in slices}
		metadata = file.metadata() or {}
	assert opened == {t["name"]: (t["dtype"], t["shape"]) for t in tensors}, "safe_open and deserialize differ"
	return {"tensors": tensors, "metadata": metadata}


def dump(path):
	try:
		return read(path)
	except safetensors.SafetensorError as error:
		return {"refused": str(error)}
	except Exception as error:
		return {"panicked": repr(error)}


def differing(path, pairs):
	with safetensors.safe_open(path, "numpy") as file:
		for name, npy in pairs:
			theirs, ours = file.get_tensor(name), numpy.load(npy, allow_pickle=False)
			same = theirs.dtype == ours.dtype and theirs.shape == ours.shape and theirs.tobytes() == ours.tobytes()
			if not same:
				yield name


def values(path, pairs):
	return list(differing(path, json.loads(pathlib.Path(pairs).read_text())))


# ---- Floats that numpy does not have ----

SMALL = {"F16": "float16", "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E4M3FNUZ": "float8_e4m3fnuz",
	"F8_E5M2FNUZ": "float8_e5m2fnuz", "F8_E8M0": "float8_e8m0fnu", "F6_E2M3": "float6_e2m3fn", "F6_E3M2": "float6_e3m2fn", "F4": "float4_e2m1fn"}
PACKED = {"F6_E2M3": 6, "F6_E3M2": 6, "F4": 4}


def save(path, tensors):
	"""With types for which the package has no function."""
	header, data = {}, b""
	for name, (dtype, count, values) in tensors.items():
		header[name] = {"dtype": dtype, "shape": [count], "data_offsets": [len(data), len(data) + len(values)]}
		data += values
	text = json.dumps(header).encode()
	pathlib.Path(path).write_bytes(len(text).to_bytes(8, "little") + text + data)


def load(path):
	"""The same back, as arrays of ml_dtypes."""
	return {name: array(tensor["dtype"], bytes(tensor["data"])) for name, tensor in safetensors.deserialize(pathlib.Path(path).read_bytes())}


def array(dtype, data):
	word = SMALL.get(dtype, "float32")
	kind = numpy.dtype(getattr(ml_dtypes, word, word))
	if dtype not in PACKED:
		return numpy.frombuffer(data, kind)
	bits = numpy.unpackbits(numpy.frombuffer(data, "u1"), bitorder="little").reshape(-1, PACKED[dtype])
	return numpy.packbits(bits, axis=1, bitorder="little").reshape(-1).view(kind)


def patterns(path):
	def codes(dtype):
		width = PACKED.get(dtype, 16 if dtype in ("F16", "BF16") else 8)
		numbers = numpy.arange(1 << width, dtype="<u2").view("u1").reshape(-1, 2)
		bits = numpy.unpackbits(numbers, axis=1, bitorder="little")[:, :width]
		return dtype, 1 << width, numpy.packbits(bits.reshape(-1), bitorder="little").tobytes()
	save(path, {dtype: codes(dtype) for dtype in SMALL})


def numbers(path):
	"""Around each f32 of 16 bits: ties of all smaller types, and their neighbours."""
	tops = numpy.arange(1 << 16, dtype="<u4") << 16
	lows = [0, 1, 0x7fff, 0x8000, 0x8001, 0x0fff, 0x1000, 0x1001, 0x3000, 0xffff]
	values = numpy.concatenate([tops | low for low in lows])
	save(path, {"numbers": ("F32", values.size, values.tobytes())})


def cast(path, source):
	def differs(made, of):
		wanted = of.astype(made.dtype)
		bits = f"u{made.dtype.itemsize}"
		nan = numpy.isnan(made.astype("f4")) & numpy.isnan(wanted.astype("f4"))
		return made.shape != of.shape or not bool(((made.view(bits) == wanted.view(bits)) | nan).all())
	with numpy.errstate(all="ignore"):
		sources = load(source)
		return [name for name, made in load(path).items() if differs(made, sources[name])]


witness.main({"write": write, "dump": dump, "values": values, "patterns": patterns, "numbers": numbers, "cast": cast}, __doc__)
