# Any shard of a GGUF set stands for all of them.
tenon sample -q whole.gguf --tensors 5
tenon split whole.gguf set --max-tensors 2
tenon ls set/model-00002-of-00003.gguf
tenon get --single set/model-00003-of-00003.gguf --meta split.no
tenon merge -q set/model-00003-of-00003.gguf merged.gguf && cmp whole.gguf merged.gguf
status tenon verify -q set
mv set/model-00002-of-00003.gguf two.gguf
status tenon ls set/model-00001-of-00003.gguf
status tenon ls two.gguf
cp set/model-00001-of-00003.gguf set/model-00002-of-00003.gguf
status tenon verify -q set
