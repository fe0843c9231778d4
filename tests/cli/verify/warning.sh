# A bool that is neither 0 nor 1 is seen when the data is read.
safetensors '{"__metadata__":{"format":"pt"},"b":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}}' >b.safetensors
printf '\001\007' >>b.safetensors
status tenon verify b.safetensors
status tenon verify --deep b.safetensors
status tenon verify --deep -q b.safetensors
