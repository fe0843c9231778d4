# What is compressed stays so when it is stamped or edited, and a split can compress.
tenon sample -q s.apr
for codec in lz4 zstd; do
	tenon convert -q s.apr $codec.apr --compress $codec
	tenon stamp -q $codec.apr a.apr --force --license MIT
	tenon stamp -q a.apr b.apr --force --license MIT
	cmp a.apr b.apr && echo the same
	tenon meta set a.apr license=MIT -q
	cmp a.apr b.apr && echo the same
	tenon meta set a.apr author='A. Writer' -q
	tenon verify --deep a.apr
	tenon hash a.apr | tail -n 1
	tenon hash s.apr | tail -n 1
	tenon convert -q a.apr plain.apr
	[ "$(wc -c <a.apr)" -lt "$(wc -c <plain.apr)" ] && echo smaller
	tenon split -q s.apr $codec --compress $codec --max-tensors 9
	tenon verify --deep $codec
	tenon merge -q $codec merged.apr
	cmp s.apr merged.apr && echo merged
	[ "$(cat $codec/*.apr | wc -c)" -lt "$(wc -c <s.apr)" ] && echo smaller
done
status tenon split s.apr no --to safetensors --compress lz4
