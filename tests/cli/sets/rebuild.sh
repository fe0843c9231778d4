three_shards set
cp set/model.safetensors.index.json kept
rm set/model.safetensors.index.json
tenon verify --rebuild-index set && cmp kept set/model.safetensors.index.json
tenon verify --rebuild-index set -o new.json --json && cmp kept new.json
cp set/model-00001-of-00003.safetensors set/copy.safetensors
tenon verify -q --rebuild-index set && cmp kept set/model.safetensors.index.json
rm set/model-00002-of-00003.safetensors
status tenon verify --rebuild-index set
status tenon verify --rebuild-index set --json
status tenon verify set -o x
status tenon verify set --rebuild-index --repair x
status tenon verify set --rebuild-index --deep
status tenon verify set/model.safetensors.index.json --repair x --deep
status tenon verify set --rebuild-index --no-sums
status tenon verify - --repair x <kept
