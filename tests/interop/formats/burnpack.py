"""burnpack, against the crate of the Burn framework."""
from harness import Format, Witness, same_value, same_text


def shows(value, seen):
	"""Strings, numbers and booleans have their own place; everything else is there as text."""
	if isinstance(value, (str, bool, int, float)):
		return same_value(value, seen)
	return same_text(value, seen)


def is_module(listing):
	"""burn-store writes modules, here one that our tests define."""
	return {"embedding", "positions", "mask"} <= listing.tensors.keys()


def limits(run, witness, files):
	"""The crate writes more tensors than it reads; both of us have to stop at the same number."""
	for count, theirs, ours in ((100_000, True, 0), (100_001, False, 3)):
		file = run.work / "ours" / f"{count}.bpk"
		run.tenon("sample", "--quiet", "--no-sync", "--tensors", count, file)
		run.check(witness, f"{count} tensors: it {'opens' if theirs else 'refuses'} them", ("tensors" in witness.dump([file])[0]) == theirs)
		run.check(witness, f"{count} tensors: so do we", run.try_tenon("ls", "--limit", "1", file)[0] == ours)


FORMAT = Format(
	name="burnpack",
	extension="bpk",
	witnesses=[Witness("burn-pack", "rust", "burnpack"),
		Witness("burn-store", "rust", "store_burnpack", rewrites=is_module, tells_metadata=False)],
	dtypes="f64 f32 flex32 f16 bf16 i64 i32 i16 i8 u64 u32 u16 u8 bool bool_u8 bool_u32 qfloat".split(),
	shows=shows,
	more=limits,
)
