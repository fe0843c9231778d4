numbers >n.safetensors
tenon get n.safetensors n | od -An -tx1
tenon get n.safetensors n -o out && od -An -tx1 out
tenon get n.safetensors n -o - | cmp - out
ls
