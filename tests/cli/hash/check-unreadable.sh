numbers >n.safetensors
echo 'no list' >list
echo '{"tensors":[{"name":"x"}]}' >list.json
status tenon hash n.safetensors --check list
status tenon hash n.safetensors --check list.json
status tenon hash n.safetensors --check nowhere
