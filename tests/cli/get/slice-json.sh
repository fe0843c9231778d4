numbers >n.safetensors
tenon get n.safetensors x --json --slice 0:0 && tenon get n.safetensors x --json --slice 1,2
