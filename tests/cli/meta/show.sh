numbers >m.safetensors
tenon meta m.safetensors
tenon meta m.safetensors --json
tenon meta m.safetensors get author
tenon meta get m.safetensors author --json
status tenon meta get m.safetensors nothing
