# Types that nobody knows are carried as plain bytes, which keep their length whatever follows.
{
	safetensors '{"a":{"dtype":"X5","shape":[5],"data_offsets":[0,5]},"b":{"dtype":"X5","shape":[3],"data_offsets":[5,8]}}'
	printf 12345678
} >a.safetensors
for format in apr burnpack gguf thin; do
	status tenon convert a.safetensors b --to $format --carry -q
	tenon ls b
	status tenon convert b c.safetensors -q --to safetensors
	tenon hash a.safetensors | tail -n 1
	tenon hash c.safetensors | tail -n 1
	rm -f b c.safetensors
done
