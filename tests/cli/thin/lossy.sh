safetensors '{"a b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"e":{"dtype":"U8","shape":[0],"data_offsets":[1,1]},"n":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}' > n.safetensors
printf ab >> n.safetensors
status tenon convert --no-sync n.safetensors n.thin
status tenon convert --no-sync --allow-loss n.safetensors n.thin
tenon ls n.thin
