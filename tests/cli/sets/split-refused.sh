three_shards set
status tenon split whole.safetensors set --max-tensors 2
status tenon split whole.safetensors out --name a/b
status tenon sample -q x.bpk && status tenon split x.bpk out
status tenon split set/model-00001-of-00003.safetensors none/out
status tenon merge whole.safetensors x.safetensors
status tenon merge set/model-00001-of-00003.safetensors x.safetensors
status tenon split nowhere out
ls
