# The size depends on the version of the library, and that of LZ4 on the byte order of the machine.
tenon sample -q s.safetensors
for codec in lz4 zstd; do
	tenon convert s.safetensors $codec.apr --compress $codec -v | sed 's/, [0-9.]* KiB .*//'
	tenon verify --deep $codec.apr
	tenon hash $codec.apr | tail -n 1
	tenon convert -q $codec.apr back.safetensors && cmp s.safetensors back.safetensors
done
tenon convert s.safetensors plain.apr
tenon convert s.safetensors lz4.apr --compress lz4 --dry-run >planned
tenon convert s.safetensors lz4.apr --compress lz4 | sed 's/: /: would be /' | cmp - planned
tenon get lz4.apr tok_embeddings.weight --slice 3:5,0:4 --as text >some && tenon get s.safetensors tok_embeddings.weight --slice 3:5,0:4 --as text | cmp - some
status tenon convert s.safetensors s.bpk --compress lz4
status tenon convert s.safetensors s.apr --compress gzip
