# Colour is for terminals alone.
numbers >n.safetensors
tenon ls n.safetensors | od -c | grep -c 033
true
