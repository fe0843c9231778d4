# What a cast does not keep is counted; it was asked for, so it is no loss.
safetensors '{"__metadata__":{"format":"pt"},"x":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}' >x.safetensors
for f in 1199570944 3212836864 841731191 2143289344; do bytes 4 $f; done >>x.safetensors
status tenon convert x.safetensors y.safetensors --dtype f16 -v
tenon get y.safetensors x --as text
tenon convert x.safetensors y.safetensors --dtype f16 --json
