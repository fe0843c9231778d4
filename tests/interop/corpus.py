"""The corpus in tests/golden, read by both sides.

Where one side opens a file and the other does not, or both open it and see different things, the file must stand in
expected-differences.tsv, so that no change of either side goes unnoticed. Whoever changes a line there says why in it.
All witnesses that are made of one package must agree with its line.
"""
import collections
import csv
import importlib.machinery
import importlib.util
import json

from harness import HERE, ROOT, Listing

LIST = HERE / "expected-differences.tsv"
Difference = collections.namedtuple("Difference", "file witness ours theirs why")


def expected():
	with LIST.open(newline="") as lines:
		rows = [Difference(*row) for row in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)][1:]
	return {(row.file, row.witness): row for row in rows}


def hextext():
	"""scripts/hextext, which is a program, as a module."""
	loader = importlib.machinery.SourceFileLoader("hextext", str(ROOT / "scripts/hextext"))
	module = importlib.util.module_from_spec(importlib.util.spec_from_loader("hextext", loader))
	loader.exec_module(module)
	return module


def decoded(run, format):
	"""The corpus of a format as files: {name of the case: path}."""
	folder = run.work / "corpus" / format.name
	folder.mkdir(parents=True, exist_ok=True)
	to_bytes, files = hextext().to_bytes, {}
	for case in sorted((ROOT / "tests/golden" / format.name).glob("*.hex")):
		path = folder / f"{case.stem}.{format.extension}"
		path.write_bytes(to_bytes(case.read_bytes()))
		files[f"{format.name}/{case.stem}"] = path
	return files


def ours(run, format, path):
	"""("opens", what is in it) or (the code of the refusal, None)."""
	status, out, _ = run.try_tenon("ls", "--json", "--single", "--from", format.name, "--", path)
	if status == 0:
		try:
			return "opens", run.listing(path, format)
		except RuntimeError: # it is listed, but not all bytes can be had
			return "opens in part", None
	if status != 3:
		raise RuntimeError(f"tenon ls {path}: status {status}")
	return json.loads(out)["error"]["code"], None


def theirs(answer):
	for outcome, word in (("refused", "refuses"), ("panicked", "panics")):
		if outcome in answer:
			return word, None
	return "opens", Listing.of(answer)


def outcome(run, format, witness, path, answer):
	"""What each side makes of a file, and in what they differ."""
	(our, our_listing), (their, their_listing) = ours(run, format, path), theirs(answer)
	if our == their == "opens":
		difference = our_listing.seen_by(witness).difference(their_listing, format.shows)
		return our, "reads differently" if difference else "opens", difference
	return our, their, "" if our != "opens" and their == "refuses" else f"{our} and {their}"


def compare(run, format, witness):
	"""Checks every case of a format against one witness; the differences that there are."""
	listed, found = expected(), []
	files = decoded(run, format)
	for (case, path), answer in zip(files.items(), witness.dump(list(files.values()))):
		row = listed.pop((case, witness.listed), None)
		both = run.guard(witness, f"{case}: we open or refuse it", lambda: outcome(run, format, witness, path, answer))
		if both is None:
			continue
		our, their, difference = both
		if not difference:
			run.check(witness, f"{case}: both alike", row is None, "they no longer differ: it has to go from the list")
			continue
		as_listed = row is not None and (row.ours, row.theirs) == (our, their)
		says = answer.get("refused") or answer.get("panicked") or ""
		run.check(witness, f"{case}: differs as expected", as_listed, f"{difference}, not listed so; {says}")
		found.append(Difference(case, witness.title, our, their, row.why if row else "not listed so"))
	stale = [case for case, package in listed if package == witness.listed and case.startswith(f"{format.name}/")]
	run.check(witness, "every expected difference has its case", not stale, ", ".join(stale))
	return found


def side(difference):
	if difference.ours == "opens":
		return "other" if difference.theirs == "reads differently" else "looser"
	return "stricter"


def report(differences):
	"""The differences as a table in Markdown: where we are stricter, where looser."""
	yield "| we are | file | witness | ours | theirs | why |"
	yield "|---|---|---|---|---|---|"
	for d in sorted(differences, key=lambda d: (side(d), d)):
		yield f"| {side(d)} | {d.file} | {d.witness} | {d.ours} | {d.theirs} | {d.why} |"
