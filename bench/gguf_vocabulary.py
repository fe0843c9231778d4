#!/usr/bin/env python3
"""Writes a GGUF file of 1,000 small tensors and a vocabulary of 256,000 tokens with scores, types and merges, as
large language models have it: gguf_vocabulary.py OUT."""
import struct
import sys

TOKENS, TENSORS, ALIGN = 256_000, 1_000, 32
U32, I32, F32, STRING, ARRAY = 4, 5, 6, 8, 9


def string(text):
	return struct.pack("<Q", len(text.encode())) + text.encode()


def pair(key, kind, data):
	return string(key) + struct.pack("<I", kind) + data


def array(key, kind, n, items):
	return pair(key, ARRAY, struct.pack("<IQ", kind, n) + items)


def pairs():
	ids = range(TOKENS)
	yield pair("general.architecture", STRING, string("llama"))
	yield pair("general.quantization_version", U32, struct.pack("<I", 2))
	yield array("tokenizer.ggml.tokens", STRING, TOKENS, b"".join(string(f"tok{i * 2654435761 % 2 ** 32:x}") for i in ids))
	yield array("tokenizer.ggml.scores", F32, TOKENS, struct.pack(f"<{TOKENS}f", *(-i for i in ids)))
	yield array("tokenizer.ggml.token_type", I32, TOKENS, struct.pack(f"<{TOKENS}i", *(1 for _ in ids)))
	yield array("tokenizer.ggml.merges", STRING, TOKENS, b"".join(string(f"{i:x} {i + 1:x}") for i in ids))


def infos():
	for i in range(TENSORS):
		yield string(f"blk.{i // 10}.{i % 10}.weight") + struct.pack("<IQIQ", 1, 8, 0, ALIGN * i)  # 8 floats


def main(out):
	all_pairs, all_infos = list(pairs()), list(infos())
	head = b"GGUF" + struct.pack("<IQQ", 3, TENSORS, len(all_pairs)) + b"".join(all_pairs + all_infos)
	with open(out, "wb") as file:
		file.write(head + bytes(-len(head) % ALIGN) + bytes(ALIGN * TENSORS))


main(*sys.argv[1:])
