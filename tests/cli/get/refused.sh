safetensors '{"p":{"dtype":"F4","shape":[4],"data_offsets":[0,2]},"b":{"dtype":"BF16","shape":[1],"data_offsets":[2,4]}}' >p.safetensors
printf abcd >>p.safetensors
status tenon get p.safetensors p --as text
status tenon get p.safetensors p --slice 0
status tenon get p.safetensors b -o b.npy
status tenon get p.safetensors nope
status tenon get p.safetensors
status tenon get p.safetensors p --as text -o - --json
status tenon get p.safetensors p -o nowhere/p
tenon get p.safetensors p
ls
