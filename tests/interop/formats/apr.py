"""APR, against the crate of its makers."""
import json
import pathlib
import struct
import zlib

from harness import Format, Witness, same_text, same_value, single

SINGLES = ("rope_theta", "rms_norm_eps")
MAPS = ("special_tokens", "quantization", "sharding")  # fields, which make the file unreadable if they hold anything else


def split(path):
	"""Header, metadata, and all that follows but the CRC of the file."""
	data = pathlib.Path(path).read_bytes()
	at, size, index = struct.unpack_from("<QIQ", data, 12)
	return data[:at], json.loads(data[at:at + size]), data[index:-4]


def same_file(a, b):
	"""The same bytes, except that the crate writes the custom keys of the metadata in an order that is another each time."""
	return split(a) == split(b)


class Apr(Format):
	def has(self, tensor):
		return super().has(tensor) and len(tensor.shape) <= 8


def shows(value, seen):
	"""JSON has a place for everything but bytes and floats without a number; these are null, alone or in an array."""
	if isinstance(value, list) and isinstance(seen, list):
		return len(value) == len(seen) and all(map(shows, value, seen))
	return same_value(value, seen) or same_text(value, seen) or value in ("NaN", "Infinity", "-Infinity") and seen is None


def keeps_floats(listing):
	"""The crate reads doubles that are far from 1 one unit in the last place beside, and writes those; and it has fields of 32 bits."""
	floats = {key: value for key, value in listing.metadata.items() if isinstance(value, float) and value != 0}
	return all(1e-15 < abs(value) < 1e15 and (key not in SINGLES or single(value) == value) for key, value in floats.items())


def quantisers(run, witness):
	folder = run.work / "theirs/apr/apr"
	for short in ("q4", "q8"):
		file = run.work / "ours" / f"quantised.{short}.apr"
		run.tenon("convert", "--quiet", "--no-sync", "--quantize", f"apr_{short}", folder / "one_f32.apr", file)
		run.check(witness, f"--quantize apr_{short}: the same file", same_file(file, folder / f"one_{short}.apr"))


def compressed(run, witness):
	"""Compressed tensors are for Tenon alone: to others they must not look like weights."""
	for codec in ("lz4", "zstd"):
		file = run.work / "ours" / f"compressed.{codec}.apr"
		run.tenon("convert", "--quiet", "--no-sync", "--compress", codec, run.work / "ours/sample.apr", file)
		answer = witness.dump([file])[0]
		run.check(witness, f"--compress {codec}: it refuses the file", "invalid dtype" in answer.get("refused", ""), str(answer)[:200])


def mend(data):
	"""The CRC of the header, which is believed before all else, and that of the file."""
	if len(data) < 68:
		return data
	data = data[:40] + struct.pack("<I", zlib.crc32(data[:40] + data[44:64])) + data[44:]
	return data[:-4] + struct.pack("<I", zlib.crc32(data[:-4]))


def more(run, witness, files):
	quantisers(run, witness)
	compressed(run, witness)


FORMAT = Apr(
	name="apr",
	extension="apr",
	witnesses=[Witness("apr-format", "rust", "apr", rewrites=keeps_floats)],
	dtypes="f32 f16 bf16 f64 i32 i64 i8 u8 apr_q4 apr_q8 q4_k q6_k".split(),
	carriers={"flex32": "f32", "bool": "u8", "bool_u8": "u8"},
	envelope="tenon",
	shows=shows,
	holds_name=lambda name: len(name.encode()) <= 256,
	holds_pair=lambda key, value: key not in MAPS or isinstance(value, dict),
	same_file=same_file,
	more=more,
	mend=mend,
)
