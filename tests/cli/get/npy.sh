numbers >n.safetensors
tenon get n.safetensors x --slice :,1: -o x.npy --json && od -An -c x.npy
tenon get n.safetensors n --slice 1 --as npy | od -An -c
