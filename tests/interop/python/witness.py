"""What the witnesses written in Python have in common. Their commands are functions; the lines of `dump` are those of
rust/src/lib.rs.
"""
import json
import math
import sys

import blake3
import numpy


def made_up(name, size):
	"""Bytes that follow from the name of their tensor, so that no two tensors are alike."""
	return blake3.blake3(name.encode()).digest(length=size)


def tensor(name, dtype, shape, data):
	digest = blake3.blake3(data).hexdigest()
	return {"name": name, "dtype": dtype, "shape": [int(n) for n in shape], "nbytes": len(data), "digest": digest}


def plain(value):
	"""A value with the strings that `tenon ls --json` has for floats without a JSON number."""
	if isinstance(value, list):
		return list(map(plain, value))
	if isinstance(value, float) and not math.isfinite(value):
		return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
	return value


def text(data):
	"""A string of any bytes, as `tenon ls --json` has it."""
	return bytes(data).decode("utf-8", "backslashreplace")


def same_numbers(a, b):
	"""The same f32 in every place, bit by bit, but for what a NaN holds."""
	same = (a.view("u4") == b.view("u4")) | (numpy.isnan(a) & numpy.isnan(b))
	return a.dtype == b.dtype == "f4" and a.shape == b.shape and bool(same.all())


def main(commands, usage):
	"""Calls the command that the arguments name: "dump" for each file, the others with all arguments."""
	name, *args = sys.argv[1:] or [""]
	if name not in commands:
		sys.exit(usage)
	for answer in map(commands[name], args) if name == "dump" else [commands[name](*args)]:
		if answer is not None:
			print(json.dumps(answer), flush=True)
