"""Damaged files: some hundreds of each format, made anew in each run, always the same, and read by both sides.

What each side makes of one is "opens", "faulty" (it opens, and the side's own check finds an error), "refuses", or, of a
witness, "crashes". Refused and faulty are alike: the damage was seen. Where one side sees it and the other does not, or
both open the file and read different things, a rule in expected-damage.tsv has to say why; a rule that nothing
needs fails too.
"""
import collections
import csv
import json
import random
import re

import corpus
from harness import HERE, Listing

RULES = HERE / "expected-damage.tsv"
FILES = 400             # of each format
LARGEST = 1 << 16       # of the files that are damaged
SECONDS = 10            # that a witness may take for one
EXTREMES = [0, 1, 2, 255, 2 ** 16, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53, 2 ** 63 - 1, 2 ** 63, 2 ** 64 - 1]
Rule = collections.namedtuple("Rule", "format witness we_are message why")


# ---- Damage ----

def place(rng, data):
	"""Where to strike: mostly near the start, where the structure is."""
	return min(int(rng.random() ** 3 * len(data)), len(data) - 1)


def cut(rng, data):
	return data[:place(rng, data)]


def flip(rng, data):
	at = place(rng, data)
	return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1:]


def byte(rng, data):
	at = place(rng, data)
	return data[:at] + bytes([rng.randrange(256)]) + data[at + 1:]


def number(rng, data):
	"""A number of 4 or 8 bytes, at a place where one may be, becomes another."""
	size = rng.choice((4, 8))
	at = place(rng, data) & ~3
	value = (rng.choice(EXTREMES) & (1 << 8 * size) - 1).to_bytes(size, "little")
	return data[:at] + value + data[at + size:]


def swap(rng, data):
	"""Two words change places."""
	a, b = sorted((place(rng, data) & ~7, place(rng, data) & ~7))
	return data[:a] + data[b:b + 8] + data[a + 8:b] + data[a:a + 8] + data[b + 8:] if a + 8 <= b else flip(rng, data)


def copy(rng, data):
	"""Something stands twice, so that names and extents meet again."""
	a, b, size = place(rng, data), place(rng, data), rng.randrange(1, 33)
	return data[:b] + data[a:a + size] + data[b + size:]


def remove(rng, data):
	at = place(rng, data)
	return data[:at] + data[at + rng.randrange(1, 17):]


def insert(rng, data):
	at = place(rng, data)
	return data[:at] + rng.randbytes(rng.randrange(1, 17)) + data[at:]


def digit(rng, data):
	"""A digit of a number in text becomes another."""
	places = [at for at, byte in enumerate(data[:4096]) if 0x30 <= byte <= 0x39] or [0]
	at = rng.choice(places)
	return data[:at] + rng.choice(b"0123456789-e.").to_bytes(1, "little") + data[at + 1:]


KINDS = (cut, flip, byte, number, swap, copy, remove, insert, digit)


def damaged(run, format):
	"""Paths of the damaged files of a format, those that the rest of the corpus is not."""
	folder = run.work / "damaged" / format.name
	folder.mkdir(parents=True)
	good = {case: path for case, path in corpus.decoded(run, format).items() if "/good-" in case and path.stat().st_size <= LARGEST}
	cases, each = sorted(good.items()), -(-FILES // len(good))
	for case, path in cases:
		data = path.read_bytes()
		for i in range(each):
			rng, kind = random.Random(f"{case} {i}"), KINDS[i % len(KINDS)]
			changed = kind(rng, data)
			if i % 2: # of each two one with the right checksum, that it be read any further
				changed = format.mend(changed)
			if changed != data:
				file = folder / f"{path.stem}-{i}-{kind.__name__}.{format.extension}"
				file.write_bytes(changed)
				yield file


# ---- What each side makes of it ----

Verdict = collections.namedtuple("Verdict", "word message listing")


def ours(run, format, path):
	status, out, err = run.try_tenon("verify", "--deep", "--json", "--single", "--from", format.name, "--", path)
	if status not in (0, 1, 3):
		return Verdict("crashes", f"status {status}: {err[-300:]}", None)
	document = json.loads(out)
	if status == 3:
		return Verdict("refuses", document["error"]["message"], None)
	errors = [finding["message"] for finding in document["findings"] if finding["severity"] == "error"]
	warnings = "; ".join(finding["message"] for finding in document["findings"] if finding["severity"] == "warning")
	try:
		listing = run.listing(path, format)
	except RuntimeError as error:
		return Verdict("faulty", (errors or [str(error)])[0], None)
	return Verdict("faulty" if errors else "opens", (errors or [warnings])[0], listing)


def theirs(answer):
	if "panicked" in answer:
		return Verdict("crashes", answer["panicked"], None)
	if "refused" in answer:
		return Verdict("refuses", answer["refused"], None)
	fault = answer.get("fault")
	return Verdict("faulty" if fault else "opens", fault or "", Listing.of(answer))


def difference(format, witness, our, their):
	"""What we are against a witness, and the message that tells why; None when both are alike."""
	if our.word == "crashes":
		return "crashing", our.message
	if their.word == "crashes":
		return "safer", their.message
	if our.word != "opens" and their.word == "opens":
		return "stricter", our.message
	if our.word == "opens" and their.word != "opens":
		return "looser", f"{their.message}; we warn: {our.message}"
	if our.listing and their.listing and "opens" in (our.word, their.word):
		differs = our.listing.seen_by(witness).difference(their.listing, format.shows)
		return ("other", differs) if differs else None
	return None


# ---- The rules ----

def rules():
	with RULES.open(newline="") as lines:
		return [Rule(*row) for row in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)][1:]


def rule_for(known, format, witness, we_are, message):
	for rule in known:
		if (rule.format, rule.witness, rule.we_are) == (format.name, witness.listed, we_are) and re.search(rule.message, message):
			return rule
	return None


def verdicts(run, format):
	"""Ours, of all damaged files of a format."""
	return {path: ours(run, format, path) for path in damaged(run, format)}


def compare(run, format, witness, our):
	"""Checks every damaged file against one witness; how often each rule was needed: {rule: count}."""
	known, used = rules(), collections.Counter()
	files = list(our)
	for path, answer in zip(files, witness.dump(files, SECONDS)):
		differs = difference(format, witness, our[path], theirs(answer))
		rule = differs and rule_for(known, format, witness, *differs)
		run.check(witness, f"damaged {path.name}: alike, or as a rule says", not differs or rule, f"we are {differs}: no rule says so")
		if rule:
			used[rule] += 1
	return used


def stale(run, formats, used):
	"""Every rule has to be needed by one of the witnesses that it names, if all are here."""
	for rule in rules():
		named = [witness for format in formats if format.name == rule.format for witness in format.witnesses if witness.listed == rule.witness]
		if named and all(witness.command for witness in named):
			run.check(named[0], f"damaged: the rule {rule.message!r} is needed", rule in used, "nothing does")


def report(used):
	"""The rules as a table in Markdown."""
	yield "| we are | format | witness | files | why |"
	yield "|---|---|---|---|---|"
	for rule, count in sorted(used.items(), key=lambda item: (item[0].we_are, item[0])):
		yield f"| {rule.we_are} | {rule.format} | {rule.witness} | {count} | {rule.why} |"
