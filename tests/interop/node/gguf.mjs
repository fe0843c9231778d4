// @huggingface/gguf, the reader of the Hugging Face hub's pages. It reads what stands before the data.
//
//     gguf.mjs dump FILE...       what it reads: a line of JSON for each file, as in rust/src/lib.rs, but without sizes
//                                 and digests, of which it knows nothing
//     gguf.mjs offsets FILE       where it finds each tensor
import { gguf, GGMLQuantizationType, GGUFValueType } from "@huggingface/gguf";

const OWN = ["version", "tensor_count", "kv_count"]; // beside the pairs of the file
const FLOATS = [GGUFValueType.FLOAT32, GGUFValueType.FLOAT64];

// JSON of a float: with a point or an exponent, as nothing in JavaScript tells it from an integer.
function float(x) {
	if (!Number.isFinite(x)) return JSON.stringify(String(x));
	const text = Object.is(x, -0) ? "-0" : String(x);
	return /[.e]/.test(text) ? text : text + ".0";
}

function spell(value, type, subType) {
	if (Array.isArray(value)) return `[${value.map((item) => spell(item, subType, subType)).join(",")}]`;
	if (FLOATS.includes(type)) return float(value);
	return typeof value === "bigint" ? String(value) : JSON.stringify(value);
}

function tensor({ name, dtype, shape }) {
	const type = (GGMLQuantizationType[dtype] ?? "opaque").toLowerCase();
	return JSON.stringify({ name, dtype: type, shape: shape.map(Number).reverse(), nbytes: null, digest: null });
}

async function line(file) {
	try {
		const { typedMetadata, tensorInfos } = await gguf(file, { typedMetadata: true, allowLocalFile: true });
		const pairs = Object.entries(typedMetadata).filter(([key]) => !OWN.includes(key));
		const metadata = pairs.map(([key, { value, type, subType }]) => `${JSON.stringify(key)}:${spell(value, type, subType)}`);
		return `{"tensors":[${tensorInfos.map(tensor).join(",")}],"metadata":{${metadata.join(",")}}}`;
	} catch (error) {
		return JSON.stringify({ refused: String(error) });
	}
}

async function offsets(file) {
	const { tensorInfos, tensorDataOffset } = await gguf(file, { allowLocalFile: true });
	return JSON.stringify(Object.fromEntries(tensorInfos.map(({ name, offset }) => [name, Number(tensorDataOffset + offset)])));
}

const [command, ...files] = process.argv.slice(2);
for (const file of files) console.log(await (command === "dump" ? line(file) : offsets(file)));
