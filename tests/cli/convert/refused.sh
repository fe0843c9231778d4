numbers >n.safetensors
status tenon convert n.safetensors n.zip
status tenon convert n.safetensors n --to zip
status tenon convert n.safetensors -
status tenon convert n.safetensors n.bpk --meta novalue
status tenon convert n.safetensors nowhere/n.bpk
status tenon convert nowhere n.bpk
status tenon convert n.safetensors
ls
