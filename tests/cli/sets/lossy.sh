# What opening a set could not read is a loss to what is written from it.
three_shards set
sed 's|"c": |"d": "model-00002-of-00003.safetensors", "c": |' set/model.safetensors.index.json >set/more.json
status tenon ls set/more.json
status tenon get set/more.json c --as text
status tenon hash set/more.json
status tenon merge set/more.json out.safetensors
status tenon split set/more.json out
status tenon merge --allow-loss -q set/more.json out.safetensors
status tenon split --allow-loss -q set/more.json out
# As is a value that another file has otherwise.
mkdir two
for k in 1 2; do
	safetensors '{"__metadata__":{"who":"'$k'"},"t'$k'":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}' >two/$k.safetensors
	printf x >>two/$k.safetensors
done
status tenon ls -q two
status tenon merge two two.safetensors
status tenon merge --dry-run two two.safetensors
status tenon merge --allow-loss two two.safetensors && tenon get two.safetensors --meta who
ls
