safetensors '{"scalar":{"dtype":"F16","shape":[],"data_offsets":[0,2]},"empty":{"dtype":"F32","shape":[0,4],"data_offsets":[2,2]}}' >k.safetensors
printf '\000\074' >>k.safetensors
tenon ls --json k.safetensors && tenon ls k.safetensors
