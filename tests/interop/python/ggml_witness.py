"""ggml, the C library of llama.cpp, from a wheel that carries all of it; called by ctypes.

	ggml_witness.py write DIR                writes its files to DIR
	ggml_witness.py dump FILE...             what it reads: a line of JSON for each file
	ggml_witness.py rewrite IN OUT           reads IN and writes it again
	ggml_witness.py values FILE LIST         names the tensors whose values are not those of a numpy file;
	                                         LIST is JSON: [[tensor, file.npy], ...]
	ggml_witness.py offsets FILE             where it finds each tensor
	ggml_witness.py quantised FILE SOURCE    names the tensors of FILE that are not what its quantisers make of SOURCE's
"""
import ctypes
import importlib.util
import json
import os
import pathlib

import numpy

import witness

LIBRARY = next(pathlib.Path(importlib.util.find_spec("xllamacpp").origin).parent.glob("*.so"))
# In the order of their numbers; the rest is strings and arrays.
SCALARS = {0: ctypes.c_uint8, 1: ctypes.c_int8, 2: ctypes.c_uint16, 3: ctypes.c_int16, 4: ctypes.c_uint32, 5: ctypes.c_int32,
	6: ctypes.c_float, 7: ctypes.c_bool, 10: ctypes.c_uint64, 11: ctypes.c_int64, 12: ctypes.c_double}
NAMES = {0: "u8", 1: "i8", 2: "u16", 3: "i16", 4: "u32", 5: "i32", 6: "f32", 7: "bool", 10: "u64", 11: "i64", 12: "f64"}
STRING, ARRAY = 8, 9
TYPES = [n for n in range(43) if n not in (4, 5, 31, 32, 33, 36, 37, 38)]  # without those that were removed
NEED_IMATRIX = [16, 17, 19]
GRIDS = [16, 17, 18, 19, 21, 22, 29]
BEYOND = [9, 42]                      # Q8_1 and Q2_0, of which gguf-py knows nothing or nothing true
QUANTISERS = [n for n in TYPES if n not in (0, 1, 24, 25, 26, 27, 28, 30, 15, *BEYOND)]  # that ggml_quantize_chunk reaches


# ---- The library ----

class Traits(ctypes.Structure):
	"""The head of struct ggml_type_traits."""
	_fields_ = [("name", ctypes.c_char_p), ("block", ctypes.c_int64), ("interleave", ctypes.c_int64), ("size", ctypes.c_size_t),
		("is_quantised", ctypes.c_bool),
		("to_float", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)),
		("from_float", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64))]


class Params(ctypes.Structure):
	"""struct gguf_init_params."""
	_fields_ = [("no_alloc", ctypes.c_bool), ("context", ctypes.POINTER(ctypes.c_void_p))]


class InitParams(ctypes.Structure):
	"""struct ggml_init_params."""
	_fields_ = [("size", ctypes.c_size_t), ("buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool)]


# A type for what is returned; P is a pointer, and so is every argument that is no number.
P, S, I, N, L = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_int64
SIGNATURES = {
	"ggml_init": (P, InitParams), "ggml_new_tensor": (P, P, I, I, P), "ggml_set_name": (P, P, S), "ggml_get_data": (P, P),
	"ggml_nbytes": (N, P), "ggml_get_first_tensor": (P, P), "ggml_get_next_tensor": (P, P, P), "ggml_get_tensor": (P, P, S),
	"ggml_get_type_traits": (ctypes.POINTER(Traits), I), "ggml_quantize_chunk": (N, I, P, P, L, L, L, P),
	"gguf_init_empty": (P,), "gguf_init_from_file": (P, S, Params), "gguf_free": (None, P), "gguf_set_kv": (None, P, P),
	"gguf_write_to_file": (ctypes.c_bool, P, S, ctypes.c_bool), "gguf_add_tensor": (None, P, P),
	"gguf_get_n_kv": (L, P), "gguf_get_key": (S, P, L), "gguf_get_kv_type": (I, P, L), "gguf_get_val_data": (P, P, L),
	"gguf_get_val_str": (S, P, L), "gguf_get_arr_type": (I, P, L), "gguf_get_arr_n": (N, P, L), "gguf_get_arr_data": (P, P, L),
	"gguf_get_arr_str": (S, P, L, N), "gguf_get_n_tensors": (L, P), "gguf_get_tensor_name": (S, P, L),
	"gguf_get_tensor_type": (I, P, L), "gguf_get_tensor_ne": (ctypes.POINTER(L), P, L), "gguf_get_tensor_size": (N, P, L),
	"gguf_get_tensor_offset": (N, P, L), "gguf_get_data_offset": (N, P), "gguf_set_val_str": (None, P, S, S),
	"gguf_set_arr_data": (None, P, S, I, P, N), "gguf_set_arr_str": (None, P, S, P, N),
	**{f"gguf_set_val_{NAMES[n]}": (None, P, S, kind) for n, kind in SCALARS.items()},
}
lib = ctypes.CDLL(str(LIBRARY))
for name, (result, *arguments) in SIGNATURES.items():
	function = getattr(lib, name)
	function.restype, function.argtypes = result, arguments


def traits(kind):
	return lib.ggml_get_type_traits(kind).contents


# ---- Reading ----

class File:
	"""A file opened with its data, as llama.cpp's tools do."""
	def __init__(self, path):
		context = ctypes.c_void_p()
		self.gguf = lib.gguf_init_from_file(os.fsencode(path), Params(False, ctypes.pointer(context)))
		if not self.gguf:
			raise ValueError("gguf_init_from_file")
		self.context = context

	def tensors(self):
		"""Their numbers and names."""
		for i in range(lib.gguf_get_n_tensors(self.gguf)):
			yield i, lib.gguf_get_tensor_name(self.gguf, i)

	def data(self, name):
		tensor = lib.ggml_get_tensor(self.context, name)
		return ctypes.string_at(lib.ggml_get_data(tensor), lib.ggml_nbytes(tensor))

	def shape(self, i):
		"""Outermost first; outer dimensions of 1 are the same to ggml as none."""
		return shortened(lib.gguf_get_tensor_ne(self.gguf, i)[:4][::-1])

	def pairs(self):
		for i in range(lib.gguf_get_n_kv(self.gguf)):
			yield witness.text(lib.gguf_get_key(self.gguf, i)), self.value(i, lib.gguf_get_kv_type(self.gguf, i))

	def value(self, i, kind):
		if kind == STRING:
			return witness.text(lib.gguf_get_val_str(self.gguf, i))
		if kind == ARRAY:
			return self.array(i, lib.gguf_get_arr_type(self.gguf, i), lib.gguf_get_arr_n(self.gguf, i))
		return SCALARS[kind].from_address(lib.gguf_get_val_data(self.gguf, i)).value

	def array(self, i, kind, n):
		if kind == STRING:
			return [witness.text(lib.gguf_get_arr_str(self.gguf, i, k)) for k in range(n)]
		return list((SCALARS[kind] * n).from_address(lib.gguf_get_arr_data(self.gguf, i))) if n else []


def shortened(shape):
	while len(shape) > 1 and shape[0] == 1:
		shape = shape[1:]
	return shape


def read(path):
	file = File(path)
	tensors = []
	for i, name in file.tensors():
		kind = traits(lib.gguf_get_tensor_type(file.gguf, i))
		tensors.append(witness.tensor(witness.text(name), kind.name.decode().lower(), file.shape(i), file.data(name)))
	return {"tensors": tensors, "metadata": {key: witness.plain(value) for key, value in file.pairs()}}


def dump(path):
	"""In a process of its own, since it ends what it does not expect by abort()."""
	answer, out = os.pipe()
	child = os.fork()
	if child == 0:
		os.close(answer)
		try:
			line = read(path)
		except ValueError as error:
			line = {"refused": str(error)}
		with os.fdopen(out, "w") as pipe:
			json.dump(line, pipe)
		os._exit(0)
	os.close(out)
	with os.fdopen(answer) as pipe:
		text = pipe.read()
	_, status = os.waitpid(child, 0)
	return json.loads(text) if status == 0 else {"panicked": f"status {status}"}


def offsets(path):
	file = File(path)
	start = lib.gguf_get_data_offset(file.gguf)
	return {witness.text(name): start + lib.gguf_get_tensor_offset(file.gguf, i) for i, name in file.tensors()}


# ---- Values ----

def address(array):
	return array.ctypes.data_as(ctypes.c_void_p)


def decoded(kind, data):
	if kind == 0:
		return numpy.frombuffer(data, "f4")
	one, blocks = traits(kind), numpy.frombuffer(data, "u1")
	numbers = numpy.empty(len(data) // one.size * one.block, "f4")
	one.to_float(address(blocks), address(numbers), numbers.size)
	return numbers


def values(path, pairs):
	file = File(path)
	numbers = {name: i for i, name in file.tensors()}
	def same(name, npy):
		kind, key = lib.gguf_get_tensor_type(file.gguf, numbers[name.encode()]), name.encode()
		return witness.same_numbers(decoded(kind, file.data(key)), numpy.load(npy).reshape(-1))
	return [name for name, npy in json.loads(pathlib.Path(pairs).read_text()) if not same(name, npy)]


def quantised(path, source):
	file, floats = File(path), File(source)
	differ = []
	for i, name in file.tensors():
		kind = traits(lib.gguf_get_tensor_type(file.gguf, i))
		numbers = numpy.frombuffer(floats.data(name), "f4")
		blocks = numpy.empty(numbers.size // kind.block * kind.size, "u1")
		kind.from_float(address(numbers), address(blocks), numbers.size)
		if blocks.tobytes() != file.data(name):
			differ.append(witness.text(name))
	return differ


# ---- Writing ----

class Writer:
	def __init__(self):
		self.gguf = lib.gguf_init_empty()
		self.context = lib.ggml_init(InitParams(64 << 20, None, False))

	def add(self, name, kind, shape, data=None):
		ne = (ctypes.c_int64 * len(shape))(*shape[::-1])
		tensor = lib.ggml_new_tensor(self.context, kind, len(shape), ne)
		lib.ggml_set_name(tensor, name.encode())
		size = lib.ggml_nbytes(tensor)
		ctypes.memmove(lib.ggml_get_data(tensor), witness.made_up(name, size) if data is None else data, size)
		lib.gguf_add_tensor(self.gguf, tensor)

	def finish(self, path):
		if not lib.gguf_write_to_file(self.gguf, os.fsencode(path), False):
			raise OSError(f"{path}: gguf_write_to_file")


def weights(rows, columns):
	bits = numpy.frombuffer(witness.made_up("weights", 4 * rows * columns), "u4")
	return ((bits / 2.0 ** 32 - 0.5) * 0.25).astype("f4")


def dtypes(writer):
	for kind in TYPES:
		if kind not in BEYOND:
			writer.add(traits(kind).name.decode(), kind, (3, 256))


def beyond(writer):
	for kind in BEYOND:
		writer.add(traits(kind).name.decode(), kind, (3, 256))


def grids(writer):
	"""Blocks enough to choose nearly every row of their grids."""
	for kind in GRIDS:
		writer.add(traits(kind).name.decode(), kind, (256, 256))


def blocks(writer):
	"""What its quantisers make of numbers like weights."""
	rows, columns = 8, 512
	numbers, importance = weights(rows, columns), numpy.ones(columns, "f4")
	for kind in QUANTISERS:
		one = traits(kind)
		out = numpy.empty(rows * columns // one.block * one.size, "u1")
		imatrix = address(importance) if kind in NEED_IMATRIX else None
		lib.ggml_quantize_chunk(kind, address(numbers), address(out), 0, rows, columns, imatrix)
		writer.add(f"weights {one.name.decode()}", kind, (rows, columns), out.tobytes())


def floats(writer):
	"""To be quantised: weights, zeros, large and small ones."""
	for name, factor in (("weights", 1), ("zeros", 0), ("large", 1e6), ("small", 1e-6)):
		writer.add(name, 0, (8, 512), (weights(8, 512) * numpy.float32(factor) + numpy.float32(0)).tobytes()) # 0 and not -0


def pairs(writer):
	for n, kind in SCALARS.items():
		getattr(lib, f"gguf_set_val_{NAMES[n]}")(writer.gguf, f"scalar.{NAMES[n]}".encode(), kind(1))
		array = (kind * 5)(0, 1, 1, 0, 1)
		lib.gguf_set_arr_data(writer.gguf, f"array.{NAMES[n]}".encode(), n, array, 5)
		lib.gguf_set_arr_data(writer.gguf, f"empty.{NAMES[n]}".encode(), n, None, 0)
	lib.gguf_set_val_str(writer.gguf, b"string", "größe".encode())
	lib.gguf_set_val_str(writer.gguf, b"empty", b"")
	texts = (ctypes.c_char_p * 3)(b"", b"one", "重み".encode())
	lib.gguf_set_arr_str(writer.gguf, b"strings", texts, 3)


def shapes(writer):
	for shape in [(1,), (7,), (1, 3), (3, 1), (2, 3, 4, 5), (2, 1, 1, 2)]:
		writer.add(str(shape), 0, shape)


def many(writer):
	for i in range(2000):
		writer.add(f"layers.{i}.weight", 0, (1 + i % 7, 3))


def write(folder):
	for fill in (dtypes, beyond, grids, blocks, floats, pairs, shapes, many):
		writer = Writer()
		lib.gguf_set_val_str(writer.gguf, b"general.architecture", b"llama")
		fill(writer)
		writer.finish(pathlib.Path(folder, f"ggml_{fill.__name__}.gguf"))


def rewrite(source, target):
	file = File(source)
	again = lib.gguf_init_empty()
	lib.gguf_set_kv(again, file.gguf)
	for _, name in file.tensors():
		lib.gguf_add_tensor(again, lib.ggml_get_tensor(file.context, name))
	if not lib.gguf_write_to_file(again, os.fsencode(target), False):
		raise OSError(f"{target}: gguf_write_to_file")


witness.main({"write": write, "dump": dump, "rewrite": rewrite, "values": values, "offsets": offsets, "quantised": quantised}, __doc__)
