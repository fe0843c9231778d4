numbers >n.safetensors
tenon get n.safetensors x --as text && tenon get n.safetensors n --as text
