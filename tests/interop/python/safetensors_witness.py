"""safetensors' Python package, as numpy's users see it.

	safetensors_witness.py write DIR            writes its files to DIR
	safetensors_witness.py dump FILE...         what it reads: a line of JSON for each file
	safetensors_witness.py values FILE LIST     names the tensors whose values are not those of a numpy file;
	                                            LIST is JSON: [[tensor, file.npy], ...]
"""
import json
import pathlib

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


witness.main({"write": write, "dump": dump, "values": values}, __doc__)
