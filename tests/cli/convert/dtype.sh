# Casts: floats and blocks become what is asked for, integers and bools stay; a block type becomes plain safetensors.
tenon sample -q s.bpk
tenon convert s.bpk f32.safetensors --dtype f32
tenon ls f32.safetensors --filter '*attn.q*' --filter '*attn_norm*' --filter '*mask*' --filter '*scale*'
tenon convert s.bpk q.safetensors --quantize q8_0 --carry -q
tenon ls q.safetensors --filter 'layers.0.*'
status tenon convert q.safetensors again.bpk --filter layers.0.attn.q.weight
tenon convert q.safetensors p.bpk --dtype bf16
tenon ls p.bpk --filter 'layers.0.attn*'
tenon convert s.bpk both.safetensors --dtype f32 --quantize apr_q8 --carry -q
tenon ls both.safetensors --filter 'layers.0.attn*'
ls
