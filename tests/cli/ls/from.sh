# The format may be named; a file of another one is then refused.
numbers >n
tenon ls n --from safetensors
status tenon ls n --from burnpack
status tenon ls n --from nothing
