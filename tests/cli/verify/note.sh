safetensors '{"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}' >n.safetensors
printf a >>n.safetensors
tenon verify n.safetensors && tenon verify --json n.safetensors
