numbers > n.safetensors
tenon convert --no-sync -v n.safetensors n.thin
tenon info n.thin
tenon convert -q --no-sync n.thin back.safetensors
tenon hash n.safetensors | tail -1
tenon hash back.safetensors | tail -1
