"""The readers of GGUF, timed as bench.c times ours.

	gguf_peers.py gguf|ggml FILE RUNS

gguf is llama.cpp's reader in Python. ggml is its reader in C, out of a wheel that carries it, called by ctypes: without the
data and without making its tensors, which is the least that it does. Prints one line: median and least milliseconds, and
the peak of memory in KiB, the interpreter's included.
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


def c_reader():
	folder = pathlib.Path(importlib.util.find_spec("xllamacpp").origin).parent
	lib = ctypes.CDLL(str(next(folder.glob("*.so"))))
	lib.gguf_init_from_file.restype, lib.gguf_init_from_file.argtypes = ctypes.c_void_p, [ctypes.c_char_p, Params]
	lib.gguf_free.argtypes = [ctypes.c_void_p]

	def open_and_close(path):
		file = lib.gguf_init_from_file(os.fsencode(path), Params(True, None))
		if not file:
			sys.exit(f"ggml does not open {path}")
		lib.gguf_free(file)
	return open_and_close


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


main(*sys.argv[1:])
