"""thintensor's Python package, whose runtime reads archives by itself.

	thin_witness.py dump FILE...        what it reads: a line of JSON for each file
	thin_witness.py core                where it finds the program `thintensor-core`, the other half of the package
	thin_witness.py verify FILE...      what that program says of each file: null, or a complaint
	thin_witness.py convert HF OUT      makes an archive of a checkpoint, by way of that program
"""
import os
import struct
import subprocess
import sys

from thinruntime.archive import ThinArchive
from thinruntime.command_runner import convert_hf_model, find_rust_binary

import witness

# The names that its loader has for types (in a table that only torch can read), and Tenon's for the same.
WORDS = {"fp16": "f16", "float16": "f16", "half": "f16", "bfloat16": "bf16", "fp32": "f32", "float32": "f32", "float": "f32",
	"fp64": "f64", "float64": "f64", "double": "f64", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "u8",
	"boolean": "bool", "float8_e4m3fn": "f8_e4m3"}


# More types by Tenon's names.
OTHERS = ("f32 f16 bf16 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool c64 f8_e5m2 f8_e4m3 f8_e8m0 f8_e4m3fnuz f8_e5m2fnuz f6_e2m3 f6_e3m2 f4 "
	"q4_0 q4_1 q5_0 q5_1 q8_0 q8_1 q2_k q3_k q4_k q5_k q6_k q8_k iq2_xxs iq2_xs iq3_xxs iq1_s iq4_nl iq3_s iq2_s iq4_xs iq1_m "
	"tq1_0 tq2_0 mxfp4 nvfp4 q1_0 q2_0 apr_q4 apr_q8 qfloat").split()


def dtype(word):
	plain = word.strip().replace("torch.", "").lower()
	return WORDS.get(plain, plain if plain in OTHERS else "opaque")


def is_sum(archive, name):
	"""Whether a page is no more than the sum of its slices."""
	pages = archive.manifest_pages
	slices = sorted((pages[child]["fused_offset"], pages[child]["size"]) for child in archive.fused_children.get(name, []))
	at = 0
	for offset, size in slices:
		if offset != at:
			return False
		at += size
	return bool(slices) and pages[name]["kind"] == "fused_physical" and at == pages[name]["size"]


def read(path):
	with ThinArchive(path) as archive:
		tensors = []
		for name in archive.tensor_page_ids():
			if not is_sum(archive, name):
				page = archive.get_tensor_metadata(name)
				tensors.append(witness.tensor(name, dtype(page["dtype"]), page["shape"], archive.get_page_bytes(name)))
		return {"tensors": tensors, "metadata": archive.manifest["model"]}


def dump(path):
	try:
		return read(path)
	except (ValueError, RuntimeError, OSError) as error: # what it raises on purpose
		return {"refused": repr(error)}
	except (KeyError, TypeError, AttributeError, struct.error, OverflowError, RecursionError) as error:
		return {"refused": f"by accident: {error!r}"}


def core():
	return {"core": find_rust_binary()}


def verify(*paths):
	def says(path):
		try:
			ThinArchive.verify_via_cli(type("Path", (), {"path": path}), find_rust_binary())
		except RuntimeError as error:
			return str(error)
	return list(map(says, paths))


def convert(folder, out):
	os.dup2(2, 1) # it prints as it goes
	if not convert_hf_model(folder, out):
		sys.exit(1)


witness.main({"dump": dump, "core": core, "verify": verify, "convert": convert}, __doc__)
