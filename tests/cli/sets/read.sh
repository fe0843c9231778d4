three_shards set
tenon ls set
tenon ls --json set
tenon info set
tenon info --json set
tenon map set
tenon map --json set | head -n 8
tenon get set c; echo
tenon ls --single set/model-00002-of-00003.safetensors
status tenon ls --single set
