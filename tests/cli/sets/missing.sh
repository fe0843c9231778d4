three_shards set
rm set/model-00002-of-00003.safetensors
status tenon ls set
status tenon verify set
status tenon verify --json set
status tenon merge set out.safetensors
