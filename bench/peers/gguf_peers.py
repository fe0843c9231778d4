"""The readers of GGUF, timed as bench.c times ours.

	gguf_peers.py gguf|ggml FILE RUNS
	gguf_peers.py values MILLISECONDS

gguf is llama.cpp's reader in Python. ggml is its reader in C, out of a wheel that carries it, called by ctypes: without the
data and without making its tensors, which is the least that it does. Prints one line: median and least milliseconds, and
the peak of memory in KiB, the interpreter's included.

values times ggml's own functions that decode and make blocks, as value.c times ours: a line for each type with the GB/s
of f32, 0 where it has no such function.
"""
import ctypes
import importlib.util
import os
import pathlib
import resource
import sys
import time


def python_reader():
	import gguf
	return gguf.GGUFReader


class Params(ctypes.Structure):
	"""struct gguf_init_params."""
	_fields_ = [("no_alloc", ctypes.c_bool), ("context", ctypes.c_void_p)]


def ggml():
	folder = pathlib.Path(importlib.util.find_spec("xllamacpp").origin).parent
	return ctypes.CDLL(str(next(folder.glob("*.so"))))


def c_reader():
	lib = ggml()
	lib.gguf_init_from_file.restype, lib.gguf_init_from_file.argtypes = ctypes.c_void_p, [ctypes.c_char_p, Params]
	lib.gguf_free.argtypes = [ctypes.c_void_p]

	def open_and_close(path):
		file = lib.gguf_init_from_file(os.fsencode(path), Params(True, None))
		if not file:
			sys.exit(f"ggml does not open {path}")
		lib.gguf_free(file)
	return open_and_close


class Traits(ctypes.Structure):
	"""The head of struct ggml_type_traits."""
	_fields_ = [("name", ctypes.c_char_p), ("block", ctypes.c_int64), ("interleave", ctypes.c_int64), ("size", ctypes.c_size_t),
		("is_quantised", ctypes.c_bool), ("to_float", ctypes.c_void_p), ("from_float", ctypes.c_void_p)]


CONVERSION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
NUMBERS = 65536  # as value.c
COUNT = 43       # the types that the pinned version knows
GRIDS = (16, 17, 18, 19, 21, 22, 29)  # nothing is made without preparation


def speed(function, source, target, seconds):
	"""The best of many short runs."""
	if not function:
		return 0
	work, numbers, best, end = CONVERSION(function), ctypes.c_int64(NUMBERS), float("inf"), time.perf_counter() + seconds
	while time.perf_counter() < end:
		start = time.perf_counter()
		work(source, target, numbers)
		best = min(best, time.perf_counter() - start)
	return 4 * NUMBERS / best / 1e9


def values(seconds):
	lib = ggml()
	lib.ggml_get_type_traits.restype = ctypes.POINTER(Traits)
	weights = [((i * 2654435761 >> 8) % 65536 / 65536 - 0.5) * 0.25 for i in range(NUMBERS)]
	numbers, blocks = (ctypes.c_float * NUMBERS)(*weights), (ctypes.c_uint8 * (8 * NUMBERS))()
	decoded = (ctypes.c_float * NUMBERS)()
	here, there = ctypes.addressof(numbers), ctypes.addressof(blocks)
	for kind in range(COUNT):
		traits = lib.ggml_get_type_traits(kind).contents
		if traits.size == 0:
			continue
		encode = speed(traits.from_float if kind not in GRIDS else None, here, there, seconds)
		decode = speed(traits.to_float, there, ctypes.addressof(decoded), seconds)
		print(traits.name.decode().lower(), f"{decode:.2f} {encode:.2f}")


def main(peer, path, runs):
	work = {"gguf": python_reader, "ggml": c_reader}[peer]()
	pathlib.Path(path).read_bytes()  # warms the page cache
	ms = []
	for _ in range(int(runs)):
		start = time.perf_counter()
		work(path)
		ms.append((time.perf_counter() - start) * 1e3)
	ms.sort()
	print(f"{ms[len(ms) // 2]:.2f} {ms[0]:.2f} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}")


if sys.argv[1] == "values":
	values(int(sys.argv[2]) / 1e3)
else:
	main(*sys.argv[1:])
