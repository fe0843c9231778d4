# Packed and block types as numbers: f4 as it is in the file, q4_0 as it was made.
safetensors '{"p":{"dtype":"F4","shape":[2,4],"data_offsets":[0,4]},"w":{"dtype":"F32","shape":[2,32],"data_offsets":[4,260]}}' >p.safetensors
printf '\020\062\124\176' >>p.safetensors
for i in 0 1 2 3 4 5 6 7; do for f in 0 1065353216 1073741824 1077936128 1082130432 3212836864 3221225472 3225419776; do bytes 4 $f; done; done >>p.safetensors
tenon get p.safetensors p --as text
tenon get p.safetensors p --as text --slice 1,-2:
tenon get p.safetensors p --json
tenon get p.safetensors p -o p.npy --slice :,1 && od -An -c p.npy | head -n 1 && tail -c 8 p.npy | od -An -tx1
tenon get p.safetensors p | od -An -tx1
tenon convert p.safetensors q.bpk --quantize q4_0 --carry -q
tenon get q.bpk w --as text --slice 0,:8
tenon get q.bpk w --json --slice 1,:2
