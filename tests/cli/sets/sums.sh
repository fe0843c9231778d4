three_shards set
sha256sum whole.safetensors >whole.safetensors.sha256
status tenon verify whole.safetensors
printf '%064d  whole.safetensors\n' 7 >whole.safetensors.sha256
status tenon verify whole.safetensors
status tenon verify --no-sums whole.safetensors
h=$(sha256sum <set/model-00001-of-00003.safetensors | cut -c 1-64)
mkdir -p models--o--m/blobs models--o--m/snapshots/r && cp whole.safetensors models--o--m/blobs/$h
ln -s ../../blobs/$h models--o--m/snapshots/r/model.safetensors
status tenon verify -q models--o--m/snapshots/r
