# Past 4 GiB, in a file that takes no room.
safetensors '{"a":{"dtype":"U8","shape":[5000000000],"data_offsets":[0,5000000000]},"b":{"dtype":"U8","shape":[4],"data_offsets":[5000000000,5000000004]}}' >far.safetensors
head=$(wc -c <far.safetensors)
truncate -s $((head + 5000000000)) far.safetensors && printf '\1\2\3\4' >>far.safetensors
tenon ls far.safetensors
tenon map far.safetensors
tenon get far.safetensors b
tenon get far.safetensors a --slice 4999999998:
status tenon verify far.safetensors
