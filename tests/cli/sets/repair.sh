three_shards set
cp whole.safetensors bad.safetensors
printf 12345 >>bad.safetensors
status tenon verify bad.safetensors
status tenon verify bad.safetensors --repair good.safetensors && cmp whole.safetensors good.safetensors
status tenon verify --json bad.safetensors --repair good.safetensors
status tenon verify good.safetensors --repair better.safetensors
ls
