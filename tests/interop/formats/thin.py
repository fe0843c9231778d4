"""ThinTensor archives, against the crate and the Python package of their makers, and the program that both go with."""
import json
import pathlib
import struct

from harness import ROOT, Format, Witness, same_value

WORDS = ("model_type raw_arch norm_kind source_dtype activation tensor_naming_scheme rope_variant architecture_family attention_kind "
	"mlp_kind tokenizer_json_hash tokenizer_config_json_hash arch dtype").split()
COUNTS = ("hidden_size layers heads kv_heads head_dim intermediate_size vocab_size no_rope_layer_interval sliding_window "
	"max_position_embeddings original_max_position_embeddings linear_conv_kernel_dim linear_key_head_dim linear_value_head_dim "
	"linear_num_key_heads linear_num_value_heads global_head_dim num_global_key_value_heads num_kv_shared_layers "
	"hidden_size_per_layer_input vocab_size_per_layer_input num_local_experts num_experts_per_token").split()
NUMBERS = ("rms_norm_eps norm_eps rope_theta partial_rotary_factor swiglu_alpha swiglu_limit norm_weight_offset embedding_scale "
	"query_pre_attn_scalar attention_logit_softcap final_logit_softcap").split()
SWITCHES = "tie_word_embeddings qkv_bias attention_bias use_sliding_window attention_output_gate attention_sinks norm_topk_prob".split()
LISTS = {"attention_variants": str, "supported_precision_modes": str, "layer_types": str, "required_operators": str, "no_rope_layers": bool}
ANYTHING = ["rope_scaling", "rope_parameters", "quantization_config"]
REQUIRED = ("arch", "hidden_size", "layers", "heads", "kv_heads", "dtype")
KINDS = {**dict.fromkeys(WORDS, str), **dict.fromkeys(COUNTS, int), **dict.fromkeys(NUMBERS, float), **dict.fromkeys(SWITCHES, bool)}
DTYPES = ("f32 f16 bf16 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool c64 f8_e5m2 f8_e4m3 f8_e8m0 f8_e4m3fnuz f8_e5m2fnuz f6_e2m3 f6_e3m2 f4 "
	"q4_0 q4_1 q5_0 q5_1 q8_0 q8_1 q2_k q3_k q4_k q5_k q6_k q8_k iq2_xxs iq2_xs iq3_xxs iq1_s iq4_nl iq3_s iq2_s iq4_xs iq1_m "
	"tq1_0 tq2_0 mxfp4 nvfp4 q1_0 q2_0 apr_q4 apr_q8 qfloat").split()


class Thin(Format):
	def stored(self, tensor):
		tensor = super().stored(tensor)
		return tensor._replace(shape=tensor.shape or (1,))


def holds_name(name):
	return name.strip() != "" and len(name.encode()) <= 4096 and not any(c.isspace() or c in "/\\" for c in name)


def holds_pair(key, value):
	"""A field of the model, of its type; all others are in the envelope alone."""
	if key in LISTS:
		return isinstance(value, list) and value != [] and all(type(item) is LISTS[key] for item in value)
	if key in KINDS:
		return type(value) is KINDS[key] and (key not in COUNTS or value >= 0) and (key != "layers" or value < 2 ** 32)
	return key in ANYTHING and value is not None


def shows(value, seen):
	"""Its parser does not always find the nearest double."""
	close = isinstance(value, float) and isinstance(seen, float) and abs(value - seen) <= 1e-15 * abs(value)
	return close or same_value(value, seen)


# ---- The same file ----

def split(path):
	"""Manifest, records and data; in the offsets of records the length of the manifest does not matter."""
	data = pathlib.Path(path).read_bytes()
	_, size, table, count, start = struct.unpack_from("<QQQQQ", data, 16)
	manifest, records = json.loads(data[88:88 + size]), []
	for _ in range(count):
		length, = struct.unpack_from("<H", data, table)
		offset, stored, raw, flags = struct.unpack_from("<QQQI", data, table + 2 + length)
		records.append((data[table + 2:table + 2 + length], offset - start, stored, raw, flags))
		table += 2 + length + 60
	manifest.pop("tenon", None)
	return manifest, records, data[start:]


def same_file(a, b):
	"""The same but for the envelope, which upstream drops with all members that it does not know."""
	return split(a) == split(b)


def keeps_floats(listing):
	return not any(isinstance(value, float) for value in listing.metadata.values())


# ---- Checks of its own ----

SIZES = {"f32": 4, "f16": 2, "bf16": 2, "u8": 1, "i8": 1, "i32": 4, "u32": 4, "i64": 8, "bool": 1, "f8_e4m3": 1, "f8_e8m0": 1}


def contents(number, size):
	"""See tests/support/checkpoint_kit.c."""
	return bytes((number >> (8 * i) if i < 2 else number * 31 + i * 7 + i // 251) & 255 for i in range(size))


def checkpoint(source, folder):
	"""The folder that one of tests/checkpoints describes."""
	folder.mkdir(parents=True)
	for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
		if (source / name).exists():
			(folder / name).write_bytes((source / name).read_bytes())
	shards = {}
	for line in (source / "tensors.txt").read_text().splitlines():
		shard, dtype, shape, number, name = line.split(" ", 4)
		shape = [int(n) for n in shape.split(",") if n not in ("", "-")]
		size = SIZES[dtype]
		for n in shape:
			size *= n
		shards.setdefault(shard, []).append((name, dtype, shape, contents(int(number), size)))
	for shard, tensors in shards.items():
		header, data = {}, b""
		for name, dtype, shape, bytes in tensors:
			header[name] = {"dtype": dtype.upper(), "shape": shape, "data_offsets": [len(data), len(data) + len(bytes)]}
			data += bytes
		text = json.dumps(header).encode()
		(folder / shard).write_bytes(struct.pack("<Q", len(text)) + text + data)


def checkpoints(run, witness):
	"""What each side makes of a checkpoint, to the byte."""
	for source in sorted((ROOT / "tests/checkpoints").glob("*/tensors.txt")):
		name, folder = source.parent.name, run.work / "ours/checkpoints" / source.parent.name
		ours, theirs = folder.with_suffix(".ours.thin"), folder.with_suffix(".theirs.thin")
		checkpoint(source.parent, folder)
		status, _, err = run.try_tenon("convert", "--quiet", "--no-sync", folder, ours)
		converts = (source.parent / "manifest.json").exists()
		try:
			witness.call("convert", folder, theirs)
		except RuntimeError as error:
			run.check(witness, f"checkpoint {name}: neither of us converts it", not converts and status != 0, str(error))
			continue
		run.check(witness, f"checkpoint {name}: it and we make the same file", converts and status == 0 and
			ours.read_bytes() == theirs.read_bytes(), err or "another file")


def verified(run, witness, files):
	for file, says in zip(files, json.loads(witness.call("verify", *files))):
		run.check(witness, f"{file.name}: its program finds no error", says is None, str(says))


def more(run, witness, files):
	if witness.language != "python":
		return
	core = json.loads(witness.call("core"))["core"]
	if core is None:
		run.skip("thintensor core", "not in the package, not on PATH, not in THINTENSOR_CORE_BIN, and not built")
		return
	verified(run, witness, files)
	checkpoints(run, witness)


FORMAT = Thin(
	name="thin",
	extension="thin",
	witnesses=[Witness("thintensor", "rust", "thin", rewrites=keeps_floats),
		Witness("thintensor", "python", "thin_witness", label="thintensor-py", writes=False, rewrites=lambda listing: False)],
	dtypes=DTYPES,
	carriers={"flex32": "f32", "bool_u8": "bool", "bool_u32": "u32"},
	always=REQUIRED,
	shows=shows,
	holds_name=holds_name,
	holds_empty=False,
	holds_pair=holds_pair,
	same_file=same_file,
	more=more,
)
