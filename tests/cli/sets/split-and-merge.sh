three_shards set
status tenon split whole.safetensors even --max-size 8 --even --no-sync
cat even/model.safetensors.index.json
status tenon merge set merged.safetensors && cmp whole.safetensors merged.safetensors && ls set
status tenon merge set/model.safetensors.index.json merged.bpk --no-sync
status tenon split merged.bpk again --to safetensors --max-tensors 2 --name m --no-sync
status tenon merge again back.bpk -q && cmp merged.bpk back.bpk
tenon hash set | tail -n 1
tenon hash whole.safetensors | tail -n 1
