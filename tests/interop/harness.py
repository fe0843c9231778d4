"""What the interop tests are made of: the witnesses, the command under test, and the record of checks."""
import collections
import dataclasses
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
from typing import Callable

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


# ---- Formats and their witnesses ----

@dataclasses.dataclass(eq=False)
class Witness:
	"""Another implementation of a format: a program of ours around a package of theirs."""
	package: str
	language: str    # "rust" or "python"
	program: str     # rust/src/bin/PROGRAM.rs or python/PROGRAM.py
	writes: bool = True
	rewrites: bool = True
	command: list = dataclasses.field(default_factory=list)  # how to run it; empty when it cannot be had

	@property
	def version(self):
		if self.language == "rust":
			lock = (HERE / "rust/Cargo.lock").read_text()
			return re.search(f'name = "{self.package}"\nversion = "(.*)"', lock).group(1)
		return re.search(f"^{self.package}==(.*)", (HERE / "python/requirements.txt").read_text(), re.M).group(1)

	@property
	def title(self):
		return f"{self.package} ({self.language.title()})"

	def call(self, *args):
		done = execute(*self.command, *args)
		if done.returncode != 0:
			raise RuntimeError(f"{self.title} {args[0]}: {reason(done.stderr)}")
		return done.stdout

	def dump(self, files):
		"""What it reads in each file, in their order."""
		answers = [json.loads(line) for line in self.call("dump", *files).split("\n")[:-1]]
		if len(answers) != len(files):
			raise RuntimeError(f"{self.title} dump: {len(answers)} answers for {len(files)} files")
		return answers


def same_value(value, seen):
	"""The same kind and number or string; a float that Tenon knows to have 32 bits may be seen as one of 64."""
	if isinstance(value, float) and isinstance(seen, float):
		return value == seen or single(value) == seen
	return type(value) is type(seen) and value == seen


def single(value):
	"""The float of 32 bits that is nearest, where there is one."""
	try:
		return struct.unpack("<f", struct.pack("<f", value))[0]
	except OverflowError:
		return value


def same_text(value, seen):
	"""Whether the string seen is the plain form of a value, see docs/envelope.md."""
	if value in ("NaN", "Infinity", "-Infinity"): # a float without a JSON number, or this very string
		return seen in (value, value.lower().replace("infinity", "inf"))
	if isinstance(value, str):
		return seen == value
	if isinstance(value, float):
		return same_value(value, float(seen))
	return seen == json.dumps(value, separators=(",", ":"), ensure_ascii=False)


@dataclasses.dataclass
class Format:
	"""What the tests have to know of a format that both sides agree upon."""
	name: str
	extension: str
	witnesses: list
	dtypes: list                                       # that it has, in Tenon's words
	carriers: dict = dataclasses.field(default_factory=dict)  # dtype of others -> the one that it is written as
	shows: Callable = same_value                       # (value, seen): does its metadata show the value as this?
	holds_name: Callable = lambda name: True
	same_file: Callable = lambda a, b: pathlib.Path(a).read_bytes() == pathlib.Path(b).read_bytes()
	more: Callable = lambda run, witness, files: None  # checks of its own: (run, witness, our files)

	def has(self, dtype):
		return dtype in self.dtypes or dtype in self.carriers

	def stored(self, tensor):
		"""How a tensor of another format stands in this one."""
		if tensor.dtype in self.dtypes:
			return tensor
		if tensor.dtype in self.carriers:
			return tensor._replace(dtype=self.carriers[tensor.dtype])
		return tensor._replace(dtype="u8", shape=(tensor.nbytes,))


# ---- What is read in a file ----

Tensor = collections.namedtuple("Tensor", "dtype shape nbytes digest")


@dataclasses.dataclass
class Listing:
	tensors: dict   # name -> Tensor
	metadata: dict

	@staticmethod
	def of(document):
		tensors = {t["name"]: Tensor(t["dtype"], tuple(t["shape"]), t["nbytes"], t["digest"]) for t in document["tensors"]}
		return Listing(tensors, document["metadata"])

	def difference(self, seen, shows=same_value):
		"""The first thing in which what was seen differs; empty when nothing does."""
		for name in {**self.tensors, **seen.tensors}:
			if self.tensors.get(name) != seen.tensors.get(name):
				return f"tensor {name!r}: {self.tensors.get(name)}, seen {seen.tensors.get(name)}"
		for key in {**self.metadata, **seen.metadata}:
			if not (key in self.metadata and key in seen.metadata and shows(self.metadata[key], seen.metadata[key])):
				return f"metadata {key!r}: {self.metadata.get(key)!r}, seen {seen.metadata.get(key)!r}"
		return ""


# ---- Getting the witnesses ----

def reason(text):
	"""The line of a program's complaints that says most: the first error, or the last line."""
	lines = [line.strip() for line in text.splitlines() if line.strip()] or ["it failed without a word"]
	return next((line for line in lines if line.lower().startswith("error")), lines[-1])


class Unavailable(Exception):
	"""A tool or a package cannot be had on this machine."""


class Broken(Exception):
	"""A program of ours does not build."""


def execute(*command):
	return subprocess.run([str(arg) for arg in command], capture_output=True, text=True)


def run_or(unavailable, *command):
	done = execute(*command)
	if done.returncode != 0:
		raise Unavailable(f"{unavailable}: {reason(done.stderr)}")


def have_rust(work):
	"""Builds all programs in Rust; the folder in which they are."""
	if not shutil.which("cargo"):
		raise Unavailable("no cargo")
	manifest, target = ["--manifest-path", HERE / "rust/Cargo.toml", "--locked"], work / "target"
	run_or("cargo cannot fetch the crates", "cargo", "fetch", *manifest)
	if not target.exists():
		print("building the witnesses in Rust, which takes minutes the first time", flush=True)
	done = execute("cargo", "build", "--release", "--quiet", "--offline", *manifest, "--target-dir", target)
	if "requires rustc" in done.stderr:
		raise Unavailable(next(line for line in done.stderr.splitlines() if "requires rustc" in line))
	if done.returncode != 0:
		raise Broken(done.stderr)
	return target / "release"


def have_python(work):
	"""Installs the packages for the programs in Python; the interpreter that sees them."""
	venv, wanted = work / "venv", (HERE / "python/requirements.txt").read_text()
	stamp = venv / "requirements.txt"
	if not stamp.exists() or stamp.read_text() != wanted:
		run_or("no virtual environment", sys.executable, "-m", "venv", "--clear", venv)
		run_or("pip cannot install the packages", venv / "bin/pip", "install", "--quiet", "--retries", "1",
			"--disable-pip-version-check", "--only-binary", ":all:", "-r", HERE / "python/requirements.txt")
		stamp.write_text(wanted)
	return venv / "bin/python"


def prepare(run, witnesses):
	"""Gives each witness its command, or the reason for which there is none."""
	places = {}
	for language, have in (("rust", have_rust), ("python", have_python)):
		try:
			places[language] = have(run.work)
		except (Unavailable, Broken) as reason:
			places[language] = reason
	for witness in witnesses:
		place = places[witness.language]
		if isinstance(place, Unavailable):
			run.skip(f"{witness.title} {witness.version}", str(place))
		elif isinstance(place, Broken):
			run.check(witness, "builds", False, str(place))
		elif witness.language == "rust":
			witness.command = [str(place / witness.program)]
		else:
			witness.command = [str(place), "-B", str(HERE / "python" / (witness.program + ".py"))]


def fetch_models(work):
	"""Downloads the packages of models.txt: (package, version, folder or the reason why it is missing)."""
	for line in (HERE / "models.txt").read_text().splitlines():
		package, version = re.match(r"(\S+)==(\S+)", line).groups()
		folder, alone = work / "models" / f"{package}-{version}", work / "models" / f"{package}.txt"
		folder.parent.mkdir(exist_ok=True)
		alone.write_text(line + "\n")
		try:
			if not folder.exists():
				run_or("pip cannot fetch it", sys.executable, "-m", "pip", "download", "--quiet", "--retries", "1", "--no-deps",
					"--disable-pip-version-check", "--only-binary", ":all:", "--require-hashes", "-r", alone, "-d", folder.with_suffix(".part"))
				folder.with_suffix(".part").rename(folder)
			yield package, version, folder
		except Unavailable as reason:
			yield package, version, reason


# ---- The command under test, and the record ----

ERRORS = (RuntimeError, ValueError, KeyError, OSError)  # of either side; others are faults of the tests


class Run:
	def __init__(self, tenon, work):
		self.program, self.work = str(pathlib.Path(tenon).resolve()), work
		self.passed, self.failed = collections.Counter(), collections.Counter()
		self.skipped = []  # (what, why)
		self.log = (work / "checks.txt").open("w")

	def try_tenon(self, *args):
		"""Status, standard output and standard error of the command."""
		done = execute(self.program, *args)
		return done.returncode, done.stdout, done.stderr

	def tenon(self, *args):
		status, out, err = self.try_tenon(*args)
		if status != 0:
			raise RuntimeError(f"tenon {' '.join(map(str, args))}: status {status}: {reason(err or out)}")
		return out

	def listing(self, file, format=None):
		"""What ls and hash say of a file."""
		options = ["--json", *(["--from", format.name] if format else []), "--", file]
		document = json.loads(self.tenon("ls", *options))
		digests = {t["name"]: t["digest"] for t in json.loads(self.tenon("hash", *options))["tensors"]}
		for tensor in document["tensors"]:
			tensor["digest"] = digests[tensor["name"]]
		return Listing.of(document)

	def check(self, whose, what, ok, why=""):
		"""Records one check. whose is a Witness or a name."""
		whose = whose.title if isinstance(whose, Witness) else whose
		(self.passed if ok else self.failed)[whose] += 1
		print("ok  " if ok else "FAIL", f"{whose}: {what}" + ("" if ok else f": {why}"), file=self.log)
		if not ok:
			print(f"FAIL {whose}: {what}: {why[:1000]}", flush=True)
		return ok

	def attempt(self, whose, what, check):
		"""The same for a function that returns why not, or raises it."""
		try:
			why = check()
		except ERRORS as error:
			why = f"{type(error).__name__}: {error}"
		return self.check(whose, what, not why, why)

	def guard(self, whose, what, checks):
		"""The value of a function that makes checks; None, and a failed check, where it raises something."""
		try:
			return checks()
		except ERRORS as error:
			self.check(whose, what, False, f"{type(error).__name__}: {error}")

	def skip(self, what, why):
		self.skipped.append((what, why))
		print(f"skip {what}: {why}", file=self.log)
