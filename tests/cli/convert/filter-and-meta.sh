numbers >n.safetensors
tenon convert n.safetensors o --to safetensors --filter 'x*' --meta author=Me --meta new=a=b
tenon info o
