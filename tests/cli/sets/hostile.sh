three_shards set
sed 's|model-00002-of-00003|../whole|' set/model.safetensors.index.json >set/evil.json
status tenon ls set/evil.json
status tenon verify set/evil.json
mkdir other && mv set/model-00003-of-00003.safetensors other && ln -s ../other/model-00003-of-00003.safetensors set
status tenon ls set
