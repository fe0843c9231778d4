"""burnpack, against the crate of the Burn framework."""
from harness import Format, Witness, same_value, same_text


def shows(value, seen):
	"""Strings, numbers and booleans have their own place; everything else is there as text."""
	if isinstance(value, (str, bool, int, float)):
		return same_value(value, seen)
	return same_text(value, seen)


FORMAT = Format(
	name="burnpack",
	extension="bpk",
	witnesses=[Witness("burn-pack", "rust", "burnpack")],
	dtypes="f64 f32 flex32 f16 bf16 i64 i32 i16 i8 u64 u32 u16 u8 bool bool_u8 bool_u32 qfloat".split(),
	shows=shows,
)
