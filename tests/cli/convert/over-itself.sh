# The input may be the output: it is replaced by a rename. In place it is refused.
numbers >n.safetensors
status tenon convert n.safetensors n.safetensors --meta author=Me
tenon get n.safetensors --meta author
status tenon convert n.safetensors n.safetensors --in-place 2>/dev/null
tenon get n.safetensors --meta author
